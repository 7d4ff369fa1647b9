"""tensor-list-state: a Dataset holds a list or dict of many tensors, each of which spawned workers map by itself.

Leaks
-----
    class Features(Dataset):
        def __init__(self, paths):
            self.features = [torch.load(path) for path in paths]

        def __getitem__(self, i):
            return self.features[i]

Instead
-------
    class Features(Dataset):
        def __init__(self, paths):
            loaded = [torch.load(path) for path in paths]
            self.ends = torch.tensor([len(each) for each in loaded]).cumsum(0)
            self.features = torch.cat(loaded)

        def __getitem__(self, i):
            start = self.ends[i - 1] if i else 0
            return self.features[start : self.ends[i]].clone()

Why
---
Under spawn and forkserver (the default from Python 3.14) every tensor goes to the workers through shared memory of
its own: one file descriptor and one mapping each, in every process, at every start of the loader. A fork server takes
no more than 256 descriptors ("too many fds"); spawned workers go on to "Too many open files" or vm.max_map_count.
Forked workers share the data and copy only the tensor objects.
Source: pytorch/vision#1795, which fixed exactly this.

Measured
--------
Descriptors that one worker adds to the main process: under spawn 508 for a list of 500 tensors, 18 for one of
10, 9 for one stacked tensor; under fork 7. forkserver starts no worker at all with the 500 ("ValueError: too
many fds": it is sent 256 at most); with the stacked tensor it does. Forked workers copy the tensor objects
only, 81 bytes each.

Run by `fixtures/TLK103_tensor_list_state/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
They are stacked or concatenated, are few (means, anchors, a literal), are not read for samples, or the Dataset is
only used without workers, in the file or in the program as a whole (TLK101). A note where the file does not say that
its processes are started by spawn or forkserver, or there are no workers unless an option asks for them.

How to fix it
-------------
By hand: `torch.stack` where shapes are equal, else `torch.cat` with a tensor of offsets, as above. Of records (dicts,
tuples) the same for each field that is a tensor; the others stay in arrays of their own. Of a dict also each key's row:

    self.rows = {key: row for row, key in enumerate(self.vectors)}
    self.vectors = torch.stack(list(self.vectors.values()))  # self.vectors[self.rows[key]]
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.containers import Container, tensor_containers
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.values import UNKNOWN, Kind, Value
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import UNASKED, fitting, with_workers
from flake8_torchleak.words import holds_any

_STARTED = ("spawn", "forkserver")


@rule(
    "TLK103",
    "tensor-list-state",
    fix=FixLevel.HINT,
    severity=Severity.WARNING,
    subject=Subject.DATASET,
    words=("torch", "ensor"),
)
def check(module: Module) -> Iterator[Report]:
    if not module.notes and not _spawns(module):
        return  # notes, all of them
    for each in tensor_containers(module):
        unasked = module.served.has_none_by_default(each.dataset.owner)
        opened = f'"too many open files" in spawned workers, one per tensor of `{each.name}`'
        yield Report(
            each.place,
            fitting(f"{with_workers(unasked)}{opened}", *_stored(each)),
            notes=each.notes,
            severity=Severity.WARNING if _spawns(module) and not unasked else Severity.NOTE,
            why=UNASKED if unasked else "this file does not say that workers are spawned: forked ones open no files",
            remedy=_remedy(each),
        )


def _stored(each: Container) -> tuple[str, ...]:
    """One tensor in the place of many: of records, for each field that is one; of a dict, by the row of each key."""
    keyed = each.value.kind is Kind.DICT
    fields = _fields(each.value.element)
    if fields:
        stacked = f"`torch.stack([s{fields[0]} for s in ...])`"
        stored = f"move them to {stacked}" if len(fields) == 1 else f"move each field to {stacked}"
        return (
            f"{stored} (unequal: `torch.cat`, and start offsets)",
            f"{stored} (unequal: `torch.cat`, offsets)",
            f"store one tensor per field {_SHOWN}",
        )
    if keyed:
        return ("store one `torch.stack(...)` of its values, and each key's row",)
    return (
        "store `torch.stack(...)`; if lengths differ `torch.cat(...)` and where each starts",
        f"store one tensor {_SHOWN}",
    )


_SHOWN = "(code: `torchleak explain TLK103`)"


def _fields(element: Value | None) -> list[str]:
    """The fields of a record that hold tensors, as they are read: `['ids']`, `[0]`; none for what is no record."""
    element = element or UNKNOWN
    named = [(repr(key), part) for key, part in element.fields]
    placed = [(str(number), part) for number, part in enumerate(element.items)]
    return [f"[{key}]" for key, part in (*named, *placed) if part.kind is Kind.TENSOR]


def _remedy(each: Container) -> str:
    name, fields = each.name, _fields(each.value.element)
    if fields:
        return (
            f"one tensor for {_listed(fields)} of all records (`torch.stack` where shapes are equal; else `torch.cat`, "
            "and a tensor of the rows where each ends), the other fields in lists or tensors of their own"
        )
    if each.value.kind is Kind.DICT:
        return (
            f"`self.rows = {{key: row for row, key in enumerate({name})}}` once it is filled, then `{name} = "
            f"torch.stack(list({name}.values()))`, and `{name}[self.rows[key]]` where it is read"
        )
    return (
        f"`{name} = torch.stack({name})` once it is filled, where shapes are equal; else "
        "`torch.cat`, and a tensor of the rows where each ends (the code is in `torchleak explain TLK103`)"
    )


def _listed(fields: list[str]) -> str:
    return " and one for ".join(f"`{field}`" for field in fields)


def _spawns(module: Module) -> bool:
    """Whether the module says that its processes are not forked."""
    return holds_any(module.source.text, _STARTED) or module.config.assume_workers == "yes"
