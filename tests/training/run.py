"""Runs a program in this process, alone: its modules, its random numbers and torch's switches are its own.

A warm process runs a program in some milliseconds. What is recorded is what a fix must not change: what was printed,
the parameters and their gradients, the globals, the batches that loaders gave and the data behind them, the exception.
"""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import random
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module as modules
from torch.utils.data import DataLoader

from tests.training.program import ENTRY, Files
from tests.training.snapshot import is_data, plain

SECONDS = 5.0
"""CPU seconds that one program may take."""
MAIN = "__main__"

_HISTORY = re.compile(r",? (?:grad_fn=<[^>]*>|requires_grad=True)")
_ADDRESS = re.compile(r"0x[0-9a-f]+")


class TooLong(BaseException):
    """The program did not end in time; no `except Exception` of the program may catch it."""


@dataclass
class Outcome:
    """What a run did, as plain data: see `snapshot.plain`. error: the exception that ended it, empty if none did."""

    printed: list[str] = field(default_factory=list)
    parameters: list[Any] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)
    globals: Any = None
    samples: list[Any] = field(default_factory=list)
    stored: list[Any] = field(default_factory=list)
    error: str = ""

    def differs(self, other: Outcome) -> tuple[str, ...]:
        """The names of what is not the same."""
        return tuple(name for name in FIELDS if getattr(self, name) != getattr(other, name))


FIELDS = ("error", "parameters", "gradients", "printed", "samples", "stored", "globals")


def run(
    files: Files,
    during: AbstractContextManager[object] | None = None,
    on_batch: Callable[[Any, Any], None] = lambda batch, dataset: None,
) -> Outcome:
    """The outcome of a program.

    during: what is to be active while it runs (a recorder); on_batch: sees every batch, and its Dataset.
    """
    seen, out = _Seen(on_batch), Outcome()
    with alone(), _recording(seen), imports(files, out.printed) as finder, during or nullcontext():
        program: dict[str, Any] = {}
        try:
            code = compile(files[ENTRY], ENTRY, "exec")
            with limit(SECONDS):
                program = finder.run_entry(code)
        except TooLong:
            out.error = "TooLong"
        except Exception as error:
            out.error = f"{type(error).__name__}: {_ADDRESS.sub('0x', str(error))}"
            program = finder.entry.__dict__
        names = {each.removesuffix(".py").replace("/", ".") for each in files} | {MAIN}
        out.parameters = [plain(each) for each in seen.tensors()]
        out.gradients = [plain(each.grad) for each in seen.tensors()]
        out.samples = [plain(each, names) for each in seen.batches]
        out.stored = [plain(getattr(each, "__dict__", each), names) for each in seen.datasets]
        spaces = [program, *(vars(each) for each in finder.loaded.values())]
        out.globals = [
            {name: plain(value, names) for name, value in sorted(space.items()) if is_data(name, value)}
            for space in spaces
        ]
    return out


class _Seen:
    """What the run made: parameters and buffers in order, Datasets of loaders, batches."""

    def __init__(self, on_batch: Callable[[Any, Any], None]) -> None:
        self.on_batch = on_batch
        self._tensors: dict[int, torch.Tensor] = {}
        self.datasets: list[Any] = []
        self.batches: list[Any] = []

    def tensor(self, value: object) -> None:
        if isinstance(value, torch.Tensor):
            self._tensors.setdefault(id(value), value)

    def tensors(self) -> list[torch.Tensor]:
        return list(self._tensors.values())

    def dataset(self, value: Any) -> None:
        if all(each is not value for each in self.datasets):
            self.datasets.append(value)


@contextmanager
def _recording(seen: _Seen) -> Iterator[None]:
    """Notes parameters, optimizers' tensors, loaders' Datasets and batches. Loaders have no workers."""
    plain_iter, plain_init = DataLoader.__iter__, DataLoader.__init__
    plain_group = torch.optim.Optimizer.add_param_group

    def init(self: Any, *arguments: Any, **options: Any) -> None:
        arguments = (*arguments[:5], *([0] if len(arguments) > 5 else []), *arguments[6:])
        for name in ("num_workers", "persistent_workers", "prefetch_factor", "multiprocessing_context", "timeout"):
            options.pop(name, None)
        plain_init(self, *arguments, **options)
        seen.dataset(self.dataset)

    def iterate(self: Any) -> Iterator[Any]:
        for batch in plain_iter(self):
            seen.batches.append(plain(batch))
            seen.on_batch(batch, self.dataset)
            yield batch

    def group(self: Any, param_group: dict[str, Any]) -> None:
        plain_group(self, param_group)
        for each in self.param_groups[-1]["params"]:
            seen.tensor(each)

    hooks = [
        modules.register_module_parameter_registration_hook(lambda module, name, value: seen.tensor(value)),
        modules.register_module_buffer_registration_hook(lambda module, name, value: seen.tensor(value)),
    ]
    changed: list[tuple[Any, str, Any]] = [
        (DataLoader, "__init__", init),
        (DataLoader, "__iter__", iterate),
        (torch.optim.Optimizer, "add_param_group", group),
    ]
    before = [getattr(owner, name) for owner, name, _ in changed]
    for owner, name, new in changed:
        setattr(owner, name, new)
    try:
        yield
    finally:
        for (owner, name, _), old in zip(changed, before):
            setattr(owner, name, old)
        for hook in hooks:
            hook.remove()


def _compiled(path: str, text: str) -> CodeType:
    return compile(text, path, "exec")


Compiler = Callable[[str, str], CodeType]
"""From the path and text of a module."""


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the program's other files from their texts."""

    def __init__(self, files: Files, printed: list[str], compiled: Compiler = _compiled) -> None:
        self._compiled = compiled
        self._texts = {path.removesuffix(".py").replace("/", "."): (path, text) for path, text in files.items()}
        for name in [name for name in self._texts if name.endswith(".__init__")]:
            self._texts[name.removesuffix(".__init__")] = self._texts.pop(name)
        packages = {name.rpartition(".")[0] for name in self._texts if "." in name}
        for name in packages - set(self._texts):
            self._texts[name] = (f"{name}/__init__.py", "")
        self._packages = packages
        self.builtins = {**vars(builtins), "print": self._print}
        self._printed = printed
        self.loaded: dict[str, ModuleType] = {}
        self.entry = ModuleType(MAIN)

    def names(self) -> list[str]:
        return list(self._texts)

    @property
    def roots(self) -> set[str]:
        """The first parts of its modules' names."""
        return {MAIN, *(name.partition(".")[0] for name in self._texts)}

    @property
    def paths(self) -> set[str]:
        """The files, as their code objects name them."""
        return {ENTRY, *(path for path, _ in self._texts.values())}

    def _print(self, *values: object, sep: str = " ", end: str = "\n", **_: object) -> None:
        self._printed.append(_ADDRESS.sub("0x", _HISTORY.sub("", sep.join(map(str, values)) + end)))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._texts:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname in self._packages)

    def exec_module(self, module: ModuleType) -> None:
        path, text = self._texts[module.__name__]
        module.__dict__["__builtins__"] = self.builtins
        self.loaded[module.__name__] = module
        exec(self._compiled(path, text), module.__dict__)

    def run_entry(self, code: CodeType) -> dict[str, Any]:
        space = self.entry.__dict__
        space["__builtins__"] = self.builtins
        exec(code, space)
        return space


@contextmanager
def imports(files: Files, printed: list[str], compiled: Compiler = _compiled) -> Iterator[Finder]:
    """The program's modules can be imported, its entry is `__main__`, and nothing of it stays."""
    finder = Finder(files, printed, compiled)
    before = {name: sys.modules.pop(name) for name in finder.names() if name in sys.modules}
    main = sys.modules[MAIN]
    sys.modules[MAIN] = finder.entry
    sys.meta_path.insert(0, finder)
    try:
        yield finder
    finally:
        sys.meta_path.remove(finder)
        sys.modules[MAIN] = main
        for name in finder.names():
            sys.modules.pop(name, None)
        sys.modules.update(before)


@contextmanager
def alone() -> Iterator[None]:
    """Fixed seeds and torch's usual switches; what was before comes back."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    grad, threads, hook = torch.is_grad_enabled(), torch.get_num_threads(), threading.excepthook
    threading.excepthook = lambda error: None
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    torch.set_grad_enabled(True)
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        threading.excepthook = hook
        torch.set_num_threads(threads)
        torch.set_grad_enabled(grad)
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Ends what takes more CPU time: a loop that a fix made endless must not hold up the others."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before: Callable[..., Any] | int | None = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def warm() -> None:
    """Let torch import and compile what its first optimizer step needs (seconds), outside of any limit."""
    weight = torch.ones(1, requires_grad=True)
    torch.autograd.backward(weight.sum())
    optimizers: list[Any] = [torch.optim.LBFGS([weight]), torch.optim.Adam([weight])]
    for each in optimizers:
        each.step(lambda: weight.sum())
