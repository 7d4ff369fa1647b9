"""What a call evaluates to: a library's function, a helper or class of the file, a known value's method, or a name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.classes import ClassFacts, self_name
from flake8_torchleak.model.encodings import Encodings
from flake8_torchleak.model.env import NO_ENV, Env
from flake8_torchleak.model.library import INDEXES, Library
from flake8_torchleak.model.methods import Methods
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.networks import is_bare_layer
from flake8_torchleak.model.tensors import Tensors
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import UNKNOWN, Kind, Size, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.infer import Infer


class Calls:
    """Values of call expressions."""

    def __init__(self, infer: Infer) -> None:
        self.infer = infer
        self.tensors = Tensors(infer)
        self.library = Library(infer, self.tensors)
        self.methods = Methods(infer, self.tensors)
        self.encodings = Encodings(infer)

    def value(self, node: ast.Call, env: Env) -> Value:
        """What is known of the call's result."""
        qualname = self.infer.names.qualname(node.func)
        if qualname:
            found = self.library.value(node, qualname, env)
            if found is not None:
                return found
        helper = self.infer.classes.callee(node)
        if helper is not None:
            return self._helper(node, helper, env)
        constructed = self.infer.classes.of(node.func)
        if constructed is not None:
            return self._instance(node, constructed)
        method = self._called(node, env)
        if method is not None:
            # Whose memory comes out of a transform is its own affair: TLK206 looks into it.
            return self._helper(node, method, env).but(origin=None)
        encoded = self.encodings.value(node, env)
        if encoded is not None:
            return encoded
        if isinstance(node.func, ast.Attribute):
            found = self.methods.value(node, node.func, env)
            if found is not None:
                return found
        return self._by_name(node, env)

    def is_construction(self, node: ast.Call) -> bool:
        """Whether the call makes an object (`Encoder(...)`) rather than running one."""
        return last_name(node.func)[:1].isupper() and last_name(node.func) not in ("G", "D")

    def is_loss_function(self, node: ast.expr) -> bool:
        """Whether an expression calls a loss function that is not in the file, by its name."""
        if not isinstance(node, ast.Call) or self.infer.classes.callee(node) is not None:
            return False
        if self._called(node, NO_ENV) is not None:
            return False
        of_model = isinstance(node.func, ast.Attribute) and self.infer.value(node.func.value).kind is Kind.MODULE
        return not of_model and hints.computes_loss(last_name(node.func))

    def _called(self, node: ast.Call, env: Env) -> FunctionNode | None:
        """The `__call__` that calling an object of a class in reach runs."""
        made = self.infer.value(node.func, env).made
        return self.infer.classes.all[made].methods.get("__call__") if isinstance(made, ast.ClassDef) else None

    def _helper(self, node: ast.Call, function: FunctionNode, env: Env) -> Value:
        if function.name in ("forward", "__call__") and not env:
            owner = self.infer.classes.around(function)
            if owner is not None and owner.has_base("Module", "LightningModule"):
                return Value(graph=True)
        expected = parameters(function)
        on_object = isinstance(node.func, ast.Attribute) or function.name == "__call__"
        if on_object and self.infer.tree.class_of(function) is not None and self_name(function):
            expected = expected[1:]
        given: dict[ast.arg, Value] = dict(env)
        by_name = {p.arg: p for p in expected}
        bound = [(p, a) for p, a in zip(expected, node.args, strict=False) if not isinstance(a, ast.Starred)]
        bound += [(by_name[k.arg], k.value) for k in node.keywords if k.arg in by_name]
        for parameter, argument in bound:
            given[parameter] = self._bound(argument, parameter, function, env)
        return self.infer.returned(function, Env(given))

    def _bound(self, argument: ast.expr, parameter: ast.arg, function: FunctionNode, env: Env) -> Value:
        value = self.infer.value(argument, env)
        if value.kind is Kind.UNKNOWN and value.graph is None and value.origin is None:
            return self.infer.parameters.value(parameter, function)
        return value

    def _instance(self, node: ast.Call, facts: ClassFacts) -> Value:
        names = [last_name(base) for base in facts.outer_bases]
        if any(name.endswith(("Module", "Model", "Net")) for name in names):
            # Without parameters it builds a graph only on one, as a loss function does.
            return Value(Kind.LOSS if self._is_without_parameters(facts) else Kind.MODULE, made=facts.node)
        if any(name.endswith("Dataset") for name in names):
            return Value(Kind.DATASET, made=facts.node)
        index = next((name for name in names if name.lstrip("_") in INDEXES), "")
        if index and "__getitem__" not in facts.methods:
            said = f"`{facts.node.name}`, a `{index}`, indexes every annotation of its file"
            return Value(Kind.INDEX, size=Size.GROWS, why=((node, said),))
        if any(name.endswith("DataLoader") for name in names):
            return Value(Kind.LOADER)
        if any(name.endswith("Metric") for name in names):
            return Value(Kind.METRIC, made=facts.node)
        return Value(Kind.INSTANCE, made=facts.node)

    def _is_without_parameters(self, facts: ClassFacts) -> bool:
        """Whether a network's constructors, all in reach, make no layer and no parameter."""
        constructors = [each.own_methods["__init__"] for each in facts.lineage if "__init__" in each.own_methods]
        if not constructors or any(last_name(base) != "Module" for base in facts.outer_bases):
            return False
        made = [call for each in constructors for call in self.infer.tree.calls(each)]
        return not any(
            last_name(call.func)[:1].isupper()
            or last_name(call.func) in ("register_parameter", "register_buffer")
            or hints.makes_model(last_name(call.func))
            for call in made
        ) and not any(p.arg for each in constructors for p in parameters(each)[1:] if hints.is_model(p.arg))

    def _is_module_self(self, func: ast.Name) -> bool:
        """`self(...)` in a class whose base is a module."""
        facts = self.infer.classes.around(func)
        function = self.infer.tree.function(func)
        return (
            facts is not None
            and function is not None
            and self_name(function) == func.id
            and facts.has_base("Module", "Model", "LightningModule")
        )

    def _by_name(self, node: ast.Call, env: Env) -> Value:
        func = node.func
        name = last_name(func)
        called = self.infer.value(func, env)
        if isinstance(func, ast.Name) and self._is_module_self(func):
            return Value(graph=True, why=((node, "the module's own forward builds an autograd graph"),))
        if hints.makes_model(name):
            return Value(Kind.MODULE)
        transforms = "transform" in name.lower() and "target" not in name.lower() and not name[:1].isupper()
        if transforms and called.kind is not Kind.MODULE:
            return Value(Kind.TENSOR)
        if called.kind is Kind.MODULE and not self.is_construction(node):
            if is_bare_layer(self.infer.flow, self.infer.names, func):
                return Value(graph=self.tensors.graph(node, env))
            return Value(graph=True, why=((node, f"`{name}(...)` builds an autograd graph"),))
        losses = self.infer.config.loss_names
        if called.kind is Kind.LOSS or name in losses or (hints.computes_loss(name) and not name[:1].isupper()):
            graph = self.tensors.graph(node, env)
            return Value(
                Kind.TENSOR if called.kind is Kind.LOSS else Kind.UNKNOWN,
                graph=graph,
                why=((node, "computes the loss"),),
            )
        if name and name[:1].isupper() and not name.isupper():
            if name.endswith("Loss"):
                return Value(Kind.LOSS)
            if name.endswith(("Meter", "Metric", "Logger")):
                return Value(Kind.METRIC)
            if name.endswith(
                ("Net", "Model", "Network", "Transformer", "Encoder", "Decoder", "Generator", "Discriminator")
            ):
                return Value(Kind.MODULE)
            if name.endswith(("Dataset",)):
                return Value(Kind.DATASET)
            return Value(Kind.INSTANCE)
        if name and hints.is_loader(name):
            return Value(Kind.LOADER)
        return UNKNOWN
