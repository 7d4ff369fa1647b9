"""growing-worker-cache: a cache or list gains an entry for every sample, in every worker, and never loses one.

Leaks
-----
    class Scans(Dataset):
        def __init__(self, paths):
            self.paths = paths
            self.cache = {}

        def __getitem__(self, i):
            if i not in self.cache:
                self.cache[i] = load(self.paths[i])
            return self.cache[i]

Instead
-------
    class Scans(Dataset):
        def __init__(self, paths):
            self.scans = torch.stack([load(path) for path in paths])  # once, before workers start

        def __getitem__(self, i):
            return self.scans[i].clone()

Why
---
Each worker fills a cache of its own; the main process's stays empty. All workers together hold as many copies as there
are workers, and by default they end with the epoch: the cache is never hit a second time and memory saws up and down.
With persistent_workers it is kept for the run. `lru_cache(maxsize=None)` and `functools.cache` on a method do the same,
and hold the Dataset itself besides. So does an object that the Dataset holds and its samples use: a reader with a
cache, a step of a pipeline; and a base class or a function of another file, which is told where this file leads there
if its own does not show that samples run it. A memoized function that opens files keeps each of them open: of 3,000 a
worker that may have 1,024 fails ("Too many open files"), and with a bound of 128 none does.

Measured
--------
Volumes of 62 KB, 98 MB in all, two forked workers with persistent_workers, private memory gained by each worker
after epoch 1, 2 and 3: dict by index 45, 70, 83 MB; bounded by 16 entries 0, 0, 1 MB. Without
persistent_workers 43, 50, 48 MB, gone after each epoch. The main process's dict has 0 entries at the end.

Tracks of 20 KB, 40 MB in all, read and made into samples by functions with `lru_cache(maxsize=None)`: 65 MB per
worker after three epochs; with the bound of 128 5 MB.

Run by `fixtures/TLK104_growing_worker_cache/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu,
Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- Entries are removed again, or the length is capped.
- The container is shared (a Manager's), or of unknown type.
- Keys are not per sample, or few by construction (`i % 8`, a truth value, an entry of a small table).
- Entries of a dict are handles that are opened on first use.
- The Dataset is only used without workers, or the program has none for it, in all of its files, settings and scripts,
  or never makes it.

A note, where it is filled only for who asks for that by an argument that is off by default, where the constructor, or a
method that something calls and no sample runs, fills it in a loop by the same function, where the program bounds it by
a number that holds most of a Dataset, where no file of the project speaks of workers; and for memoized functions that
open files: how many there are is not in sight.

How to fix it
-------------
By hand: bound it (`if len(self.cache) >= 1000: self.cache.pop(next(iter(self.cache)))` before a dict gets an entry; of
a list `del self.seen[:-1000]` keeps the newest), do without it (where workers end with the epoch
it is hardly ever hit), or fill it before the workers start, in one tensor: a list or dict that is filled there is
copied into each worker again (TLK101). Unsafe, for `lru_cache(maxsize=None)`: a bound of 128, which keeps memory flat
and loses the hits beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.caches import Growing, growing
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.memos import Memo, memos
from flake8_torchleak.model.module import Module
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import fitting


@rule(
    "TLK104",
    "growing-worker-cache",
    fix=FixLevel.HINT,
    also=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.DATASET,
)
def check(module: Module) -> Iterator[Report]:
    for each in growing(module):
        if module.reach.is_out(each.dataset.owner):
            continue
        what = "gains an entry per sample" if each.keyed else "grows with every sample"
        place, where = each.dataset.place(each.place, each.function), _where(module, each)
        yield Report(
            place,
            fitting(f"memory grows in every worker: `{_name(each)}` ({each.kind}) {what}", *_limit(each, where)),
            notes=(
                *(((each.place, "an entry is added here"),) if where else ()),
                (each.bound, "made here, then copied into every worker"),
                *each.dataset.chain(each.function),
            ),
            remedy=(
                f"drop the oldest entry of `{_name(each)}` when it is full; or do without it, as by default workers "
                "end with the epoch, and it with them; or make one tensor of it in `__init__`, which all workers share"
            ),
            severity=Severity.NOTE if (why := _why_little(module, each)) else Severity.ERROR,
            why=why,
        )
    for memo in memos(module):
        if module.reach.is_out(memo.dataset.owner):
            continue
        name = memo.function.name
        grows = f"memory grows in every worker: `{name}` caches its result for every sample"
        piles = f"files stay open: in each worker `{name}` keeps every {memo.opens} that it was ever asked for"
        yield Report(
            memo.dataset.place(memo.decorator, memo.function),
            f"{piles if memo.opens else grows}; use `@lru_cache(maxsize=128)`",
            severity=Severity.NOTE if memo.opens or _has_none(module, memo.dataset) else Severity.ERROR,
            why="how many files it is asked for is not seen" if memo.opens else _NO_WORKERS,
            notes=tuple(memo.dataset.chain(memo.function)),
            target=memo,
            remedy=f"`@lru_cache(maxsize=128)` on `{name}`, or compute its results once in `__init__`, into one tensor",
        )


_CHOSEN = "it is filled only where an argument asks for it"
_FILLED = "a method fills it in a loop: if that is before the workers start, they find there what they look for"
_LIMITED = "the program bounds it, by a number that holds most of a Dataset"
_NO_WORKERS = "no loader in sight that gets it has workers"


def _why_little(module: Module, growing: Growing) -> str:
    """Why it is a note that a container grows; "" if it is more."""
    if growing.chosen:
        return _CHOSEN
    if growing.filled:
        return _FILLED
    if growing.limited:
        return _LIMITED
    return _NO_WORKERS if _has_none(module, growing.dataset) else ""


def _has_none(module: Module, dataset: DatasetFacts) -> bool:
    """Whether the project makes the Dataset and shows no workers for it, or speaks of workers nowhere."""
    served = module.served
    if served.has_none_by_default(dataset.owner) or served.has_none_in_sight(dataset.owner):
        return True
    return module.config.assume_workers != "yes" and served.speaks_of_no_workers


def _name(growing: Growing) -> str:
    """A container as the reader of this file knows it."""
    elsewhere = growing.dataset.elsewhere
    return f"{elsewhere}.{growing.name.removeprefix('self.')}" if elsewhere else growing.name


def _where(module: Module, growing: Growing) -> str:
    """The class of another file that adds to it; "" for one of this file."""
    owner = module.classes.around(growing.function)
    there = owner is not None and not module.tree.is_own(growing.place)
    return owner.node.name if owner is not None and there else growing.dataset.elsewhere


def _limit(growing: Growing, where: str) -> tuple[str, ...]:
    """What a reader may write: a list's oldest entries can go only where nobody counts on their numbers.

    where: the class of another file that adds to it, if one does.
    """
    name = growing.name
    if where:
        return (f"limit its size in `{where}`: drop the oldest entry when it is full",)
    if growing.kind == "list" and growing.keyed:
        return ("do without it, and make each entry anew",)
    if growing.kind == "list":
        return (f"keep the newest 1000: after it, `del {name}[:-1000]`", "keep the newest 1000 entries only")
    if growing.kind == "dict":
        return (
            f"before it, `if len({name}) >= 1000: {name}.pop(next(iter({name})))`",
            "before it, `if len(d) >= 1000: d.pop(next(iter(d)))` (d: this dict)",
            "limit its size: drop the oldest entry when it is full",
        )
    if growing.kind == "deque":
        return ("make it with `maxlen=1000`",)
    return ("limit its size: drop the oldest entry when it is full",)


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """A bound in the place of `maxsize=None`."""
    if not isinstance(report.target, Memo) or report.target.limit is None:
        raise Unfixable("the source does not say what to keep, and how much of it")
    yield Fix(FixLevel.UNSAFE, "limit the cache to 128 results", build.replaced(report.target.limit, "128"))
