"""returned-unknown-element: a sample is an element that the Dataset keeps, and nothing tells whether it can be edited.

Leaks
-----
    class Scenes(Dataset):
        def __init__(self, scenes):
            self.scenes = scenes  # dicts, in the caller's file

        def __len__(self):
            return len(self.scenes)

        def __getitem__(self, i):
            return self.scenes[i]

Instead
-------
    class Scenes(Dataset):
        def __init__(self, scenes):
            self.scenes = scenes

        def __len__(self):
            return len(self.scenes)

        def __getitem__(self, i):
            return copy.deepcopy(self.scenes[i])

Why
---
TLK202 for an element whose type the file does not show. Where it is a number, a string, or made anew at each read (a
row of a Hugging Face dataset), all is well: annotate what holds it, and this rule is silent.

Measured
--------
As TLK202.

When it stays silent
--------------------
It is one part of the sample among others (a number or a text as often as not); its type is known, or the attribute's
name tells that of a number or text (labels, paths); it comes out of another Dataset, a table or an object of unknown
nature, or is used as an array; or every DataLoader of the class in the file uses the default collate.

How to fix it
-------------
`copy.deepcopy(...)` of it. Unsafe: objects of unknown classes may be costly to copy, or must not be copied.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.samples import given_out
from flake8_torchleak.model.state import StateFacts
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import deepcopied, short

_MAKERS = frozenset({Kind.INSTANCE, Kind.DATASET, Kind.SHARED, Kind.FRAME})
"""What makes its elements at each read, or may."""


@rule("TLK903", "returned-unknown-element", fix=FixLevel.UNSAFE, severity=Severity.NOTE, subject=Subject.DATASET)
def check(module: Module) -> Iterator[Report]:
    seen: set[ast.AST] = set()
    for dataset in module.datasets.all:
        if module.loaders.copies_batches(dataset.facts.node):
            continue
        for given in given_out(module, dataset):
            origin = given.value.origin
            if given.node in seen or origin is None or origin.view or not _is_all(module, given.node):
                continue
            if given.value.kind not in (Kind.UNKNOWN, Kind.PICKLE) or given.value.graph is not None:
                continue
            attribute = origin.name.removeprefix("self.")
            if hints.is_label(attribute) or hints.is_text(attribute) or _is_set(attribute):
                continue
            state = StateFacts(module, dataset, attribute)
            values = [module.infer.value(each.value) for each in state.bindings if each.value is not None]
            if state.used_as_array or any(value.kind in _MAKERS for value in values):
                continue
            seen.add(given.node)
            yield Report(
                given.node,
                f"edits of the sample may change the Dataset: `{short(given.node)}` is stored in `{origin.name}`, "
                f"not a copy; {deepcopied(given.node, 'return')}",
                notes=((origin.node, f"`{origin.name}` is stored by `{dataset.name}`"), *dataset.chain(given.function)),
                target=given.node,
            )


def _is_set(name: str) -> bool:
    """A name for another Dataset (`dataset`, `valset`)."""
    return hints.is_dataset(name) or name.endswith(("set", "sets"))


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`copy.deepcopy(...)` of it."""
    assert isinstance(report.target, ast.expr)
    copies, imported = build.reference("copy.deepcopy", report.target)
    yield Fix(
        FixLevel.UNSAFE,
        f"return a copy (`{copies}(...)`)",
        (*imported, *build.wrapped(report.target, f"{copies}(", ")")),
    )


def _is_all(module: Module, node: ast.expr) -> bool:
    """Whether a sample is `self.x[i]` and nothing else: then it is more than a number or a text, as a rule."""
    if not isinstance(module.tree.parents[node], (ast.Return, ast.Yield)):
        return False
    if isinstance(node, ast.Name):
        reaching = module.flow.reaching(node.id, node)
        if len(reaching) != 1 or reaching[0].value is None or reaching[0].path or reaching[0].how is not How.ASSIGN:
            return False
        node = reaching[0].value
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, (ast.Constant, ast.Slice)):
        return False
    return module.classes.self_attribute(node.value) is not None
