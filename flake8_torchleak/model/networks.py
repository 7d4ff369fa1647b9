"""What is a network, what one gives, and what is a loss function of torch's, for sure: not by their names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import Scope
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.flow import Flow
    from flake8_torchleak.model.module import Module
    from flake8_torchleak.model.names import Names

OF_MODULES = frozenset({
    "parameters", "named_parameters", "state_dict", "load_state_dict", "zero_grad", "named_modules", "modules",
    "requires_grad_", "named_children", "register_buffer", "register_forward_hook", "eval", "train",
})  # fmt: skip
"""What is done with modules, and with nothing else that is called with tensors."""
_OF_NETWORKS_ALONE = frozenset({
    "parameters", "named_parameters", "named_modules", "modules", "named_children", "requires_grad_", "register_buffer",
    "register_forward_hook",
})  # fmt: skip
_OF_STATES = frozenset({"state_dict", "load_state_dict"})
_MOVING = frozenset({"cuda", "to", "half", "bfloat16"})
REDUCTIONS = frozenset({"reduction", "reduce", "size_average"})
"""Arguments by which a loss function gives more than one number."""

WITH_PARAMETERS = frozenset({
    "Linear", "LazyLinear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "LazyConv1d", "LazyConv2d", "LazyConv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
    "SyncBatchNorm", "LayerNorm", "GroupNorm", "RMSNorm", "Embedding", "EmbeddingBag", "RNN", "LSTM", "GRU", "RNNCell",
    "LSTMCell", "GRUCell", "Transformer", "TransformerEncoder", "TransformerDecoder", "TransformerEncoderLayer",
    "TransformerDecoderLayer", "MultiheadAttention", "PReLU", "Sequential", "ModuleList", "ModuleDict", "DataParallel",
    "parallel.DistributedDataParallel", "AdaptiveLogSoftmaxWithLoss",
})  # fmt: skip
"""Classes of `torch.nn` whose objects have parameters (of `Sequential` and the like: mostly)."""


class Networks:
    """What is proven to be an nn.Module, by what else is done with it, or by how it is made."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def is_output(self, base: ast.expr) -> bool:
        """Whether a value is what a proven module gives: of all that has `.mean()`, only a tensor can be."""
        if isinstance(base, ast.Name):
            if self.module.names.comprehension(base) is not None:
                return False
            reaching = self.module.flow.reaching(base.id, base)
            values = [each.value for each in reaching if each.is_plain]
            return bool(values) and len(values) == len(reaching) and all(map(self._is_module_call, values))
        return self._is_module_call(base)

    def _is_module_call(self, node: ast.expr | None) -> bool:
        return isinstance(node, ast.Call) and self._is_module(node.func)

    @remembered
    def _is_module(self, func: ast.expr) -> bool:
        """Whether what is called is an nn.Module by what else is done with it, or by how it is made."""
        found = self.module.infer.value(func)
        if found.kind is Kind.INSTANCE and isinstance(found.made, ast.ClassDef):
            return False  # of a class in reach that is none
        key, scope = key_of(func), self.module.tree.scope(func)
        if not key:
            return False
        owned = self.module.classes.self_attribute(func)
        made = owned[0].attributes.get(f"self.{owned[1]}", []) if owned else self.module.flow.reaching(key, func)
        for each in made:
            if isinstance(each.value, ast.Call) and self.module.names.qualname(each.value.func).startswith("torch.nn."):
                return len(made) == 1
        scopes: list[Scope] = [scope] if owned is None else list(owned[0].all_functions)
        return any(node.attr in OF_MODULES for each in scopes for node in self.attributes(key, each))

    def is_network(self, func: ast.expr) -> bool:
        """Whether what is called, or has a method called, is an nn.Module by what else is done with it alone.

        What scales losses has a state as well, and is called with them; it is moved nowhere.
        """
        key, scope = key_of(func), self.module.tree.scope(func)
        owned = self.module.classes.self_attribute(func)
        scopes: list[Scope] = [scope] if owned is None else list(owned[0].all_functions)
        if isinstance(func, ast.Name):
            home = self.module.names.scope_of(func.id, func)
            scopes += [home] if home is not None and home is not scope else []
        asked = {node.attr for each in scopes for node in self.attributes(key, each)} if key else set()
        return bool(asked & _OF_NETWORKS_ALONE) or (bool(asked & _OF_STATES) and bool(asked & _MOVING))

    def is_torch_loss(self, node: ast.Call) -> bool:
        """A call of a loss function made by one of torch.nn's classes (`nn.MSELoss()`), in this file."""
        called = self.module.infer.value(node.func)
        if called.kind is Kind.LOSS and isinstance(called.made, ast.Call):
            return not any(k.arg in REDUCTIONS for k in called.made.keywords)
        return self.module.names.qualname(node.func).startswith("torch.nn.functional.") and last_name(
            node.func
        ).endswith(("loss", "entropy", "entropy_with_logits"))

    def attributes(self, key: str, scope: Scope) -> list[ast.Attribute]:
        """Where an attribute of the variable is read."""
        return self._read(scope).get(key, [])

    @remembered
    def _read(self, scope: Scope) -> dict[str, list[ast.Attribute]]:
        """Key of a variable -> where an attribute of it is read in a scope."""
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.module.tree.within(scope):
            if isinstance(node, ast.Attribute):
                found.setdefault(key_of(node.value), []).append(node)
        return found


def is_bare_layer(flow: Flow, names: Names, node: ast.expr) -> bool:
    """Whether what is called is a layer of torch's that learns nothing: padding, pooling, an activation."""
    found = [each.value for each in flow.reaching(node.id, node)] if isinstance(node, ast.Name) else [node]
    made = [each.func if isinstance(each, ast.Call) else None for each in found]
    return bool(made) and all(each is not None and _learns_nothing(names, each) for each in made)


def _learns_nothing(names: Names, made: ast.expr) -> bool:
    head, _, name = names.qualname(made).rpartition(".")
    return head == "torch.nn" and name[:1].isupper() and name not in WITH_PARAMETERS
