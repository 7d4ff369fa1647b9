"""refcounted-state: a Dataset holds a list, dict or set that grows with the data and is read in every worker.

Leaks
-----
    class Photos(Dataset):
        def __init__(self, root):
            self.paths = sorted(glob.glob(root + "/*.jpg"))

        def __getitem__(self, i):
            return load(self.paths[i])

Instead
-------
    class Photos(Dataset):
        def __init__(self, root):
            self.paths = np.array(sorted(glob.glob(root + "/*.jpg")), dtype=np.bytes_)

        def __getitem__(self, i):
            return load(self.paths[i].decode())

Why
---
Under fork, workers share the parent's memory until a page is written. Reading a Python object writes its
reference count, so each worker ends up with its own copy of every element it touched: memory climbs through
the epoch and falls when the workers end. Under spawn and forkserver (the default from Python 3.14) the
container is pickled into every worker at start; only torch tensors are shared then. The growth is bounded:
one copy per worker. Python 3.12's immortal objects and `gc.freeze()` do not cure it.
Source: pytorch/pytorch#13246, the note in the `torch.utils.data` documentation.

Measured
--------
Private bytes per element and worker after an epoch, fork: list of 49-character str 114, dict of them by key
114, list of two-key dicts 216, list of lists of 11 ints 450; no less after gc.freeze() (113) or as an array of
dtype=object (114). Fixed (np.bytes_) 0, Arrow 1, a torch buffer 0, pickled records in one 0; asked only for
membership 5; ten lines, repeated, 1. A second epoch in the same workers adds nothing. Under spawn the list
costs 114, np.bytes_ 49, a torch buffer 0. A million such strings and 8 workers, by that: 0.9 GB.

Run by `fixtures/TLK101_refcounted_state/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- It is small: class names, vocabularies, transforms, literals.
- It is a list of few objects, each many times (`[x] * n`, `NAMES[i % 3]`), as are numbers that are bound in a loop
  around (the same label for all files of a folder) or counted up only for what was not met before.
- It has 10,000 elements at most by what the code counts (`range(100)`, `rows[:500]`, `n=1000` that no call changes), is
  a list of strings or numbers that every sample goes through as a whole, or a table of codes beside the one that leads
  back (`self.code[name] = n`, `self.name[n] = name`); or it has one number for each image of an array in memory.
- It is a list of strings or numbers that a program only evaluates with, from its start to its end: each worker reads
  its share, and all together copy it once.
- It is only counted, or only tested for membership.
- Its Dataset is only used without workers, or all who make it go through it themselves, without a loader.
- A program (a project that does not tell its readers to install it by its name: all files are in sight) has no workers
  for it: each loader that may get it has 0, as a constant, as the default of a parameter or an option, and in all
  settings, scripts and notebooks beside the code. Or the program makes loaders, and never makes an object of the class;
  or its samples read it only behind a flag of the Dataset that is off by default, and that nothing in the program sets.
- It is packed already: NumPy, torch, Arrow, a serialised buffer. (A note where samples read it only behind a flag of
  the Dataset that is off by default, where its elements are arrays, of which forked workers copy about 100 bytes each,
  where it is a parsed table of whole numbers, of which Python keeps one object up to 256, where it was unpickled, so
  that nobody sees what it holds, where no sample reads an element of its own or `__len__` counts something else, where
  the class is one for evaluation by its name, where all loaders of it are in files that only evaluate and go through it
  in order, so that the workers copy it once together, and where there are no workers unless an option asks for them.)

How to fix it
-------------
By hand, by what the elements are:

- Numbers: a torch tensor, or `np.array`.
- File names: `np.array([s.encode() for s in ...])`, whose dtype is `np.bytes_`, and `.decode()` at the read, or Arrow.
  Never `dtype=object`. (`np.array(..., dtype=np.bytes_)` alone fails for what is not ASCII.)
- Texts, whose lengths differ (an array has room for the longest in each row), and records: the class `PackedRecords`
  below, a list that is only read, which pickles its elements into one tensor; for a dict, `PackedDict`. Or keep an
  index only, and read each record from a file.
- A parsed dict with a few named entries, one of which holds the rows: pack that entry alone,
  `self.info["images"] = PackedRecords(self.info["images"])`; packed whole, each read would unpickle all rows.
- A dict of long lists, one for each field: `{name: PackedRecords(rows) for name, rows in fields.items()}`.
- A list that grows between epochs: a `PackedRecords` of it, made anew before each epoch.
- The index of a COCO file: `PackedDict({i: coco.imgToAnns[i] for i in coco.imgs})`, and do not keep the index itself.
  A class that derives from torchvision's `CocoDetection` reads them in its own `_load_image` and `_load_target`.

Both classes, to be pasted; `PackedDict` needs keys of one type, all texts or all numbers:

    import pickle
    from collections.abc import Mapping

    import numpy as np
    import torch
    from torch.utils.data import Dataset

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

    class PackedDict(Mapping):
        def __init__(self, records):
            self.names = np.array(list(records))  # in their order
            self.sorter = np.argsort(self.names)
            self.records = PackedRecords(list(records.values()))

        def __len__(self):
            return len(self.names)

        def __iter__(self):
            return iter(self.names.tolist())

        def __getitem__(self, name):
            at = int(np.searchsorted(self.names, name, sorter=self.sorter))
            if at == len(self.names) or self.names[self.sorter[at]] != name:
                raise KeyError(name)
            return self.records[int(self.sorter[at])]

Unsafe, for a list whose elements are provably all str, all int or all float, which is bound once and only subscripted,
counted and iterated: an array after the last assignment, and `.decode()` or `.item()` at each read, so that each read
gives what it gave before. What other files do with the attribute is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.containers import Container, containers
from flake8_torchleak.model.held import held
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.packing import NotPackable, packing
from flake8_torchleak.model.worth import is_read_once, may_be_warned_of, why_little
from flake8_torchleak.remedies import advice, copied, is_of_arrays, remedy
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import with_workers


@rule(
    "TLK101",
    "refcounted-state",
    fix=FixLevel.HINT,
    also=FixLevel.UNSAFE,
    severity=Severity.WARNING,
    subject=Subject.DATASET,
)
def check(module: Module) -> Iterator[Report]:
    found = containers(
        module,
        lambda dataset: module.notes or may_be_warned_of(module, dataset),
        lambda each: module.notes or not why_little(module, each),
    )
    for each in found:
        if each.known and not is_read_once(module, each):
            used, arrays = held(module, each), each.arrays and not is_of_arrays(each.value)
            why = why_little(module, each)
            happens = with_workers(module.served.has_none_by_default(each.dataset.owner))
            yield Report(
                each.place,
                f"{happens}{copied(each.name, each.value, arrays)}; {remedy(each.value, used, arrays)}",
                notes=each.notes,
                severity=Severity.NOTE if why else Severity.WARNING,
                target=each,
                why=why,
                remedy=advice(each.name, each.value, used, arrays),
            )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """An array in the place of a list of strings or numbers that is only subscripted, counted and gone through."""
    container = report.target
    assert isinstance(container, Container)
    if container.dataset is not container.dataset.owner:
        raise Unfixable(f"`{container.dataset.name}` may be used without a Dataset, too")
    try:
        packed = packing(build.module, container)
    except NotPackable as reason:
        raise Unfixable(str(reason)) from reason
    numpy, imported = build.reference("numpy", packed.statement)
    # What is read stays what it was: `.decode()` gives the str, `.item()` the Python number; np.str_ is a str.
    before, after, read = f"{numpy}.array(", ")", "item"
    if packed.iterated:
        after, read = f", dtype={numpy}.str_)", ""
    elif packed.element is str:
        before, after, read = f"{before}[each.encode() for each in ", f"], dtype={numpy}.bytes_)", "decode"
    if packed.value is not None:
        packs = build.wrapped(packed.value, before, after)
    else:
        packs = build.after(packed.statement, f"{container.name} = {before}{container.name}{after}")
    reads = tuple(edit for each in packed.reads for edit in build.method(each, read)) if read else ()
    yield Fix(FixLevel.UNSAFE, f"store `{container.name}` as an array", (*imported, *packs, *reads))
