"""What torch.nn makes by itself: layers and losses that only compute with what they are given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.modes import behind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_OTHERS = frozenset({
    "Module", "Sequential", "ModuleList", "ModuleDict", "DataParallel",
    "RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell",
})  # fmt: skip
"""Classes of `torch.nn` whose objects hold what others wrote, or give what goes on into the next step."""


def is_layer_of_torch(module: Module, func: ast.expr) -> bool:
    """Whether what is called is a layer or loss of torch's own, wherever it is bound in sight."""
    owned = module.classes.self_attribute(func)
    if owned is not None:
        made = owned[0].attributes.get(f"self.{owned[1]}", [])
    else:
        made = module.flow.reaching(key_of(func), func) if isinstance(func, ast.Name) else []
    return bool(made) and all(each.is_plain and _makes_layer(module, each.value) for each in made)


def _makes_layer(module: Module, value: ast.expr | None) -> bool:
    """`nn.CrossEntropyLoss().to(device)`."""
    call = behind(value) if value is not None else None
    head, _, name = module.names.qualname(call.func).rpartition(".") if isinstance(call, ast.Call) else ("", "", "")
    return head == "torch.nn" and name[:1].isupper() and name not in _OTHERS
