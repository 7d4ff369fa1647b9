"""The gate: which rules can find anything in a text, told before the tree is indexed.

Most files pass no further. First plain words (a tenth of a millisecond per 1,000 lines), then the statements of
the tree without their expressions (a quarter of one); indexing every node costs ten times that. A gate may only
let too much through: every rule's fixtures are checked against it.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from flake8_torchleak.model import hints
from flake8_torchleak.model.names import last_name
from flake8_torchleak.source import Source


class Subject(Enum):
    """What a rule is about, and so what a file must contain for it."""

    DATASET = "a Dataset class"
    STEPS = "a loop over steps"
    EVALUATION = "an evaluation loop"
    OPENCV = "cv2: in a helper of a Dataset of another module, too"
    TORCH = "anything of PyTorch: for rules that name words of their own"


_TORCH = ("torch", "lightning", "accelerate", "Dataset", "oader", ".backward(", ".eval()")
"""A module with none of these is not about PyTorch (a Dataset's base may come from the project itself)."""

_OTHER_FRAMEWORKS = frozenset({
    "tensorflow", "keras", "jax", "flax", "paddle", "mxnet", "mindspore", "chainer", "oneflow",
})  # fmt: skip
_TORCH_PACKAGES = frozenset({
    "torch", "pytorch_lightning", "lightning", "accelerate", "torchvision", "ignite", "fastai", "composer",
})  # fmt: skip
"""A module that imports only the former has classes and loops of the same shape, and other memory."""

_DATASET = ("Dataset", "__getitem__")
_LOOPS_OF_INTEREST = (
    "oader", " dl", "_dl", "(dl", "refetcher", "data_generator", "backward(", ".eval()", "_step", "_iter",
    "train(False", "def eval", "def val", "def test", "def infer", "def predict", "_eval(", "_test(", "_val(",
    "_valid", "_predict", "_infer", "optimize_parameters",
)  # fmt: skip
"""Words of training, loaders and evaluation."""
_LOOPING = frozenset({Subject.STEPS, Subject.EVALUATION})


def by_words(text: str, bases: tuple[str, ...]) -> frozenset[Subject]:
    """The subjects that a text may hold, by a few words alone; `by_words_of_loops` looks for more.

    bases: further names that make a class a Dataset.
    """
    configured = any(each.rpartition(".")[2] in text for each in bases)
    found = {Subject.OPENCV} if "cv2" in text else set()
    if not configured and not any(word in text for word in _TORCH):
        return frozenset(found)
    found |= {Subject.TORCH, *_LOOPING}
    if configured or any(word in text for word in _DATASET):
        found.add(Subject.DATASET)
    return frozenset(found)


def by_words_of_loops(subjects: frozenset[Subject], text: str) -> frozenset[Subject]:
    """The subjects without those of loops, if a text has no word of them: the most words to look for."""
    if subjects & _LOOPING and not any(word in text for word in _LOOPS_OF_INTEREST):
        return subjects - _LOOPING
    return subjects


def by_statements(
    subjects: frozenset[Subject], text: str, outline: Outline, bases: tuple[str, ...]
) -> frozenset[Subject]:
    """Those of the subjects that the statements allow: the right classes, the right loops.

    bases: further names that make a class a Dataset.
    """
    scopes, classes, packages, loaders = outline.scopes, outline.classes, outline.packages, outline.loaders
    if packages & _OTHER_FRAMEWORKS and not packages & _TORCH_PACKAGES:
        return frozenset()
    loops = [loop for each in scopes for loop in each.loops]
    found = {Subject.TORCH, Subject.OPENCV} & subjects
    serves = "DataLoader" in text
    datasets = Subject.DATASET in subjects and any(_may_be_dataset(each, serves, bases) for each in classes)
    if datasets:
        found.add(Subject.DATASET)
    if Subject.STEPS in subjects and _may_step(scopes, loops, loaders, text):
        found.add(Subject.STEPS)
    if Subject.EVALUATION in subjects and _may_evaluate(scopes, text):
        found.add(Subject.EVALUATION)
    return frozenset(found)


def _may_step(scopes: list[_Scope], loops: list[_Loop], loaders: set[str], text: str) -> bool:
    if any(each.name in hints.STEP_METHODS for each in scopes):
        return True
    if not loops:
        return False
    if "backward(" in text or any(each.loops and each.evaluates for each in scopes):
        return True
    if "next(" in text and "oader" in text:
        return True
    return any(_names_loader(each, loaders) for each in loops)


def _may_evaluate(scopes: list[_Scope], text: str) -> bool:
    tested = "pytest" in text or "unittest" in text
    trains = "backward(" in text
    for each in scopes:
        if each.loops and each.evaluates:
            return True
        if not hints.is_evaluation(each.name) or (tested and each.name.startswith("test")):
            continue
        if each.loops or trains:
            return True
    return False


_Loop = ast.For | ast.AsyncFor | ast.While


@dataclass(slots=True)
class _Scope:
    """A function (or the module, without a name): its loops, and whether it puts a model in evaluation mode."""

    name: str
    loops: list[_Loop]
    evaluates: bool = False


class Outline:
    """What the statements of a module hold, found in one walk that leaves their expressions alone."""

    def __init__(self, root: ast.Module, text: str) -> None:
        self.scopes = [_Scope("", [])]
        """The module and every function."""
        self.classes: list[ast.ClassDef] = []
        self.packages: set[str] = set()
        """What is imported."""
        self.loaders: set[str] = set()
        """Variables that are bound to a DataLoader."""
        self.statements: list[ast.AST] = []
        """All of them, with handlers and cases, in no order."""
        # No expression is looked into on other lines than those that may put a model in evaluation mode.
        switches = _lines_of(text, ("eval", "train")) if ".eval()" in text or "train(" in text else []
        stack: list[tuple[ast.AST, _Scope]] = [(each, self.scopes[0]) for each in root.body]
        while stack:
            node, scope = stack.pop()
            kind = node.__class__
            self.statements.append(node)
            if switches and not scope.evaluates and _is_on(node, switches) and _switches(node):
                scope.evaluates = True
            if kind is ast.Expr or kind is ast.Assign:
                if kind is ast.Assign and _makes_loader(node.value):  # type: ignore[attr-defined]
                    self.loaders.update(last_name(target) for target in node.targets)  # type: ignore[attr-defined]
                continue
            blocks = _BLOCKS.get(kind)
            if blocks is None:
                if isinstance(node, ast.Import):
                    self.packages.update(alias.name.partition(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    self.packages.add(node.module.partition(".")[0])
                continue
            if kind in _LOOPS:
                scope.loops.append(node)  # type: ignore[arg-type]
            elif kind in _FUNCTIONS:
                scope = _Scope(node.name, [])  # type: ignore[attr-defined]
                self.scopes.append(scope)
            elif isinstance(node, ast.ClassDef):
                self.classes.append(node)
            for block in blocks:
                stack += [(each, scope) for each in getattr(node, block)]


def _lines_of(text: str, words: tuple[str, ...]) -> list[int]:
    """The numbers of the lines in which one of the words stands, as `ast` counts lines."""
    return [number for number, line in enumerate(Source(text).lines, 1) if any(word in line for word in words)]


def _makes_loader(value: ast.expr) -> bool:
    return value.__class__ is ast.Call and last_name(value.func).endswith("DataLoader")


def _is_on(statement: ast.AST, lines: list[int]) -> bool:
    """Whether a statement (or handler, or case) may stand on one of these lines."""
    heads: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = getattr(heads[0] if heads else statement, "lineno", 0)
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= getattr(statement, "end_lineno", lines[place])


def _switches(statement: ast.AST) -> bool:
    """Whether `.eval()` or `.train(False)` stands in a statement itself, not in its blocks."""
    stack = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name == "eval" and not node.args or name == "train" and node.args:
                return True
        stack += [each for each in ast.iter_child_nodes(node) if not isinstance(each, _BELOW)]
    return False


_LOOPS = frozenset({ast.For, ast.AsyncFor, ast.While})
_BELOW = (ast.stmt, ast.ExceptHandler, ast.match_case)
_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef})
_BLOCKS: dict[type[ast.AST], tuple[str, ...]] = {
    **dict.fromkeys(
        (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With, ast.AsyncWith, ast.ExceptHandler), ("body",)
    ),
    **dict.fromkeys((ast.For, ast.AsyncFor, ast.While, ast.If), ("body", "orelse")),
    ast.Try: ("body", "handlers", "orelse", "finalbody"),
    ast.Match: ("cases",),
    ast.match_case: ("body",),
}
_BLOCKS[getattr(ast, "TryStar", ast.Try)] = _BLOCKS[ast.Try]  # since Python 3.11


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


def _names_loader(loop: ast.For | ast.AsyncFor | ast.While, loaders: set[str]) -> bool:
    """Whether what a loop goes over (or tests) names a loader."""
    return any(
        name in loaders or hints.is_loader(name)
        for name in _names(loop.test if isinstance(loop, ast.While) else loop.iter)
    )


def _names(expression: ast.expr) -> Iterator[str]:
    for node in ast.walk(expression):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
