"""What torch.nn makes by itself: layers and losses that only compute with what they are given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Definition
from flake8_torchleak.model.elsewhere import answers_elsewhere
from flake8_torchleak.model.modes import behind, bindings_of
from flake8_torchleak.model.tree import FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OTHERS = frozenset({
    "Module", "Sequential", "ModuleList", "ModuleDict", "DataParallel",
    "RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell",
})  # fmt: skip
"""Classes of `torch.nn` whose objects hold what others wrote, or give what goes on into the next step."""
_MOST_CALLERS = 4
"""Bindings, and functions that hand it on, between a layer and where it is made."""


def is_layer_of_torch(module: Module, value: ast.expr, depth: int = _MOST_CALLERS) -> bool:
    """Whether a value is a layer or loss of torch's own, wherever it is bound: `nn.CrossEntropyLoss().to(device)`.

    A parameter is what all give for it who call the function, in any file.
    """
    made = behind(value)
    if depth < 0:
        return False
    if isinstance(made, ast.Call):
        head, _, name = module.names.qualname(made.func).rpartition(".")
        return head == "torch.nn" and name[:1].isupper() and name not in _OTHERS
    bound = bindings_of(module, made)
    return bool(bound) and all(_binds_layer(module, each, depth) for each in bound)


def _binds_layer(module: Module, binding: Definition, depth: int) -> bool:
    if isinstance(binding.node, ast.arg):
        function = module.tree.function(binding.node)
        return function is not None and _is_given_layers(module, binding.node, function, depth - 1)
    return binding.is_plain and binding.value is not None and is_layer_of_torch(module, binding.value, depth - 1)


def _is_given_layers(module: Module, parameter: ast.arg, function: FunctionNode, depth: int) -> bool:
    def is_given(user: Module, call: ast.Call) -> bool:
        given = module.classes.argument(call, parameter, function)
        return given is not None and is_layer_of_torch(user, given, depth)

    own = module.classes.calls_of(function)
    if not own or not all(is_given(module, each) for each in own):
        return False
    return all(answers_elsewhere(module, function, is_given))
