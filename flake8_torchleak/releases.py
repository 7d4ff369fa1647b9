"""The fixes of the graph rules: `.detach()` on what is proven a tensor, `.item()` where only a number is shown."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel
from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.release.facts import carriers
from flake8_torchleak.model.stores import Store
from flake8_torchleak.wording import is_cut, released, short

_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def remedy(module: Module, verb: str, value: ast.expr) -> str:
    """What to do instead, in words: `verb` what, detached. Code only where it is whole and can run."""
    if isinstance(value, _DISPLAYS) or module.infer.value(value).is_container:
        return f"{verb} tensors with `.detach()`"
    if isinstance(value, ast.IfExp):
        arms = [arm for arm in (value.body, value.orelse) if module.infer.value(arm).graph is not False]
        if len(arms) == 1:
            return f"detach `{short(arms[0])}`"
    return f"{verb} the value with `.detach()`" if is_cut(value) else f"{verb} `{released(value)}`"


def in_evaluation(module: Module, node: ast.AST) -> tuple[str, ast.AST] | None:
    """The finding under which it falls that `node` keeps a graph: evaluated without gradients, there would be none."""
    found = module.evaluation(node)
    return ("TLK501", found.call) if found is not None else None


def releases(kept: Store, build: Builder) -> Iterator[Fix]:
    """`.item()` where the holder is only shown, and `.detach()`. Raises Unfixable for what is not proven a tensor."""
    module = build.module
    if kept.key in module.infer.backward.slots(module.tree.scope(kept.node)):
        raise Unfixable(f"an entry of `{kept.key}` is differentiated")
    parts = list(carriers(module, kept.value))
    if not parts:
        raise Unfixable(f"nothing in `{short(kept.value)}` is seen to carry a graph")
    for part in parts:
        if module.proof.is_tensor(part):
            continue
        if not (kept.sums and module.proof.sums_tensors(kept.key, kept.value, kept.node)):
            raise Unfixable(f"`{short(part)}` is not proven to be a tensor")
    for value in starts(module, kept):
        if not module.proof.is_tensor(value):
            raise Unfixable(
                f"`{kept.key}` starts with the graph of `{short(value)}`, which is not proven to be a tensor"
            )
        parts.append(value)
    for part in parts:
        if isinstance(part, ast.Name) and _has_attributes(module, part):
            raise Unfixable(f"attributes are set on `{part.id}`, and `.detach()` gives a tensor without them")
        if reason := module.release.reason(part, kept.key, kept.node):
            raise Unfixable(reason)
    if parts == [kept.value] and _is_only_shown(kept, build):
        title = f"add a number: `{short(kept.value)}.item()`, as the sum is only printed or logged"
        yield Fix(FixLevel.UNSAFE, title, build.method(kept.value, "item"))
    edits = tuple(edit for part in parts for edit in build.method(part, "detach"))
    yield Fix(FixLevel.SAFE, f"use `{released(parts[0])}`", edits)


def _has_attributes(module: Module, name: ast.Name) -> bool:
    """Whether attributes of a variable's value are set in its scope (`loss.weight = 2`)."""
    return name.id in module.flow.with_attributes(module.tree.scope(name))


def starts(module: Module, kept: Store) -> Iterator[ast.expr]:
    """What else a sum gets with its graph: where it starts (`avg = loss`), or in the other branch of a ternary.

    It would carry every later step's addition along.
    """
    if not kept.sums:
        return
    scope = module.tree.scope(kept.node)
    values: list[ast.expr] = []
    for each in module.flow.giving(scope, kept.key):
        if each.statement is kept.node and isinstance(each.value, ast.IfExp) and each.value is not kept.value:
            branches = (each.value.body, each.value.orelse)
            values += [branch for branch in branches if not module.tree.inside(kept.value, branch)]
        elif each.statement is not kept.node and each.how is How.ASSIGN and each.value is not None:
            values.append(each.value)
    for value in values:
        if module.infer.value(value).graph and all(each.key != kept.key for each in _reads(module, value)):
            yield value


def _reads(module: Module, value: ast.expr) -> list[Definition]:
    """The definitions of the variables that an expression reads."""
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name)]
    return [each for name in names for each in module.flow.reaching(name.id, name)]


def _is_only_shown(kept: Store, build: Builder) -> bool:
    """Whether a number would do: one element, and a holder that is printed, formatted or logged, and nothing else.

    Who hands a holder over may ask its content for more than numbers have.
    """
    module = build.module
    if not module.proof.is_scalar(kept.value):
        return False
    owner = module.names.scope_of(kept.key.partition(".")[0], kept.node)
    definitions = module.flow.definitions(owner).get(kept.key, []) if owner is not None else []
    if any(each.how is How.PARAMETER for each in definitions):
        return False
    return module.release.uses.other(kept.key, kept.node) is None
