"""mutated-state: a stored element is changed in place when a sample is made from it.

Leaks
-----
    class Boxes(Dataset):
        def __init__(self, file):
            self.records = [json.loads(line) for line in open(file)]

        def __getitem__(self, i):
            record = self.records[i]
            record["boxes"] = torch.tensor(record["boxes"])
            return record

Instead
-------
    class Boxes(Dataset):
        def __init__(self, file):
            self.records = [json.loads(line) for line in open(file)]

        def __getitem__(self, i):
            record = dict(self.records[i])
            record["boxes"] = torch.tensor(record["boxes"])
            return record

Why
---
`self.records[i]` gives the stored object, not a copy; `dict(record)`, `record.copy()`, `copy.copy(record)` and slices
of lists are copies whose entries hold the stored objects. The change stays: the second epoch sees edited data
(normalised twice, keys gone), and what was put in (tensors for lists) stays in memory.
With workers it happens in each worker's copy and lasts until that worker ends.

Measured
--------
Images of value 100, of which the sample method subtracts 10, by epoch: 90, 80, 70 with `num_workers=0` and with
persistent_workers; 90 each time with workers that start anew, and fixed. Boxes put back as a tensor: 0.6 KB
more per annotation, 2000 of 2000 changed; fixed 0. A popped key: KeyError in epoch 2, not with workers that
start anew.

Run by `fixtures/TLK203_mutated_state/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The element is copied first, is made anew for each sample or each epoch, or is a cache slot, a counter, a log that the
Dataset only adds to, a queue of its own (its methods both fill and empty the queues), or filled only where it is empty.
So is one number of an array of NumPy's (`t = self.times[i]; t -= 5`, if only a number can be used as `t` is): that is
no view (measured); of a tensor it is one, and told.

Where nothing shows what holds the element (an argument), a note: a row whose entries are set by number (`row[0] = x`)
is one of a list or an array, as a rule, and an array of HDF5 gives a new one. Not where they are set by name: datasets
of libraries give a new dict each time.

A note is an edit that a second one leaves as it is (values limited by `np.clip`, a column that each read sets anew,
what `if np.isnan(x[i])` sets, an entry made of others that stay as they are), and one where each loader that a project
gives the Dataset has workers that start anew in every epoch, by its options' defaults too, or the project gives
a number of workers, and nowhere speaks of `persistent_workers`.

How to fix it
-------------
A copy where the element is read into its variable: `.copy()`, `.clone()`, or `copy.deepcopy(...)` where nested contents
change too, or a helper is handed the element. (Of a row of a tensor `copy.deepcopy` copies the whole tensor.) Safe
where every edit sets an entry to a value that does not depend on that entry: each read gave the same sample before.
Unsafe otherwise: from the second read on the samples differ, because they are no longer edited twice. A copy that
shares what is changed is made a deep one, which is unsafe, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.anew import is_log
from flake8_torchleak.model.bindings import How
from flake8_torchleak.model.changed import Edit, container, root
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.edits import copy_place, edits, moved_elements
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.release.repeating import repeats
from flake8_torchleak.model.samples import is_stored
from flake8_torchleak.model.settled import is_settled
from flake8_torchleak.model.shallow import made_at
from flake8_torchleak.model.values import COPIES, Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import copied_first, fitting, is_cut, short


@rule(
    "TLK203", "mutated-state", fix=FixLevel.SAFE, also=FixLevel.UNSAFE, severity=Severity.ERROR, subject=Subject.DATASET
)
def check(module: Module) -> Iterator[Report]:
    seen: set[ast.AST] = set()
    for dataset in module.datasets.all:
        for edit in edits(module, dataset):
            origin = edit.value.origin
            if edit.place in seen or origin is None or is_log(module, dataset, edit.value):
                continue
            unseen = _is_unseen(module, edit)
            if unseen and not _is_by_sample(module, dataset, edit, origin.node):
                continue
            seen.add(edit.place)
            kept = _kept(module, dataset, edit)
            yield Report(
                edit.place,
                fitting(
                    f"{kept or 'later epochs see this change of'} {_changed(edit, origin.name)}",
                    *_advice(module, edit),
                ),
                notes=(
                    (origin.node, f"the stored element, read from `{origin.name}`"),
                    *(((edit.node, f"`{edit.function.name}` changes it here"),) if edit.call is not None else ()),
                    *dataset.chain(edit.function),
                ),
                severity=Severity.NOTE if kept or unseen else Severity.ERROR,
                target=edit,
                why=_WHY.get(kept, _UNSEEN),
            )
    for edit in moved_elements(module):
        origin = edit.value.origin
        if edit.node not in seen and origin is not None:
            seen.add(edit.node)
            yield Report(
                edit.node,
                f"device memory fills up: `{short(edit.target)}` is part of `{origin.name}`, "
                f"which keeps what is moved to the device; {_advice(module, edit)[-1]}",
                notes=((origin.node, f"the stored element, read from `{origin.name}`"),),
                target=edit,
            )


def _is_unseen(module: Module, edit: Edit) -> bool:
    """Whether nothing shows what holds the element: it may make it anew each time."""
    return edit.value.kind is Kind.UNKNOWN and container(module, edit.value) is Kind.UNKNOWN


def _is_by_sample(module: Module, dataset: DatasetFacts, edit: Edit, stored: ast.AST) -> bool:
    """Whether what is changed is what the index of the sample, a number, asks for: arrays of indices give copies."""
    up, target = module.tree.parents[stored], edit.target
    function = module.tree.function(stored)
    if not isinstance(up, ast.Subscript) or not isinstance(up.slice, ast.Name) or not dataset.is_index(up.slice):
        return False
    if function is None or function.name == "__getitems__":
        return False
    ways = module.flow.reaching(target.id, target) if isinstance(target, ast.Name) else []
    return target is up or (bool(ways) and all(each.value is up for each in ways))


def _changed(edit: Edit, stored: str) -> str:
    """What is changed, and what it is part of, unless that shows."""
    text = short(edit.shown)
    return f"`{text}`" if text.startswith((f"{stored}[", f"{stored}.")) else f"`{text}`, part of `{stored}`"


def _advice(module: Module, edit: Edit) -> tuple[str, ...]:
    """The statement that makes a copy, under the variable's name or a new one; last, what to do in words."""
    name = root(edit.shown)
    reaching = module.flow.reaching(name.id, edit.shown) if isinstance(name, ast.Name) else []
    if isinstance(name, ast.Name) and reaching and all(each.how is How.ASSIGN for each in reaching):
        if not is_stored(edit.value) and isinstance(reaching[0].value, ast.Subscript):
            return ("make the copy that it is read from a deep one (`copy.deepcopy`)",)
        return (copied_first(name.id, COPIES.get(module.infer.value(name).kind, "")),)
    if isinstance(edit.shown, ast.Name):
        return (f"change a copy: `copy.deepcopy({edit.shown.id})`",)
    new, words = _name(module, edit), "change a copy (`copy.deepcopy`), and use that from there on"
    if is_cut(edit.shown):
        return (words,)
    text, method = short(edit.shown), COPIES.get(module.infer.value(edit.shown).kind, "")
    copied = f"{text}.{method}()" if method else f"copy.deepcopy({text})"
    return (f"just before, write `{new} = {copied}`, then use `{new}`", words)


def _name(module: Module, edit: Edit) -> str:
    """A new variable: the key of what is changed, unless that is the name of another."""
    index = edit.shown.slice if isinstance(edit.shown, ast.Subscript) else None
    key = index.value if isinstance(index, ast.Constant) else ""
    taken = {
        node.id for node in ast.walk(module.tree.function(edit.shown) or edit.function) if isinstance(node, ast.Name)
    }
    return next((each for each in (str(key), "part", "changed") if each.isidentifier() and each not in taken), "own")


_SETTLED = "stays in the Dataset, the same each time: this change of"
_IN_WORKERS = "stays in each worker until its epoch ends: this change of"
_PERHAPS = "stays, unless this is a copy: the change of"
_UNSEEN = "what holds it is not seen, and may make it anew each time"
_WHY = {
    _SETTLED: "a second change leaves it as it is",
    _IN_WORKERS: "workers are new in every epoch",
    _PERHAPS: "it may be a copy that is changed",
}


def _kept(module: Module, dataset: DatasetFacts, edit: Edit) -> str:
    """What is so of a change that no later epoch need see; "" of any other.

    A second one changes nothing, or each epoch has new workers, or it may be a copy that is changed.
    """
    if is_settled(module, edit):
        return _SETTLED
    if module.served.starts_anew(dataset):
        return _IN_WORKERS
    return _PERHAPS if _may_be_copied(module, dataset, edit) else ""


def _may_be_copied(module: Module, dataset: DatasetFacts, edit: Edit) -> bool:
    """Whether the element may be no stored object: an array by an array of indices is a copy, an object makes it."""
    place = copy_place(module, edit)
    read = place[0] if place is not None else edit.target
    while isinstance(read, ast.Subscript):
        index = read.slice
        kind = module.infer.value(read.value).kind
        if isinstance(read.value, ast.Subscript) and kind in (Kind.UNKNOWN, Kind.DATASET):
            return True
        if kind in (Kind.ARRAY, Kind.TENSOR) and not isinstance(index, ast.Slice):
            asked = module.infer.value(index).kind
            if asked is Kind.STRING or (asked is Kind.UNKNOWN and not dataset.is_index(index)):
                return True  # by a text: `.npz` files give a new array each time
        read = read.value
    return False


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """A copy where the element is read into its variable: `.copy()`, `.clone()`, or deep where nested parts change."""
    edit = report.target
    assert isinstance(edit, Edit)
    if edit.call is not None:
        raise Unfixable("the change is in another file")
    if not is_stored(edit.value):
        shared = made_at(build.module, edit.target)
        if shared is None or edit.within:
            raise Unfixable("it is not to be seen where the copy is made that shares what is changed")
        deepcopy, imported = build.reference("copy.deepcopy", shared)
        deepened = (*imported, *build.wrapped(shared, f"{deepcopy}(", ")"))
        yield Fix(FixLevel.UNSAFE, f"copy deeply (`{deepcopy}(...)`)", deepened)
        return
    place = copy_place(build.module, edit)
    if place is None:
        raise Unfixable(f"`{short(edit.target)}` is not read from the Dataset at one place, into one variable")
    read, nested = place
    kind = build.module.infer.value(read).kind
    safe = FixLevel.SAFE if repeats(build.module, edit) else FixLevel.UNSAFE
    if kind is Kind.TENSOR:
        yield Fix(safe, "edit a copy (`.clone()`)", build.method(read, "clone"))
    elif kind is Kind.ARRAY or kind in _CONTAINERS and not nested:
        yield Fix(safe, "edit a copy (`.copy()`)", build.method(read, "copy"))
    else:
        deepcopy, imported = build.reference("copy.deepcopy", read)
        level = safe if kind in _CONTAINERS else FixLevel.UNSAFE
        yield Fix(level, f"edit a copy (`{deepcopy}(...)`)", (*imported, *build.wrapped(read, f"{deepcopy}(", ")")))


_CONTAINERS = frozenset({Kind.DICT, Kind.LIST, Kind.SET, Kind.DEQUE, Kind.JSON})
