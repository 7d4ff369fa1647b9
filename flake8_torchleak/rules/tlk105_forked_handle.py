"""forked-handle: a file, archive or database is opened before the workers start and then used by all of them.

Leaks
-----
    class Frames(Dataset):
        def __init__(self, path):
            self.archive = zipfile.ZipFile(path)

        def __getitem__(self, i):
            return decode(self.archive.read(f"{i}.png"))

Instead
-------
    class Frames(Dataset):
        def __init__(self, path):
            self.path, self.archive = path, None

        def __getitem__(self, i):
            if self.archive is None:
                self.archive = zipfile.ZipFile(self.path)
            return decode(self.archive.read(f"{i}.png"))

Why
---
Forked workers share the parent's open file, its position and its locks: one worker's seek moves the position under
another's read. Spawned and forkserver workers (the default from Python 3.14) cannot be handed it at all:
"cannot pickle", when the loader starts. HDF5 files are read at each part's own place: forked workers share no position
there, and read them rightly. OpenSlide opens a slide anew for each read: none of 9,000 reads in six forked workers was
wrong (OpenSlide 4.0.1, a tiled TIFF). LMDB and h5py say in their documentation not to use a handle across a fork.

The same holds for objects that the Dataset holds and its samples use, a reader, a backend, a step of a pipeline: their
methods are looked at like its own. Four workers, 20,000 reads of a plain file: 11 wrong where such an object opens it
when it is made, 1 where `__init__` of the Dataset asks the object once, none where workers open it.

Opening on first use is no remedy where the first use is in the main process: samplers ask for the length before the
workers start, and what `__init__` looks up may open the file for good. What methods of the class open and close again
is followed in order.

The same holds for what is opened at the top of the module or of the class, and for what the Dataset is handed open.
Workers that are not forked import the module anew, and open the former for themselves. Two forked workers, 2,000 reads
of an archive: 30 fail or are wrong where it is opened at the top of the module, 17 at the top of the class, 25 where it
is handed over; spawned, none, none, and "cannot pickle" (torch 2.13.0+cpu).

Measured
--------
Two forked workers, 12,000 reads of a zip archive: 2215 fail when it is opened in `__init__`, 0 when it is
opened in the worker. An open ZipFile cannot be pickled for spawned workers.

By hand, in the same setting: of a plain file 39 reads in 12,000 were wrong without a word; of compressed chunks
of an HDF5 file none. h5py files, files and sqlite3 connections cannot be pickled either.

Run by `fixtures/TLK105_forked_handle/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
It is closed, or set to None, before `__init__` or `__len__` ends, is read into memory there, is opened again in a
sample method or a worker_init_fn, is not used for samples, the class asks which process it is in (`os.getpid()`), or
the Dataset is only used without workers, or the program has none for it, in all of its files, settings and scripts, or
never makes it.

How to fix it
-------------
By hand: open it on first use, in the worker, as above. What else is read from it, such as the length, is stored in
`__init__`, before the file is closed there and the attribute set to None. What is read as a stream is opened in
`__iter__`. So that the Dataset can also be sent to spawned workers, leave
the open file out:

    def __getstate__(self):
        return {**self.__dict__, "archive": None}

What forked workers read rightly is a note, as only workers that are started in another way fail: an HDF5 file opened to
be read, a slide, and an LMDB environment opened with `lock=False` that is only read (`readonly=True`, or no transaction
of the class writes). It is an error where the program asks for such workers (`set_start_method("spawn")`,
`multiprocessing_context="forkserver"`), and silent where the class has a `__getstate__`. For other handles a class that
has one is silent where a program of the project asks for spawned workers, and an early opening there is a note.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.dataset import DatasetFacts
from flake8_torchleak.model.early import Early, early
from flake8_torchleak.model.handles import Shared, is_only_read, shared
from flake8_torchleak.model.holdings import Holding
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.opening import Handle
from flake8_torchleak.model.starting import are_spawned, may_be_spawned
from flake8_torchleak.model.state import StateFacts
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import fitting


@rule(
    "TLK105",
    "forked-handle",
    fix=FixLevel.HINT,
    severity=Severity.ERROR,
    subject=Subject.DATASET,
)
def check(module: Module) -> Iterator[Report]:
    for each in shared(module):
        told = _told(module, each.dataset, each.handle, each.at_import)
        if told is None or module.reach.is_out(each.dataset.owner):
            continue
        severity, fails = told
        yield Report(
            each.dataset.place(each.place, each.read.function),
            f"{fails.format(f'`{_name(each)}` ({each.handle.what})')}; {_closed(module, each)}",
            severity=severity,
            why=_READ_ONLY,
            notes=(
                (each.handle.call, f"opens the {each.handle.what} once, in the main process"),
                *each.dataset.chain(each.read.function),
                (each.read.node, f"used for every sample in `{each.read.function.name}`"),
            ),
            remedy=(
                f"set `{_name(each)} = None` in `{_built(each)}` and open it in `{each.read.function.name}` when it is "
                "None; read what "
                f"`{_built(each)}` needs in a `with` block (the code is in `torchleak explain TLK105`)"
                if not (each.at_import or each.is_handed)
                else f"open it in `{each.read.function.name}` on first use, and keep it in an attribute that is None "
                "before (the code is in `torchleak explain TLK105`)"
            ),
        )
    for first in early(module):
        only_read, sent = is_only_read(module, first.dataset, first.handle), _says_how_it_is_sent(first.dataset)
        if sent and (only_read or may_be_spawned(module)):
            continue  # forked workers read it, and spawned ones open it
        if module.reach.is_out(first.dataset.owner):
            continue
        entry = (
            f"{first.dataset.owner.name}.{first.entry.name}" if isinstance(first.dataset, Holding) else first.entry.name
        )
        opens = f"`{entry}` opens `{_name(first)}` ({first.handle.what})"
        kept = _ONLY_FORKED.format(f"`{_name(first)}` ({first.handle.what}), which `{entry}` opens,")
        yield Report(
            first.dataset.place(first.place, first.function),
            fitting(kept if only_read else f"workers fail or read wrong data: {opens}", *_ended(module, first)),
            notes=(
                (first.handle.call, f"opens the {first.handle.what}"),
                (first.call, f"`{entry}` runs this before the workers start"),
            ),
            severity=Severity.NOTE if sent or (only_read and not are_spawned(module)) else Severity.WARNING,
            why=_SENT if sent else _READ_ONLY,
            remedy=f"read what `{entry}` needs in a `with` block, and "
            + (f"do not ask for `{_name(first)}` there" if first.is_property else f"leave `{_name(first)}` None there"),
        )


_READ_ONLY = "it is only read, which forked workers do without harm; spawned ones cannot get it"
_SENT = "the class says how it is sent to workers"


def _told(
    module: Module, dataset: DatasetFacts, handle: Handle, at_import: bool = False
) -> tuple[Severity, str] | None:
    """How much it matters, and what happens: forked workers share the position, all others cannot be sent it.

    at_import: whether those open it anew.
    """
    only_read, sent = is_only_read(module, dataset, handle), _says_how_it_is_sent(dataset)
    if at_import:
        return None if only_read or may_be_spawned(module) else (Severity.WARNING, _ALL_SHARE)
    if sent and (only_read or may_be_spawned(module)):
        return None
    if not sent and are_spawned(module):
        return Severity.ERROR, "workers fail to start: {} cannot be pickled"
    if only_read:
        return Severity.NOTE, _ONLY_FORKED
    return Severity.ERROR, _ALL_SHARE


def _name(each: Shared | Early) -> str:
    """A handle as the reader of this file knows it."""
    dataset = each.dataset
    elsewhere = dataset.name if isinstance(each, Early) and isinstance(dataset, Holding) else dataset.elsewhere
    return f"{elsewhere}.{each.name.removeprefix('self.')}" if elsewhere else each.name


def _built(each: Shared) -> str:
    return f"{each.dataset.elsewhere}.__init__".removeprefix(".")


_ALL_SHARE = "workers fail or read wrong data: all share {}"
_ONLY_FORKED = "spawned workers fail: {} cannot be pickled"
"""What is read rightly by forked workers: all others are sent the Dataset, by default from Python 3.14."""
_MANY = frozenset({Kind.LIST, Kind.TUPLE, Kind.DICT})


def _closed(module: Module, each: Shared) -> str:
    """When to close it: after the length was read, where that is asked of it; videos have no common method for that.

    A stream that is read from its start to its end is opened whenever it is gone over.
    """
    video, reader, opened = each.handle.what == "video", each.read.function.name, _bound(module, each.handle)
    if each.at_import or each.is_handed:
        return f"open it in `{reader}`, on first use"
    apart = bool(opened) and opened != each.name
    several = isinstance(each.place, ast.Call) or StateFacts(module, each.dataset, each.name[5:]).value.kind in _MANY
    built = _built(each)
    steps = [] if video else [f"close `{opened}`" if apart else "close each" if several else "close it"]
    length = each.dataset.facts.methods.get("__len__")
    if length is not None and each.name.removeprefix("self.") in module.classes.self_uses(length):
        steps.insert(0, f"store {'its' if video else 'the'} length")
    if reader == "__iter__":
        return f"in `{built}` {' and '.join(steps) or 'do not open it'}; open it in `__iter__`"
    if apart and opened.startswith("self."):
        return f"in `{built}` {', '.join([*steps, 'set both None'])}; reopen both in `{reader}`"
    if apart:
        return f"in `{built}` {', '.join([*steps, f'set `{each.name}` None'])}; reopen in `{reader}`"
    return f"in `{built}` {', '.join([*steps, 'set it None'])}; if None reopen it in `{reader}`"


def _bound(module: Module, handle: Handle) -> str:
    """The variable or attribute that what is opened gets first; "" if none."""
    parent = module.tree.parents[handle.call]
    return key_of(parent.targets[0]) if isinstance(parent, ast.Assign) else ""


def _ended(module: Module, first: Early) -> Iterator[str]:
    """What closes it, if it is the very object that was opened; the length is asked of it before.

    Sample functions open it again where it is None, as this rule asks: who does that is said, where there is room.
    """
    if isinstance(first.dataset, Holding):
        yield f"before it returns, close it and set `{_name(first)}` None"
        return
    is_own = first.is_property or _bound(module, first.handle) == first.name
    closed = f"{first.name}.close(); " if is_own and first.handle.what != "video" else ""
    opens, last = first.function, first.entry.body[-1]
    again = f"`{opens.name}` reopens" if opens is not first.entry else "the next read reopens"
    code = f"{closed}del {first.name}" if first.is_property else f"{closed}{first.name} = None"
    if first.entry.name == "__len__" and isinstance(last, ast.Return) and last.value is not None:
        code = f"n = {ast.unparse(last.value)}; {code}; return n"
    yield from (f"end it by `{code}`{each}" for each in (f", {again} it", f", {again}", ""))
    yield f"before it returns, {f'`del {first.name}`' if first.is_property else f'set `{first.name} = None`'}"


def _says_how_it_is_sent(dataset: DatasetFacts) -> bool:
    """Whether the Dataset says how it is sent to workers that are spawned."""
    return not {"__getstate__", "__reduce__"}.isdisjoint(dataset.facts.methods)
