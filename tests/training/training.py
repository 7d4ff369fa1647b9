"""Puts a step, a holder and an ending together, in a function, a class or a script."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable
from dataclasses import replace

from tests.training import escapes, holders, steps, values
from tests.training.draft import Draft, Lines, block, function
from tests.training.holders import Holder
from tests.training.parts import loop
from tests.training.program import Program
from tests.training.steps import Step

CONSTRUCTS = (
    "loops", "helpers", "methods", "closures", "accumulation", "truncation", "gan", "reinforcement", "lbfgs",
    "metrics", "averages", "schedulers", "dicts", "lists", "attributes", "records", "modules",
)  # fmt: skip
_HOLDERS = {
    "dicts": ("dict", "dict of lists", "dict sum", "nested"),
    "lists": ("list",),
    "records": ("record", "dataclass", "deque", "tuple"),
    "metrics": ("meter",),
    "attributes": ("slots", "list", "sum", "dict"),
}


def training(rng: random.Random, construct: str, escape: bool) -> Program:
    """A program that trains (or evaluates), and keeps something of every step."""
    d = Draft(rng, construct)
    d.stage = d.pick("function", "function", "method", "script")
    if construct in ("methods", "attributes") and (construct == "methods" or d.chance(0.6)):
        d.stage = "method"
    if construct == "closures" and d.stage == "script":
        d.stage = "function"
    if d.stage == "method":
        d.tag("methods")
    d.cell["stage"] = d.stage
    way = rng.choice(list(escapes.WAYS)) if escape else ""
    odd = ""
    if escape and d.chance(0.25):
        way, odd = d.pick(
            ("looked", ""), ("", d.rng.choice(list(values.MAKERS))), ("", d.rng.choice(list(values.MAKERS)))
        )
    d.always_self = way == "method" or construct == "attributes" or (d.stage == "method" and d.chance(0.3))
    live = way not in ("", "looked") or d.chance(0.15)
    step = _step(d, construct, live)
    kinds = _HOLDERS.get(construct, ())
    if odd in values.LAST:
        kinds = ("list", "list", "tuple", "dict of lists", "deque")
        d.tags -= {"metrics", "attributes", "dicts", "records"} - {construct}
    holder = holders.holder(d, rng.choice(kinds) if kinds else "", None)
    value = rng.choice(step.values)
    if holder.kind in _ANY and not way and not odd and step.others and d.chance(0.3):
        value = rng.choice(step.others)
    d.cell["value"] = "live" if step.live else "spent"
    body, after = [*step.body], list[str]()
    d.escape = f"value: {odd}" if odd else way
    if odd:
        _odd(d, odd, step, holder, value, body, after)
    else:
        body += holder.keep(value)
    if way == "looked":
        after += escapes.looked(d, holder, step.opt)
    elif way:
        _differentiated(d, way, step, holder, body, after)
    elif not after:
        after += (
            _shown(d, holder) if not odd else d.pick([f"print(len(list({holder.items})))"], [f"print({holder.items})"])
        )
    body += step.tail
    lines = loop(d, step.source, body, step.index)
    _staged(d, lines, after)
    return d.program()


_ANY = frozenset({"list", "dict", "record", "tuple", "deque", "nested"})
"""Holders of whatever there is; the others add."""


def _odd(d: Draft, odd: str, step: Step, holder: Holder, value: str, body: Lines, after: Lines) -> None:
    """What is kept is no tensor, or more than its elements are asked for."""
    made = values.MAKERS[odd](d, step, value)
    last = f"list({holder.items})[{0 if holder.first else -1}]"
    if made.value == "KEEP-INSIDE":
        inner = made.before[-1].removeprefix("    KEEP(").removesuffix(")")
        body += [*made.before[:-1], *(f"    {line}" for line in holder.keep(inner))]
    elif odd == "none" and holder.kind not in _ANY:
        body += [*made.before, *block(f"if {made.value} is not None:", holder.keep(made.value))]
    else:
        body += [*made.before, *holder.keep(made.value)]
    body += [line.replace("KEPT", last) for line in made.following]
    after += [line.replace("LAST", last) for line in made.after]


def _step(d: Draft, construct: str, live: bool) -> Step:
    if construct in steps.MAKERS:
        return steps.MAKERS[construct](d, live)
    return d.pick(steps.plain, steps.plain, steps.functions, steps.average)(d, live)


def _differentiated(d: Draft, way: str, step: Step, holder: Holder, body: Lines, after: Lines) -> None:
    """After the loop, every few steps, or with the next step's loss."""
    moment = d.pick("after", "after", "every")
    if way in ("returned", "yielded"):
        moment = "after"
    d.cell["moment"] = moment
    if d.chance(0.6):
        # With something else that is differentiated, what a fix cuts is cut in silence.
        group = f"sum(w.pow(2).sum() for g in {step.opt}.param_groups for w in g['params'])"
        holder = replace(holder, total=f"({holder.total} + {group})", items=f"[*{holder.items}, {group}]")
    lines = escapes.WAYS[way](d, holder, step.opt)
    if moment == "every":
        step.index = step.index or d.new("index")
        body += block(f"if {step.index} % 3 == 2:", [*lines, *holder.empty])
    else:
        after += lines


def _shown(d: Draft, h: Holder) -> Lines:
    """Nobody differentiates it: it is printed, counted, compared, or forgotten."""
    v = d.new("temp")
    return d.pick(
        [f"print(len(list({h.items})))"],
        [f"print(sum(float({v}.sum()) for {v} in {h.items}))"],
        block(f"for {v} in {h.items}:", [f"print('%.6f' % {v}.mean().item())"]),
        [f"print([{v}.shape for {v} in {h.items}])"],
        [f"print('{{:.4f}}'.format(sum({v}.sum().item() for {v} in {h.items})))"],
        [f"print(max({v}.max().item() for {v} in {h.items}))"],
        ["print('done')"],
        [f"print(torch.stack(list({h.items})).mean())"],
        [f"print({h.items})"],
        [f"print([{v}.detach().numpy().sum() for {v} in {h.items}])"],
    )


def _staged(d: Draft, lines: Lines, after: Lines) -> None:
    """The loop in its place: a function, a method, or the module itself."""
    main = d.new("train")
    ending: Lines = []
    if d.result.startswith("YIELD "):
        ending = [f"yield {d.result.removeprefix('YIELD ')}"]
    elif d.result:
        ending = [f"return {d.result}"]
    outlined = d.stage != "script" and (d.construct in ("closures", "methods") and d.chance(0.7) or d.chance(0.15))
    if outlined:
        lines = _with_closure(d, lines)
    if d.stage == "script":
        d.main.statements += [*d.before, *lines, *after]
        return
    if d.stage == "function":
        d.define(function(main, "", [*d.before, *lines, *after, *ending]))
        call = f"{main}()"
    else:
        name = d.new("trainer")
        bases = f"({', '.join(d.bases)})" if d.bases else ""
        init = function("__init__", "self", d.inits or ["pass"])
        fit = function(main, "self", [*d.before, *lines, *after, *ending])
        methods = [init, *d.methods, fit] if d.chance(0.5) else [init, fit, *d.methods]
        d.define("\n".join(block(f"class {name}{bases}:", "\n".join(methods).split("\n"))))
        call = f"{name}().{main}()"
    caller = [line.replace("CALL", call) for line in d.caller] or [call]
    if d.chance(0.3):
        caller = block("if __name__ == '__main__':", caller)
    d.main.statements += caller


def _with_closure(d: Draft, lines: Lines) -> Lines:
    """The body of the innermost loop as a nested function, called for every batch."""
    text = "\n".join(lines)
    tree = ast.parse(text)
    loops = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While))]
    if not loops or any(isinstance(node, (ast.Break, ast.Continue, ast.NamedExpr)) for node in ast.walk(tree)):
        return lines
    d.tag("closures")
    each = loops[-1] if isinstance(loops[-1], ast.For) and loops[-1].end_lineno == loops[0].end_lineno else loops[0]
    if not isinstance(each, ast.For):
        return lines
    name = d.new("step")
    targets = sorted(_names(each.target))
    bound = {name for statement in each.body for name in _bound(statement)}
    outer = {line.partition(" = ")[0] for line in d.before}
    shared = sorted(bound & outer)
    inner = [ast.unparse(statement) for statement in each.body]
    inner = [line for statement in inner for line in statement.split("\n")]
    later = sorted(_read_after(tree, each) & bound - outer)
    if later:
        return lines
    head = [f"nonlocal {', '.join(shared)}"] if shared else []
    # `n += 1` of a counter stays outside: it is the loop's.
    definition = block(f"def {name}({', '.join(targets)}):", [*head, *inner])
    each.body = ast.parse(f"{name}({', '.join(targets)})").body
    return [*definition, *ast.unparse(tree).split("\n")]


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _bound(statement: ast.stmt) -> Iterable[str]:
    """The names that a statement binds in its own scope."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            if isinstance(node, ast.FunctionDef):
                yield node.name
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        stack.extend(ast.iter_child_nodes(node))


def _read_after(tree: ast.Module, loop_node: ast.For) -> set[str]:
    inside = {id(node) for node in ast.walk(loop_node)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in inside}
