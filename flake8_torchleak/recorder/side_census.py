"""What piles up beside the graph: hooks that are registered again and again, figures that stay open."""

from __future__ import annotations

import sys
from typing import Any

import torch

from flake8_torchleak.recorder import frames
from flake8_torchleak.recorder.measure import Age, Key, Measure
from flake8_torchleak.recorder.result import Site
from flake8_torchleak.recorder.walk import Path

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class HookCollector:
    """Counts the hooks on all modules, by the function that they call."""

    wants = "modules"

    def __init__(self) -> None:
        self._found: dict[Key, Measure] = {}

    def see(self, path: Path, value: Any) -> None:
        if not isinstance(value, torch.nn.Module):
            return
        names = value.__dict__
        for name in _HOOKS:
            hooks = names.get(name)
            for hook in list(hooks.values()) if hooks else ():
                code = getattr(getattr(hook, "__func__", hook), "__code__", None)
                called = frames.name_of(code) if code is not None else type(hook).__name__
                measure = self._found.setdefault(("hook", f"{called} in {name}"), Measure())
                measure.value += 1
                measure.holder = str(path)
                if code is not None:
                    measure.made[Site(code.co_filename, code.co_firstlineno, called)] += 1

    def close(self, age: Age) -> dict[Key, Measure]:
        found, self._found = self._found, {}
        return found


class FigureCollector:
    """Counts the figures that pyplot keeps, if the program uses it."""

    wants = ""

    def see(self, path: Path, value: Any) -> None:
        pass

    def close(self, age: Age) -> dict[Key, Measure]:
        pyplot = sys.modules.get("matplotlib.pyplot")
        count = len(pyplot.get_fignums()) if pyplot is not None else 0
        name = "matplotlib.pyplot"
        return {("figure", name): Measure(value=count, holder=name)} if count else {}
