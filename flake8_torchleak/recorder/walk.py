"""Who holds what: a walk from the names of a program (locals of running functions, globals of its modules) to tensors.

The walk is by breadth, so the shortest path is the one that is told, and goes nine steps far at most.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

import torch

from flake8_torchleak.recorder import frames
from flake8_torchleak.recorder.fields import leads_on
from flake8_torchleak.recorder.reach import reach

DEPTH = 9
OBJECTS = 200_000
"""Objects that one walk looks at, at most."""


class Path:
    """One step of a path, and the path before it.

    text: `[17]`; all_alike: the whole path with its places in containers left out, `train.losses[*]`; holder: the
    object that the step starts from.
    """

    __slots__ = ("all_alike", "before", "depth", "holder", "text")

    def __init__(self, text: str, all_alike: str, before: Path | None = None, holder: Any = None) -> None:
        self.text, self.all_alike, self.before, self.holder = text, all_alike, before, holder
        self.depth: int = before.depth + 1 if before is not None else 0

    def _steps(self) -> list[Path]:
        steps: list[Path] = []
        each: Path | None = self
        while each is not None:
            steps.append(each)
            each = each.before
        return steps[::-1]

    def __str__(self) -> str:
        return "".join(each.text for each in self._steps())

    @property
    def bound(self) -> str:
        """Why what is held here cannot grow for ever: a deque with a largest length; empty if nothing says so."""
        for each in self._steps():
            if isinstance(each.holder, deque) and each.holder.maxlen is not None:
                return f"a deque of at most {each.holder.maxlen}"
        return ""


def roots(innermost: FrameType | None) -> Iterator[tuple[Path, Any]]:
    """The names from which a program can reach anything: globals first, then locals from the outermost function in.

    Globals are those of first-party modules and of first-party code on the stack (which may be in no module).
    """
    running = frames.stack(innermost)
    spaces: dict[int, tuple[str, dict[str, Any]]] = {}
    for name, names in own_modules():
        spaces[id(names)] = ("" if name == "__main__" else f"{name}.", names)
    for frame in running:
        if frames.owner(frame.f_code) == frames.OWN:
            spaces.setdefault(id(frame.f_globals), ("", frame.f_globals))
    for prefix, names in spaces.values():
        for name, value in list(names.items()):
            if not name.startswith("__"):
                yield Path(prefix + name, prefix + name), value
    for frame in running:
        function = frames.name_of(frame.f_code)
        for name, value in frames.local_values(frame):
            yield Path(f"{function}.{name}", f"{function}.{name}"), value
    yield Path("logging.root", "logging.root"), logging.root


_modules: tuple[int, list[tuple[str, dict[str, Any]]]] = (0, [])


def own_modules() -> list[tuple[str, dict[str, Any]]]:
    """First-party modules and their globals; looked for anew when modules were imported."""
    global _modules
    if _modules[0] != len(sys.modules):
        spaces = [(name, module.__dict__) for name, module in list(sys.modules.items()) if type(module) is ModuleType]
        own = [(name, names) for name, names in spaces if _is_own(names)]
        _modules = len(sys.modules), own
    return _modules[1]


def _is_own(names: dict[str, Any]) -> bool:
    file = names.get("__file__")
    return isinstance(file, str) and frames.owner_of_file(file) == frames.OWN


class Walk:
    """Everything that can be reached. complete: whether all objects were looked at.

    hidden: objects that are not looked into: the recorder's own.
    """

    def __init__(self, innermost: FrameType | None, hidden: tuple[Any, ...] = ()) -> None:
        self._innermost = innermost
        self._seen = {id(each) for each in hidden}
        self.complete = True

    def __iter__(self) -> Iterator[tuple[Path, Any]]:
        """Tensors, arrays and modules, each once, with the shortest path to it."""
        seen = self._seen
        queue: deque[tuple[Path, Any]] = deque()
        # What was made for the walk alone (lists of items) must not be freed and leave its id to something else.
        for path, value in roots(self._innermost):
            if isinstance(value, torch.Tensor):
                yield from self._tensor(path, value)
            else:
                queue.append((path, value))
        looked = 0
        while queue:
            path, value = queue.popleft()
            kind = type(value)
            look = reach(kind)
            if look is None:
                if kind.__module__ == "numpy" and id(value) not in seen:
                    seen.add(id(value))
                    yield path, value
                continue
            if id(value) in seen:
                continue
            seen.add(id(value))
            looked += 1
            if looked > OBJECTS:
                self.complete = False
                return
            if issubclass(kind, torch.nn.Module):
                yield path, value
            if path.depth < DEPTH:
                last, alike = "", path.all_alike
                for text, pattern, each in look(value):
                    if id(each) in seen:
                        continue
                    if pattern is not last:  # all elements of a list have the same
                        last, alike = pattern, path.all_alike + pattern
                    if issubclass(type(each), torch.Tensor):
                        # As `_tensor`, but without a call: a leak has thousands.
                        seen.add(id(each))
                        here = Path(text, alike, path, value)
                        yield here, each
                        if each.is_leaf and each.grad is not None and each.grad.requires_grad:
                            yield _gradient(here, each)
                    elif leads_on(each):
                        queue.append((Path(text, alike, path, value), each))

    def _tensor(self, path: Path, value: torch.Tensor) -> Iterator[tuple[Path, Any]]:
        """A tensor, told where it is met: by breadth, no other way to it is shorter."""
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        yield path, value
        if value.is_leaf and value.grad is not None and value.grad.requires_grad:
            yield _gradient(path, value)


def _gradient(path: Path, value: torch.Tensor) -> tuple[Path, Any]:
    return Path(".grad", f"{path.all_alike}.grad", path, value), value.grad
