"""pandas-state: a Dataset reads rows of a table from a file, whose strings may be Python objects.

Leaks
-----
    class Captions(Dataset):
        def __init__(self, path):
            self.table = pd.read_csv(path)

        def __getitem__(self, i):
            return self.table.iloc[i]["caption"]

Instead
-------
    class Captions(Dataset):
        def __init__(self, path):
            self.table = pd.read_csv(path, dtype_backend="pyarrow")

        def __getitem__(self, i):
            return self.table.iloc[i]["caption"]

Why
---
Before pandas 3 a column of strings is an array of Python objects: reading them writes their reference counts, and
each forked worker ends up with a copy (TLK101). pandas 3 keeps strings in Arrow where pyarrow is installed; columns
of lists or dicts, and of StringDtype("python"), stay objects. Numeric columns are never copied.

Measured
--------
Private bytes per row and worker after an epoch, `.iloc`: object column and StringDtype("python") 104; the str column
of pandas 3 and ArrowDtype 0.

When it stays silent
--------------------
The table is read with dtype_backend, is made in the file of something else, its rows are not read for samples, or the
Dataset is only used without workers, in the file or in the program as a whole (TLK101).

How to fix it
-------------
By hand: `pd.read_csv(path, dtype_backend="pyarrow")` (pandas 2 and pyarrow; the other readers take it too), or columns
as arrays of a fixed-width or numeric dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.objects import frames
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short, with_workers


@rule(
    "TLK902",
    "pandas-state",
    fix=FixLevel.HINT,
    severity=Severity.NOTE,
    subject=Subject.DATASET,
    words=("read_",),
)
def check(module: Module) -> Iterator[Report]:
    for each in frames(module):
        unasked = with_workers(module.served.has_none_by_default(each.dataset))
        yield Report(
            each.place,
            f"{unasked}memory grows until each worker has a copy of the texts in `{each.name}` (pandas); "
            f'write `{_reader(each.node)}(..., dtype_backend="pyarrow")` (pandas 2, pyarrow)',
            notes=(
                (each.node, each.why),
                *each.dataset.chain(each.read.function),
                (each.read.node, f"read for every sample in `{each.read.function.name}`"),
            ),
            remedy=f'read `{each.name}` with `dtype_backend="pyarrow"`, or keep its columns as arrays',
        )


def _reader(node: ast.AST) -> str:
    """The function that reads the table."""
    assert isinstance(node, ast.Call)
    return short(node.func)
