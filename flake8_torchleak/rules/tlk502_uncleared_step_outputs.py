"""uncleared-step-outputs: a LightningModule collects the outputs of its steps and never empties the list.

Leaks
-----
    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.outputs = []

        def validation_step(self, batch, index):
            self.outputs.append(self(batch))

        def on_validation_epoch_end(self):
            self.log("score", torch.cat(self.outputs).mean())

Instead
-------
    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.outputs = []

        def validation_step(self, batch, index):
            self.outputs.append(self(batch))

        def on_validation_epoch_end(self):
            self.log("score", torch.cat(self.outputs).mean())
            self.outputs.clear()

Why
---
Since Lightning 2.0 the hooks `*_epoch_end(outputs)` are gone, and modules collect outputs themselves. The list is an
attribute of the module: without a reset it holds the outputs of all epochs, on the GPU, and every epoch's score is
that of all epochs so far. Source: Lightning's 2.0 upgrade guide; pytorch-lightning issue 16520.

Measured
--------
Hooks called in Lightning's order, without Lightning itself: after 4 epochs of 40 steps the list holds 160
entries and has grown by 71 KB per epoch (predicted and true classes of 64 samples a step), fixed 0 and 1 KB. A
fourth epoch in which everything is right, after three in which nothing is, scores 25 %, fixed 100 %.

Run by `fixtures/TLK502_uncleared_step_outputs/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu,
Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
Any method of the class empties the attribute, binds it anew or deletes entries, or what is collected are numbers. What
no hook at an epoch's end reads, as a history for a plot, is a note; and so is an attribute of a base class that is not
in sight, if the class has both the step and the hook, which does not ask that base (`super()`).

How to fix it
-------------
Unsafe, where the epoch's end hook reads the list: `.clear()` as the hook's last statement. What the hook computes from
the list is then of one epoch, where it was of all epochs so far.

By hand: of a dict of lists empty each list, as the next step looks for it. Where the hook returns the list, empty it
when the next epoch starts (`on_validation_epoch_start`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import GROWING, Mutation, key_of
from flake8_torchleak.model.classes import ClassFacts
from flake8_torchleak.model.emptying import empties_parts
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_STAGES = {"training_step": "train", "validation_step": "validation", "test_step": "test", "predict_step": "predict"}
_GROWS = GROWING - {"setitem", "update", "setdefault"} | {"augment"}
_HISTORY = "no hook at the end of an epoch reads it: it may be the history of the run"
_LISTED = frozenset({"append", "extend", "index", "count", "copy", "items", "keys", "values", "get"})
"""What is asked of a list, or a dict, and leaves it as it is or longer."""
_EMPTIES = frozenset({"clear", "pop", "popleft", "del", "popitem", "setitem", "reset"})


def _may_collect(outline: Outline) -> bool:
    """Whether a class has a step of Lightning's."""
    return not outline.names.isdisjoint(_STAGES)


@rule(
    "TLK502",
    "uncleared-step-outputs",
    fix=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.TORCH,
    words=("LightningModule", "_epoch_end"),
    shape=_may_collect,
    elsewhere=True,
)
def check(module: Module) -> Iterator[Report]:
    for facts in module.classes.own:
        for name, stage in _STAGES.items():
            step, hook = facts.own_methods.get(name), f"on_{stage}_epoch_end"
            end = facts.own_methods.get(hook)
            if step is None or not (facts.has_base("LightningModule") or (end is not None and facts.node.bases)):
                continue
            for key, change in _collected(module, step):
                is_seen = facts.has_base("LightningModule") and _is_list(module, facts, key)
                if _is_emptied(module, facts, key) or not (is_seen or _is_of_base(facts, end, key)):
                    continue
                when = f"on_{stage}_epoch_start" if end is not None and _gives_out(end, key) else hook
                last = facts.own_methods.get(f"on_{stage}_end")
                is_read_later = last is not None and _reads(last, key)
                if is_read_later:
                    when = f"on_{stage}_end"
                yield Report(
                    change.node,
                    f"memory grows every epoch: `{key}` keeps all outputs, nothing empties it; {_emptied(key, change)} "
                    f"in `{when}`",
                    notes=((end, "the hook at the epoch's end"),) if end is not None else (),
                    severity=None if is_seen and _is_for_epochs(facts, key) else Severity.NOTE,
                    why=_HISTORY if is_seen else f"what makes `{key}` is not in sight: that may empty it, too",
                    target=(key, end if not is_read_later else None, _holds_a_plain_list(module, facts, key)),
                )
                break


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`self.outputs.clear()` as the last statement of the hook that reads it."""
    assert isinstance(report.target, tuple)
    key, end, plain = report.target
    if not plain:
        raise Unfixable(f"`{key}` is not a plain list, so what to remove from it is not known")
    if end is None or not _reads(end, key):
        raise Unfixable(f"no hook at the epoch's end is the last to read `{key}`")
    if isinstance(end.body[-1], ast.Return):
        raise Unfixable(f"`{end.name}` returns a value at its end")
    yield Fix(FixLevel.UNSAFE, f"clear `{key}` in `{end.name}`", build.after(end.body[-1], f"{key}.clear()"))


def _collected(module: Module, step: FunctionNode) -> Iterator[tuple[str, Mutation]]:
    """(attribute, change) for what a step adds to an attribute that is no number."""
    for key, changes in module.flow.mutations(step).items():
        for change in changes if key.startswith("self.") and key.count(".") == 1 else ():
            if change.method in _GROWS and change.value is not None:
                value = module.infer.value(change.value)
                element = value.element if value.element is not None else value
                if value.kind not in (Kind.NUMBER, Kind.STRING) and element.kind is not Kind.NUMBER:
                    yield key, change


def _is_list(module: Module, facts: ClassFacts, key: str) -> bool:
    values = [module.infer.value(d.value) for d in facts.attributes.get(key, []) if d.value is not None]
    return any(value.kind in (Kind.LIST, Kind.DICT) for value in values)


def _is_of_base(facts: ClassFacts, end: FunctionNode | None, key: str) -> bool:
    """Whether a base class that is not seen has the attribute, and the hook reads it and does not ask that class."""
    if end is None or facts.attributes.get(key) or not _reads(end, key):
        return False
    if end.name.replace("_end", "_start") in facts.own_methods:
        return False
    calls = [node.func for node in ast.walk(end) if isinstance(node, ast.Call)]
    methods = {each.attr for each in calls if isinstance(each, ast.Attribute) and key_of(each.value) == key}
    return methods <= _LISTED and not any(
        isinstance(each, ast.Name) and each.id == "super" or last_name(each) in (end.name, *_EMPTIES) for each in calls
    )


def _holds_a_plain_list(module: Module, facts: ClassFacts, key: str) -> bool:
    values = [module.infer.value(d.value) for d in facts.attributes.get(key, []) if d.value is not None]
    return all(value.kind is Kind.LIST for value in values)


def _is_emptied(module: Module, facts: ClassFacts, key: str) -> bool:
    """Whether a method other than `__init__` binds the attribute anew, or any empties it."""
    if any(change.method in _EMPTIES for change in facts.mutations.get(key, [])) or empties_parts(module, key):
        return True
    bound = [d.statement for d in facts.attributes.get(key, []) if not isinstance(d.statement, ast.AugAssign)]
    return not all(_is_made_with_it(module, each) for each in bound)


def _is_made_with_it(module: Module, statement: ast.AST) -> bool:
    """Whether a statement runs once for each object, or each class: in `__init__`, or in the class's body."""
    scope = module.tree.scope(statement)
    if isinstance(scope, ast.ClassDef):
        return True
    while isinstance(scope, FUNCTIONS) and scope.name != "__init__":
        scope = module.tree.scope(scope)
    return isinstance(scope, FUNCTIONS)


def _emptied(key: str, change: Mutation) -> str:
    """What leaves the lists of a dict in it, where the steps fill those."""
    if not change.depth:
        return f"call `{key}.clear()`"
    if isinstance(change.target, ast.Subscript) and isinstance(change.target.slice, ast.Constant):
        return f"call `{short(change.target)}.clear()`"
    return "clear its lists"


def _gives_out(function: FunctionNode, key: str) -> bool:
    """Whether a hook returns what it would have to empty."""
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    return any(key_of(node) == key for each in returned for node in ast.walk(each))


def _is_for_epochs(facts: ClassFacts, key: str) -> bool:
    """Whether what runs at the end of epochs reads it, in a method of the class: else it may be the run's history."""
    methods = facts.own_methods
    new = [name for name in methods if name.endswith("epoch_end")]
    for name in new:
        if _reads(methods[name], key):
            return True
        called = {node.attr for node in ast.walk(methods[name]) if isinstance(node, ast.Attribute)}
        new += [each for each in methods if each in called and each not in new]
    return False


def _reads(function: FunctionNode, key: str) -> bool:
    return any(isinstance(node, ast.Attribute) and key_of(node) == key for node in ast.walk(function))
