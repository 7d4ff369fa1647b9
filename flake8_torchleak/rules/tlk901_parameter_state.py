"""parameter-state: a Dataset keeps a constructor argument per sample, and nothing tells whether it is a list.

Leaks
-----
    class Records(Dataset):
        def __init__(self, records):
            self.records = records  # a list of dicts, in the caller's file

        def __len__(self):
            return len(self.records)

        def __getitem__(self, i):
            return encode(self.records[i])

Instead
-------
    class Records(Dataset):
        def __init__(self, records: np.ndarray):
            self.records = records

Why
---
TLK101 for an argument whose type the file does not show. Where callers hand over an array, a tensor or a
Hugging Face dataset, all is well: annotate it, and this rule is silent.

Measured
--------
The same Dataset, private bytes per text of 60 characters and worker after an epoch, fork: 129 when it is handed
a list, 1 when it is handed `np.array(texts)`.

Run by `fixtures/TLK901_parameter_state/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The argument is annotated or documented, is used as an array or table, is named as another Dataset, or is not
both counted in `__len__` and indexed by the sample's index.

How to fix it
-------------
By hand: as TLK101 for a list or dict; for an array, a tensor or a table annotate the argument.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.containers import Container, containers
from flake8_torchleak.model.module import Module
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import is_long, short


@rule("TLK901", "parameter-state", fix=FixLevel.HINT, severity=Severity.NOTE, subject=Subject.DATASET)
def check(module: Module) -> Iterator[Report]:
    for each in containers(module):
        if not each.known:
            yield Report(
                each.place,
                f"memory may grow until each worker has a copy of `{each.name}`; if it is a list, store "
                f"`{_stored(each)}` (class: `torchleak explain TLK101`)",
                notes=each.notes,
                remedy=f"annotate the argument (`{each.name.removeprefix('self.')}: np.ndarray`) if it is not a list",
            )


def _stored(each: Container) -> str:
    """The argument, packed."""
    given = getattr(each.place, "value", None)
    return f"PackedRecords({short(given)})" if isinstance(given, ast.Name) and not is_long(given) else _PACKED


_PACKED = "PackedRecords(...)"
