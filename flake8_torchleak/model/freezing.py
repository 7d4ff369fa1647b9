"""Networks that may be frozen: some parameters are, in the file that runs them, or in one that uses it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import text_of

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_WORD = "requires_grad"
_FREEZES = re.compile(rf"\.{_WORD}\s*=(?!=|\s*True\b)|\b{_WORD}_\((?!\s*(?:{_WORD}\s*=\s*)?True\b|\s*\))|\.freeze\(\)")
"""What turns gradients of parameters off, or may: `each.requires_grad = False`, `net.requires_grad_(flag)`, Lightning's
`net.freeze()`. A keyword of a function that makes tensors does not."""


def may_be_frozen(module: Module) -> bool:
    """Whether a file, or one that imports it, freezes parameters: of how large a part of a network nobody sees.

    Without gradients in its parameters a network builds no graph, and a small one where only its last layers learn.
    """
    if _FREEZES.search(module.source.text):
        return True
    project = module.project
    if project is None:
        return False
    texts = (text_of(each, project.top) for words in ((_WORD,), (".freeze()",)) for each in module.users.paths(*words))
    return any(text is not None and _FREEZES.search(text) for text in texts)
