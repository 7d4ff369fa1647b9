"""Sample functions that remember: memoized without a bound, by something that is another for each sample."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.model.attributes import is_property
from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.dataset import Asked, DatasetFacts
from flake8_torchleak.model.env import NO_ENV
from flake8_torchleak.model.few import narrowed
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.opening import opened
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode
from flake8_torchleak.model.values import Kind, Size

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_BY_NAME = frozenset({"memoize", "memoized"})
"""What decorators without a bound are called, whoever wrote them."""
_UNBOUNDED = frozenset({"functools.cache", "cachetools.func.cache"})
_SHARED_PARTS = frozenset({"device", "dtype", "shape", "ndim", "suffix", "mode", "size"})
"""What all samples have alike."""
_MOST_STEPS = 100
_SMALL = frozenset({Kind.NUMBER, Kind.NONE, Kind.STRING, Kind.PATH, Kind.FILE, Kind.SHARED, Kind.MODULE})
"""Results that cost next to nothing; and files, of which `opened` tells."""


@dataclass(frozen=True, slots=True, eq=False)
class Memo:
    """A sample function that keeps every result it ever gave: `limit` is the None that says so, if one does."""

    decorator: ast.expr
    function: FunctionNode
    dataset: DatasetFacts
    limit: ast.Constant | None
    opens: str
    """What it opens and so keeps open, if that is what it gives: a process may have so many files, often 1,024."""


def memos(module: Module) -> Iterator[Memo]:
    """Every sample function that memoizes without bound, by an argument that follows the sample's index."""
    seen: set[ast.AST] = set()
    for dataset in module.holdings:
        if not module.loaders.may_have_workers(dataset.owner.facts.node):
            continue
        for function, decorator in (*_decorated(module, dataset), *_wrapped(module, dataset)):
            opens = _opens(module, function)
            if decorator not in seen and (opens or module.infer.returned(function, NO_ENV).kind not in _SMALL):
                seen.add(decorator)
                limit = _limit(module, decorator)
                yield Memo(decorator, function, dataset, limit if isinstance(limit, ast.Constant) else None, opens)


def _decorated(module: Module, dataset: DatasetFacts) -> Iterator[tuple[FunctionNode, ast.expr]]:
    """Sample functions with what makes them remember all."""
    for function, call in dataset.calls_in.items():
        for decorator in function.decorator_list:
            if _limit(module, decorator) is not None and _varies(module, dataset, function, call):
                yield function, decorator


def _wrapped(module: Module, dataset: DatasetFacts) -> Iterator[tuple[FunctionNode, ast.expr]]:
    """The same of functions that an attribute holds: `self.load = lru_cache(maxsize=None)(self._load)`."""
    for call in (each for function in dataset.calls_in for each in module.tree.calls(function)):
        owned = module.classes.self_attribute(call.func)
        bound = dataset.facts.attributes.get(f"self.{owned[1]}", []) if owned is not None else []
        made = bound[0].value if len(bound) == 1 and bound[0].is_plain else None
        if not isinstance(made, ast.Call) or len(made.args) != 1 or _limit(module, made.func) is None:
            continue
        inner = module.classes.self_attribute(made.args[0])
        function = dataset.facts.methods.get(inner[1]) if inner is not None else module.names.definition(made.args[0])
        if isinstance(function, FUNCTIONS) and any(follows(module, dataset, each) for each in call.args):
            yield function, made.func


def _opens(module: Module, function: FunctionNode) -> str:
    """What a function opens and gives, "" if nothing."""
    for each in module.tree.within(function):
        handle = opened(module, each.value) if isinstance(each, ast.Return) and each.value is not None else None
        if handle is not None:
            return handle.what
    return ""


def _limit(module: Module, decorator: ast.expr) -> ast.expr | None:
    """The part of a decorator that says "without bound": the None of `lru_cache(maxsize=None)`, or all of `cache`."""
    if isinstance(decorator, ast.Call):
        if module.names.qualname(decorator.func) != "functools.lru_cache":
            return None
        sizes = [*decorator.args[:1], *(k.value for k in decorator.keywords if k.arg == "maxsize")]
        return next((s for s in sizes if isinstance(s, ast.Constant) and s.value is None), None)
    known = module.names.qualname(decorator) in _UNBOUNDED or last_name(decorator) in _BY_NAME
    return decorator if known else None


def _varies(module: Module, dataset: DatasetFacts, function: FunctionNode, call: Asked | None) -> bool:
    """Whether a memoized function is asked for something else for each sample."""
    own = parameters(function)
    if self_name(function) and module.tree.class_of(function) is not None:
        own = own[1:]
    if not own or is_property(function):
        return False
    if call is None:
        return True
    if isinstance(call, ast.Subscript):
        return follows(module, dataset, call.slice)
    given = [*call.args, *(k.value for k in call.keywords)] if isinstance(call, ast.Call) else []
    return any(follows(module, dataset, each) for each in given)


def _goes_over_samples(module: Module, dataset: DatasetFacts, function: FunctionNode, found: Definition) -> bool:
    """Whether a variable is bound by a loop of `__iter__` that gives out samples."""
    loop = found.statement
    if function not in dataset.entries or found.how is not How.ITERATE or not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    if module.infer.value(loop.iter).size is Size.SMALL:
        return False
    return any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(loop))


def follows(module: Module, dataset: DatasetFacts, node: ast.expr) -> bool:
    """Whether an expression is the sample's index, or looked up with it, and so another for each sample.

    Through variables and the arguments of helpers; what all samples share of a value (`x.device`) is left out, and
    what has few values whatever the index is (`i % 5`).
    """
    queue: list[ast.AST] = [node]
    seen: set[ast.AST] = set()
    while queue and len(seen) < _MOST_STEPS:
        each = queue.pop()
        seen.add(each)
        if isinstance(each, ast.Attribute) and each.attr in _SHARED_PARTS:
            continue
        depends = narrowed(module, each)
        if depends is not None:
            queue += depends
            continue
        if not isinstance(each, ast.Name):
            queue += [child for child in ast.iter_child_nodes(each) if isinstance(child, ast.AST)]
            continue
        function = module.tree.function(each)
        if function is None or not isinstance(each.ctx, ast.Load):
            continue
        if each.id in dataset.indices.get(function, ()):
            return True
        for found in module.flow.reaching(each.id, each):
            if _goes_over_samples(module, dataset, function, found):
                return True
            if found.value is not None:
                queue.append(found.value)
            elif found.how is How.PARAMETER and isinstance(found.node, ast.arg):
                call = dataset.calls_in.get(function)
                if isinstance(call, ast.Call):
                    passed = module.classes.argument(call, found.node, function)
                    queue += [passed] if passed is not None else []
                elif isinstance(call, ast.Subscript):
                    queue.append(call.slice)
        queue = [each for each in queue if each not in seen]
    if queue:
        scope = module.tree.scope(node)
        module.flow.cut.setdefault(scope, f"a sample depends on more than {_MOST_STEPS} expressions")
    return False
