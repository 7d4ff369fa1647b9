"""What a text must hold for the outline of its module (`outline.py`) to allow something: told before it is parsed.

An answer may be "yes" too often. It is "no" only where the outline, which costs a tree, would say no.
Patterns start with plain characters: those are sought twenty times faster. What several gates ask of a text is looked
for once: of the last text, which is the one that is being linted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from flake8_torchleak.model import hints
from flake8_torchleak.words import holds_any

TRAINING = (".backward(", "manual_backward(", "import backward")
"""One of these stands in every file that differentiates by itself."""
_OF_STEPS = ("_step", "_batch", "optimize_parameters", "compute_loss", "on_before_zero_grad", "on_after_backward")
"""Each name of a function that is a step has one of these in it: they are sought first."""
_STEP = re.compile(rf"def[\s\\]+(?:{'|'.join(sorted(hints.STEP_METHODS | hints.STEP_HOOKS))})\b")
_SWITCHING = (".eval(", ".train(")
CUTS = (".detach()", ".data", ".numpy()", ".item()", ".argmax(")
"""What takes a tensor, or numbers, out of a graph."""
_OWN_PASS = (" self(", "self.forward(")
_CALLED = re.compile(r"\b(\w+)(?:\.(\w+))?\(")
_DEFINED = re.compile(r"def[\s\\]+(\w+)")
_LOADERS = ("oader", "refetcher", "ata_generator")
_SHORT = re.compile(r"dl(?:(?<=\bdl)|(?<=_dl))s?[a-z_\d]{0,6}\b")
_ITERATORS = re.compile(
    r"iter(?:(?<=niter)|(?<=diter)|(?<=liter)|(?<=titer)|(?<=viter)|(?<=aiter)|(?<=hiter)|"
    r"(?<=n_iter)|(?<=d_iter)|(?<=l_iter)|(?<=t_iter)|(?<=v_iter)|(?<=a_iter)|(?<=h_iter))"
)
"""By the last letter of train, valid, val, test (eval, dev, data, batch) before them."""
_AT_TOP = re.compile(r"""\n(?!class |def |async |from |import |[\s#@)\]}"'])(.+)""")
"""The first line of a statement at the top of a module that neither defines nor imports anything."""
_BEHIND_IMPORT = re.compile(r"\n(?:from|import)\b[^\n#]*;")
_BLOCK = re.compile(r"(?:\r?\n(?:[ \t#][^\n]*)?)*")
"""The lines below a statement that are its block."""
_ALONE = re.compile(r"[ \t]*(?:\w+\.)*")
"""What may stand before a call in a line, if that is all of a statement."""
_IMPORTING = re.compile(r"\n[ \t]*from\b[^\n(]*\([^)]*\)")
_ASSIGNED = re.compile(r"(?:[^=(]*[^=!<>(]=(?!=)[ \t]*)+(?:([^\W\d]\w*)|[(\\\r]|$)")
"""What an assignment's value starts with."""


@lru_cache(maxsize=1)
def names_loader(text: str) -> bool:
    """Whether a name that may be a loader's stands anywhere: see `hints.is_loader`."""
    if holds_any(text, _LOADERS):
        return True
    low = text.lower()
    return holds_any(low, _LOADERS) or _SHORT.search(low) is not None or _ITERATORS.search(low) is not None


@lru_cache(maxsize=1)
def may_step(text: str) -> bool:
    """Whether there may be a step: see `Outline.may_step`."""
    if holds_any(text, TRAINING) or holds_any(text, _SWITCHING) or names_loader(text):
        return True
    if holds_any(text, _OF_STEPS) and _STEP.search(text) is not None:
        return True
    return may_run_in_vain(text)


def may_evaluate(text: str) -> bool:
    """Whether there may be an evaluation: a switch of modes, training, weights that are read, a loader, a name."""
    if holds_any(text, (*_SWITCHING, *TRAINING, *hints.PREPARES)) or names_loader(text) or may_be_without_effect(text):
        return True
    return any(map(hints.is_evaluation, _DEFINED.findall(text))) or may_be_unneeded(text)


@lru_cache(maxsize=1)
def may_be_without_effect(text: str) -> bool:
    """Whether a line may be nothing but `torch.no_grad()`, which turns nothing off."""
    return any(_is_alone(place, text) for word in hints.GRAD_OFF for place in _places(f"{word}(", text))


def _places(word: str, text: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _is_alone(place: int, text: str) -> bool:
    return _ALONE.fullmatch(text, text.rfind("\n", 0, place) + 1, place) is not None


@lru_cache(maxsize=1)
def may_be_unneeded(text: str) -> bool:
    """Whether something is cut off from its graph, and a network run by a name; not if gradients are turned off."""
    if holds_any(text, hints.KNOWS_GRAD) or not holds_any(text, CUTS):
        return False
    return holds_any(text, _OWN_PASS) or any(hints.is_model(name) for names in _CALLED.findall(text) for name in names)


def may_run_in_vain(text: str) -> bool:
    """Whether this may be a program that makes networks and goes through a loop: see `Outline.may_run_in_vain`."""
    if "nn." not in text or not ("for " in text or "while" in text):
        return False
    if "\n" not in text or "\f" in text:
        return True  # lines that the patterns here do not know
    lines = f"\n{text}"
    return _BEHIND_IMPORT.search(lines) is not None or any(_runs(found, text) for found in _AT_TOP.finditer(lines))


def _runs(found: re.Match[str], text: str) -> bool:
    """Whether a statement at the top of a module may be a program's: a loop, a call, a branch in which there are such.

    text: the module's, without the line break that was put before it.
    """
    line = found[1]
    if line.startswith(("for ", "while ", "while(", "with ", "if ", "if(", "elif", "else")):
        if line.startswith(("for", "w")):
            return True
        block = _BLOCK.match(text, found.end() - 1)
        return _does_more(line.partition(":")[2]) or (block is not None and _does_more(block[0]))
    if ";" in line:
        return True
    value = _ASSIGNED.match(line)
    head = line.partition("=")[0]
    if value is None or ":" in head:
        return "(" in line
    name = value[1]
    return name is None or f"def {name}" in text or f"class {name}" in text


def _does_more(block: str) -> bool:
    """Whether a block may call anything: whether it is more than imports and constants."""
    return "(" in _IMPORTING.sub("", block)
