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
from flake8_torchleak.recorder.reach import leads_on, reach

DEPTH = 9
OBJECTS = 200_000
"""Objects that one walk looks at, at most."""


class Path:
    """One step of a path, and the path before it. text: `[17]`; pattern: `[*]`; holder: the object it starts from."""

    __slots__ = ("_alike", "before", "depth", "holder", "pattern", "text")

    def __init__(self, text: str, pattern: str, before: Path | None = None, holder: Any = None) -> None:
        self.text, self.pattern, self.before, self.holder = text, pattern, before, holder
        self.depth: int = before.depth + 1 if before is not None else 0
        self._alike: str | None = None

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
    def all_alike(self) -> str:
        """The path with its places in containers left out: `train.losses[*]`."""
        if self._alike is None:
            self._alike = self.before.all_alike + self.pattern if self.before is not None else self.pattern
        return self._alike

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
        self._hidden = {id(each) for each in hidden}
        self.complete = True

    def __iter__(self) -> Iterator[tuple[Path, Any]]:
        """Tensors, arrays and modules, each once, with the shortest path to it."""
        seen = self._hidden
        queue: deque[tuple[Path, Any]] = deque()
        # What was made for the walk alone (lists of items) must not be freed and leave its id to something else.
        for path, value in roots(self._innermost):
            queue.append((path, value))
        looked = 0
        while queue:
            path, value = queue.popleft()
            kind = type(value)
            if issubclass(kind, torch.Tensor):
                if id(value) not in seen:
                    seen.add(id(value))
                    yield path, value
                    if value.is_leaf and value.grad is not None and value.grad.requires_grad:
                        yield Path(".grad", ".grad", path, value), value.grad
                continue
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
                for text, pattern, each in look(value):
                    if leads_on(each) and id(each) not in seen:
                        queue.append((Path(text, pattern, path, value), each))
