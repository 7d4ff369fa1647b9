"""A second measure of what a program retains, by other means than the census, for checking labels.

**Planted weak references.** The text of the program is changed: around every value that a step makes and keeps stands
`__plant__(...)`. It hangs a fresh object on each tensor with history, by `Tensor.register_hook`: the autograd node holds
it, so that it lives as long as the node, and a plain weak reference tells whether it does. At the end of the run (before
the program's names go) and at each step, the references that are alive are counted. When backward runs through such
a node the hook is called: what is called two steps late was needed.

**Open descriptors.** Tensors in shared memory hold a descriptor each: `/proc/self/fd` is counted at each step.

**tracemalloc and torch's own memory.** For views: bytes of NumPy's arrays by `tracemalloc`, at each step.
"""

from __future__ import annotations

import ast
import gc
import os
import tracemalloc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import torch

from tests.training.program import ENTRY
from tests.training.run import TooLong, alone, imports, limit
from tests.truth.case import STEP, Case
from tests.truth.census import BATCH, GRAPH, LOADED, SECONDS, VIEW, inside, shared_loaders
from tests.truth.ticking import Ticking


class _Token:
    """What a node's hook holds: called when gradients go through it."""

    __slots__ = ("__weakref__", "called", "step", "world")

    def __init__(self, world: _World, step: int) -> None:
        self.world, self.step, self.called = world, step, False

    def __call__(self, gradient: torch.Tensor) -> None:
        if not self.called and self.step <= self.world.step - 2:
            self.world.late += 1
        self.called = True


@dataclass
class _World:
    """step: which one runs; alive: old tokens at each step; files: open descriptors; memory: bytes of Python's."""

    step: int = 0
    late: int = 0
    tokens: list[weakref.ref[_Token]] = field(default_factory=list)
    alive: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def tick(self) -> None:
        self.step += 1
        self.tokens = [each for each in self.tokens if each() is not None]
        found = [each() for each in self.tokens]
        self.alive.append(sum(each is not None and each.step <= self.step - 2 for each in found))
        del found
        self.files.append(len(os.listdir("/proc/self/fd")))
        self.memory.append(tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0)

    def plant(self, value: Any) -> Any:
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, torch.Tensor) and each.requires_grad and not each.is_leaf:
                token = _Token(self, self.step)
                self.tokens.append(weakref.ref(token))
                each.register_hook(token)
        return value


class _Planting(ast.NodeTransformer):
    """Every value that an assignment binds, every argument of a statement's call, every returned value is planted."""

    def _planted(self, value: ast.expr) -> ast.expr:
        call = ast.Call(ast.Name("__plant__", ast.Load()), [value], [])
        return ast.fix_missing_locations(ast.copy_location(call, value))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        node.value = self._planted(node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        node.value = self._planted(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._planted(node.value)
        return node


def planted(case: Case) -> Callable[[str, str], CodeType]:
    """What compiles the program's files, with values planted and steps told."""

    def compiled(path: str, text: str) -> CodeType:
        lines = {line for file, line in case.marks[STEP] if file == path}
        tree = _Planting().visit(Ticking(lines).visit(ast.parse(text, path)))
        return compile(tree, path, "exec")

    return compiled


def measured(case: Case) -> set[str]:
    """What the program retains by this measure: of graph, batch and view, those that grow."""
    world = _World()
    compiled = planted(case)
    with inside(), alone(), imports(case.files, [], compiled) as finder, shared_loaders():
        finder.builtins.update(__tick__=world.tick, __plant__=world.plant, __ticked__=lambda items: _ticked(world, items))
        gc.collect()
        tracemalloc.start(1)
        try:
            with limit(4 * SECONDS):
                finder.run_entry(compiled(ENTRY, case.files[ENTRY]))
        except (TooLong, Exception):
            return {"error"}
        finally:
            tracemalloc.stop()
    found = set()
    if grows(world.alive) and world.late < 3:
        found.add(GRAPH)
    if grows(world.files):
        found.add(BATCH)
    if grows([each // LARGE for each in world.memory]):
        found.add(VIEW)
    return found


LARGE = 16 * 1024
"""Bytes that count as one kept array: images have twice as many."""


def _ticked(world: _World, items: Any) -> Any:
    for each in items:
        world.tick()
        yield each


def grows(counts: list[int]) -> bool:
    """Whether there is a run of ten steps, after the first two, over which it rose in five at least and never fell."""
    for start in range(2, len(counts) - 9):
        part = counts[start : start + 10]
        rises = [after - before for before, after in zip(part, part[1:])]
        if min(rises) >= 0 and sum(each > 0 for each in rises) >= 5:
            return True
    return False


COMPARED = {GRAPH, BATCH, VIEW}
"""What this measure can tell. LOADED goes with BATCH where there are workers."""
__all__ = ["COMPARED", "LOADED", "grows", "measured"]
