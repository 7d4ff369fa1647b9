"""list-as-dataset: a list or dict that grows with the data is handed to a DataLoader with workers as its Dataset.

Leaks
-----
    samples = [json.loads(line) for line in open(path)]
    loader = DataLoader(samples, batch_size=32, num_workers=8)

Instead
-------
    class PackedRecords(Dataset):
        def __init__(self, records):
            packed = [pickle.dumps(record, protocol=-1) for record in records]
            self.ends = torch.tensor([len(each) for each in packed]).cumsum(0)
            self.bytes = torch.frombuffer(bytearray(b"".join(packed)), dtype=torch.uint8)

        def __len__(self):
            return len(self.ends)

        def __getitem__(self, i):
            i = range(len(self))[i]  # -1 is the last
            start = self.ends[i - 1] if i else 0
            return pickle.loads(self.bytes[start : self.ends[i]].numpy())

    samples = [json.loads(line) for line in open(path)]
    loader = DataLoader(PackedRecords(samples), batch_size=32, num_workers=8)

Why
---
Anything with `__getitem__` and `__len__` can be a Dataset, a list too. Every worker reads its elements and so
writes their reference counts: each forked worker ends up with a copy, each spawned one is handed one at start (TLK101).

Measured
--------
Private bytes per record and worker after an epoch, fork: list of (float, str) tuples 163, two workers; list of
two-key dicts 183 in each of eight workers. One tensor 11, records pickled into one 5. The first report of the
cause, pytorch/pytorch#13246, has a plain list.

Run by `fixtures/TLK106_list_as_dataset/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The loader has no workers as far as the file shows, or the program as a whole (TLK101), or the list is small, of unknown
size or of unknown type. A note where there are no workers unless an option asks for them, and where its elements are
texts or numbers, or hold arrays, of which workers copy the headers.

How to fix it
-------------
By hand: a Dataset over one array, tensor or Arrow table, such as `PackedRecords` above; of a dict `PackedDict`, which
`torchleak explain TLK101` shows too.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.loader import Workers
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.served import is_for_who_asks
from flake8_torchleak.model.values import Kind, Value
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import UNASKED, fitting, is_cut, short, with_workers

_LISTS = frozenset({Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.DEQUE, Kind.JSON})
_OTHERS = frozenset({Kind.DATASET, Kind.LOADER})

_ARRAYS = frozenset({Kind.ARRAY, Kind.TENSOR})
_SHOWN = "(class: `torchleak explain TLK101`)"


@rule(
    "TLK106",
    "list-as-dataset",
    fix=FixLevel.HINT,
    severity=Severity.WARNING,
    subject=Subject.TORCH,
    words=("DataLoader(",),
)
def check(module: Module) -> Iterator[Report]:
    for site in module.loaders.sites:
        if site.dataset is None or site.workers is Workers.NO or not module.loaders.assumed(site.workers):
            continue
        value = module.infer.value(site.dataset)
        if value.kind not in _LISTS or not value.grows:
            continue
        if value.element is not None and value.element.kind in _OTHERS:
            continue
        if module.reach.has_no_workers(site):
            continue
        unasked = module.config.assume_workers == "auto" and is_for_who_asks(module, site)
        name, packed = short(site.dataset), "PackedDict" if value.kind is Kind.DICT else "PackedRecords"
        given = "..." if is_cut(site.dataset) else name
        yield Report(
            site.dataset,
            fitting(
                f"{with_workers(unasked)}memory grows by a copy of `{name}` ({value.kind.value}) in each worker",
                f"write `DataLoader({packed}({given}), ...)` {_SHOWN}",
                f"write `DataLoader({packed}(...), ...)` {_SHOWN}",
            ),
            notes=value.why[:3],
            severity=Severity.NOTE if unasked or not _is_of_records(value) else Severity.WARNING,
            why=UNASKED if unasked else "it is not seen to hold records",
            remedy=f"pass `{packed}({name})`: `torchleak explain TLK101` prints the class, to be pasted",
        )


def _is_of_records(value: Value) -> bool:
    """Whether the elements are containers of small objects."""
    element = value.element
    if value.kind is Kind.JSON or element is None:
        return value.kind is Kind.JSON
    parts = (*element.items, *(each for _, each in element.fields), *filter(None, [element.element]))
    return (element.is_container or element.kind is Kind.JSON) and not any(each.kind in _ARRAYS for each in parts)
