"""object-dtype-state: an array or column that a Dataset holds is made of Python objects, as a list would be.

Leaks
-----
    class Photos(Dataset):
        def __init__(self, paths):
            self.paths = np.array(paths, dtype=object)

        def __getitem__(self, i):
            return load(self.paths[i])

Instead
-------
    class Photos(Dataset):
        def __init__(self, paths):
            self.paths = np.array(paths, dtype=np.bytes_)

        def __getitem__(self, i):
            return load(self.paths[i].decode())

Why
---
An array of dtype object holds pointers to Python objects. Reading one writes its reference count, so that each
forked worker ends up with a copy of every object it touched, just as with a list (TLK101): the remedy that is none.
`np.array` of dicts, Paths or sets has that dtype too; `.to_pylist()`, and `.to_numpy()` of strings, undo what Arrow
packed.

Measured
--------
Private bytes per sample and worker after an epoch, fork: three arrays of dtype object, of a path, a text and a
name, 260; `np.array` of dicts, of which one number is read, 97; paths and texts of fixed width 0. One array of
str: see TLK101.

Run by `fixtures/TLK102_object_dtype_state/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The dtype is numeric or of fixed width, the array is not read for samples, what it is made of is unknown, or the
Dataset is only used without workers, in the file or in the program as a whole (TLK101). A note where there are no
workers unless an option asks for them.

How to fix it
-------------
By hand: a fixed-width or numeric dtype, Arrow, or the class `PackedRecords` (`torchleak explain TLK101` prints it):
once the array is filled, `self.paths = PackedRecords(self.paths)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.objects import Objects, arrays
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import UNASKED, fitting, with_workers


@rule(
    "TLK102",
    "object-dtype-state",
    fix=FixLevel.HINT,
    severity=Severity.WARNING,
    subject=Subject.DATASET,
    words=("object", "'O'", '"O"', "array(", "to_numpy", "to_py"),
)
def check(module: Module) -> Iterator[Report]:
    for each in arrays(module):
        unasked = module.served.has_none_by_default(each.dataset)
        yield Report(
            each.place,
            fitting(
                f"{with_workers(unasked)}memory grows by a copy of `{each.name}` ({each.why}) in each worker",
                *_stored(each),
            ),
            notes=(
                (each.node, each.why),
                *each.dataset.chain(each.read.function),
                (each.read.node, f"read for every sample in `{each.read.function.name}`"),
            ),
            severity=Severity.NOTE if unasked else Severity.WARNING,
            why=UNASKED,
            remedy=(
                f"store the strings of `{each.name}` in `np.array([s.encode() for s in ...])` or an Arrow array, "
                "numbers in a numeric "
                "dtype, records in `PackedRecords` (the class is in `torchleak explain TLK101`)"
            ),
        )


def _stored(each: Objects) -> Iterator[str]:
    """The array, packed, once it has its elements; of a dict of columns each."""
    made = last_name(each.node.func) if isinstance(each.node, ast.Call) else ""
    packed = f"PackedRecords({each.name})"
    if made == "to_pydict":
        packed = f"{{k: PackedRecords(v) for k, v in {each.name}.items()}}"
    store = "once filled, store" if made in _UNFILLED else "store"
    yield f"{store} `{packed}` (class: `torchleak explain TLK101`)"
    yield f"{store} `{packed}` (`torchleak explain TLK101`)"
    yield f"{store} `{packed.replace(each.name, 'x')}` (`torchleak explain TLK101`)"


_UNFILLED = frozenset({"empty", "zeros", "full"})
