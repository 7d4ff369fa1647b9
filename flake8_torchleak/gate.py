"""The gate: which rules can find anything in a text, told before the tree is indexed.

Most files pass no further. First plain words (a tenth of a millisecond per 1,000 lines), then the statements of
the tree without their expressions (a quarter of one); indexing every node costs ten times that. A gate may only
let too much through: every rule's fixtures are checked against it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from enum import Enum

from flake8_torchleak.model import hints, prospect
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.words import holds_any, is_of_torch


class Subject(Enum):
    """What a rule is about, and so what a file must contain for it."""

    DATASET = "a Dataset class"
    STEPS = "a loop over steps"
    EVALUATION = "an evaluation loop"
    OPENCV = "cv2: in a helper of a Dataset of another module, too"
    TORCH = "anything of PyTorch: for rules that name words of their own"

    __hash__ = object.__hash__  # the names' own takes a call of Python, for each rule and file


_OTHER_FRAMEWORKS = frozenset({
    "tensorflow", "keras", "jax", "flax", "paddle", "mxnet", "mindspore", "chainer", "oneflow",
})  # fmt: skip
_TORCH_PACKAGES = frozenset({
    "torch", "pytorch_lightning", "lightning", "accelerate", "torchvision", "ignite", "fastai", "composer",
})  # fmt: skip
"""A module that imports only the former has classes and loops of the same shape, and other memory."""

_DATASET = ("Dataset", "__getitem__")
_BY_WORDS: dict[Subject, Callable[[str], bool]] = {
    Subject.STEPS: prospect.may_step,
    Subject.EVALUATION: prospect.may_evaluate,
}
"""Subjects that more than a word tells, which takes its time."""


_IMPORTED = re.compile(
    r"(?:^|[\r\n])[ \t]*(?:from|import)[ \t]+(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*"
    r"(?:torch|torchvision|torchaudio|pytorch_lightning|lightning|accelerate)\b"
)


def imports_pytorch(text: str) -> bool:
    """Whether a text, which need not parse, has a line that imports PyTorch or what stands on it."""
    return _IMPORTED.search(text) is not None


def by_words(text: str, bases: tuple[str, ...]) -> frozenset[Subject]:
    """The subjects that a text may hold, by a few words alone; `by_words_of_loops` looks for more.

    bases: further names that make a class a Dataset.
    """
    found = {Subject.OPENCV} if "cv2" in text else set()
    if not is_of_torch(text, bases):
        return frozenset(found)
    found |= {Subject.TORCH, *_BY_WORDS}
    if holds_any(text, _DATASET) or holds_any(text, (each.rpartition(".")[2] for each in bases)):
        found.add(Subject.DATASET)
    return frozenset(found)


def by_words_of_loops(subjects: frozenset[Subject], text: str) -> frozenset[Subject]:
    """The subjects without those of loops that a text's words rule out."""
    return frozenset(each for each in subjects if each not in _BY_WORDS or _BY_WORDS[each](text))


def by_statements(subjects: frozenset[Subject], outline: Outline, bases: tuple[str, ...]) -> frozenset[Subject]:
    """Those of the subjects that the statements allow: the right classes, the right loops.

    bases: further names that make a class a Dataset.
    """
    packages = outline.packages
    if packages & _OTHER_FRAMEWORKS and not packages & _TORCH_PACKAGES:
        return frozenset()
    found = {Subject.TORCH, Subject.OPENCV} & subjects
    serves = "DataLoader" in outline.text
    if Subject.DATASET in subjects and any(_may_be_dataset(each, serves, bases) for each in outline.all(ast.ClassDef)):
        found.add(Subject.DATASET)
    if Subject.STEPS in subjects and outline.may_step:
        found.add(Subject.STEPS)
    if Subject.EVALUATION in subjects and _may_evaluate(outline):
        found.add(Subject.EVALUATION)
    return frozenset(found)


def speaks_of_evaluation(outline: Outline) -> bool:
    """Whether more than a network in evaluation mode does: names, data, turns of training, outputs that are cut off."""
    return _shows_evaluation(outline) or bool(outline.looping(_evaluating_names(outline)))


def _shows_evaluation(outline: Outline) -> bool:
    """The same without the names of functions."""
    if outline.may_evaluate_beside or outline.goes_over_loader or outline.may_train_by_turns:
        return True
    if outline.may_train and holds_any(outline.text, prospect.CUTS):
        return True
    return prospect.may_be_without_effect(outline.text)


def _evaluating_names(outline: Outline) -> set[str]:
    return {name for name in outline.names if hints.is_evaluation(name)}


def _may_evaluate(outline: Outline) -> bool:
    knows = holds_any(outline.text, hints.KNOWS_GRAD)
    if outline.may_evaluate or (outline.evaluating and not knows) or _shows_evaluation(outline):
        return True
    # What nothing but that speaks for is a note, unless it goes over batches.
    if (outline.notes or "DataLoader" in outline.text) and prospect.may_be_unneeded(outline.text):
        return True
    names = _evaluating_names(outline)
    if not names:
        return False
    text = outline.text
    if "pytest" in text or "unittest" in text:
        names = {name for name in names if not name.startswith("test")}
    if names and (outline.may_train or (not knows and holds_any(text, hints.LOADS))):
        return True
    names = outline.looping(names)
    if holds_any(text, hints.PREPARES):
        return bool(names)
    return not knows and any(each.name in names and _gets_network(each) for each in outline.functions)


def _gets_network(function: FunctionNode) -> bool:
    """Whether one of the parameters is a network by its name: who calls the function may have set its mode."""
    return any(hints.is_model(each.arg) for each in parameters(function))


def _may_be_dataset(node: ast.ClassDef, serves: bool, bases: tuple[str, ...]) -> bool:
    """Whether a class can be a Dataset: by a base's name, or because it can be indexed and the file has a loader."""
    for base in node.bases:
        name = last_name(base.value if isinstance(base, ast.Subscript) else base)
        if (
            name.endswith(("Dataset", "ImageFolder", "Folder", "Detection", "Subset", "DataPipe", "MNIST", "10", "100"))
            or name in bases
        ):
            return True
        if name and any(name == each.rpartition(".")[2] for each in bases):
            return True
    if node.bases and node.name.endswith("Dataset"):
        return True
    methods = {each.name for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))}
    if "__getitem__" in methods:
        return serves or node.name.endswith("Dataset") or bool(node.bases)
    return bool(node.bases) and any(name.startswith(("next_", "__iter__")) for name in methods)
