"""Stored elements that are given out, and edited by who gets them: made by the harness of fixes."""

from __future__ import annotations

import random
import re

from tests.training import stored
from tests.training.program import Program

SAMPLE_FORMS = ("sample", "collate", "reader", "nobody")
SAMPLES = ("array", "tensor", "dict", "dict of arrays", "dict of tensors", "list")


def samples(rng: random.Random, holder: str, form: str) -> tuple[Program, dict[str, str]]:
    """A Dataset that gives out what it stores; edited by the sample's maker, the collate function or its reader.

    The harness of fixes makes it: with the copies that were meant in half of the programs.
    """
    for _ in range(5000):
        construct = rng.choice(stored.CONSTRUCTS[:2])
        made = stored.data(rng, construct, False)
        if made.cell["holder"] == holder and made.cell["form"] == form:
            break
    else:
        raise LookupError((holder, form))
    copied = bool(made.meant) and rng.random() < 0.5
    way = "none"
    files = dict(made.files)
    if copied:
        way = rng.choice(("deepcopy", "deepcopy", "copy.copy", "own copy"))
        files = {path: _copying(text, way, holder) for path, text in made.meant[0].items()}
    cell = {"kind": "sample", "holder": holder, "form": form, "release": way, "where": "kept", "loop": "for"}
    return Program(files, construct, made.tags), {**cell, "ending": "edited" if form != "nobody" else "read"}


_MEANT = re.compile(r"__import__\('copy'\)\.deepcopy\((self\.\w+\[\w+\]|\w+)\)")


def _copying(text: str, way: str, holder: str) -> str:
    """The text with that way of copying where a copy was meant."""
    if "__import__" not in text:
        return text
    method = {"array": r"\1.copy()", "tensor": r"\1.clone()", "dict": r"dict(\1)", "list": r"list(\1)"}
    if way == "own copy" and holder in method:
        text = _MEANT.sub(method[holder], text)
    if way == "copy.copy":
        text = _MEANT.sub(r"copy.copy(\1)", text)
    return "import copy\n" + text.replace("__import__('copy')", "copy")
