"""Laws about the form of a loop, and of what it draws."""

from __future__ import annotations

import ast

from tests.laws.program import (
    LOOPS,
    At,
    Program,
    expression,
    instead,
    lines,
    named,
    own,
    places,
    position,
    replaced,
    stored_names,
)
from tests.laws.stores import Store, begun, bindings, is_list, stored


def _draws(program: Program) -> list[tuple[At, ast.For]]:
    """`for` loops over more than a few numbers or names that are written down."""
    found = [(at, at.statement) for at in places(program.tree) if isinstance(at.statement, ast.For)]
    return [(at, loop) for at, loop in found if not isinstance(loop.iter, (ast.Tuple, ast.List, ast.Constant))]


def _tuples(program: Program) -> list[tuple[At, ast.For]]:
    paired = ("enumerate", "zip")
    return [
        (at, loop)
        for at, loop in _draws(program)
        if isinstance(loop.target, ast.Tuple)
        and not (
            isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name) and loop.iter.func.id in paired
        )
    ]


def unpack(program: Program) -> int:
    """`for x, y in loader` as `for item in loader` with `x, y = item`."""
    found = _tuples(program)
    for _, loop in found:
        name = program.fresh("item")
        loop.body.insert(0, instead(ast.Assign([loop.target], ast.Name(name, ast.Load())), loop))
        loop.target = ast.Name(name, ast.Store())
    return len(found)


def indexed(program: Program) -> int:
    """`for x, y in loader` as `for item in loader` with `x = item[0]` and `y = item[1]`."""
    found = [each for each in _tuples(program) if not any(isinstance(n, ast.Starred) for n in ast.walk(each[1].target))]
    for _, loop in found:
        name = program.fresh("item")
        assert isinstance(loop.target, ast.Tuple)
        parts = [(target, expression(f"{name}[{number}]")) for number, target in enumerate(loop.target.elts)]
        loop.body[:0] = [instead(ast.Assign([target], value), loop) for target, value in parts]
        loop.target = ast.Name(name, ast.Store())
    return len(found)


def while_next(program: Program) -> int:
    """`for x in loader` as `while True` with `x = next(it)`, left at StopIteration."""
    found = [(at, loop) for at, loop in _draws(program) if not loop.orelse]
    for at, loop in found:
        name = program.fresh("it")
        first = lines(f"{name} = iter(_)")[0]
        head = lines(f"try:\n    _ = next({name})\nexcept StopIteration:\n    break")[0]
        assert isinstance(first, ast.Assign)
        assert isinstance(first.value, ast.Call)
        assert isinstance(head, ast.Try)
        assert isinstance(head.body[0], ast.Assign)
        first.value.args, head.body[0].targets = [loop.iter], [loop.target]
        at.instead(first, instead(ast.While(ast.Constant(True), [instead(head, loop), *loop.body], []), loop))
    return len(found)


def while_sentinel(program: Program) -> int:
    """`for x in loader` as `while (item := next(it, end)) is not end`, where `end` is an object of its own."""
    found = [(at, loop) for at, loop in _draws(program) if not loop.orelse and _scoped(at)]
    for at, loop in found:
        name, end, item = program.fresh("it"), program.fresh("end"), program.fresh("item")
        first, sentinel = lines(f"{name} = iter(_)\n{end} = object()")
        assert isinstance(first, ast.Assign)
        assert isinstance(first.value, ast.Call)
        first.value.args = [loop.iter]
        test = expression(f"({item} := next({name}, {end})) is not {end}")
        head = instead(ast.Assign([loop.target], ast.Name(item, ast.Load())), loop)
        at.instead(first, sentinel, instead(ast.While(test, [head, *loop.body], []), loop))
    return len(found)


def _scoped(at: At) -> bool:
    return at.scope is not None or at.owner is None


def to_comprehension(program: Program) -> int:
    """`kept = []` and a loop that appends, as one comprehension.

    What else the loop does goes into a function inside the function, which gives what was appended.
    """
    return _comprehended(program, "[]")


def extend_generator(program: Program) -> int:
    """A loop that appends to what begins as a list, as `kept.extend(step(item) for item in loader)`."""
    return _comprehended(program, "extend")


def sum_generator(program: Program) -> int:
    """`total = 0` and a loop that adds to it, as `total = sum(step(item) for item in loader)`."""
    return _comprehended(program, "sum")


def _comprehended(program: Program, how: str) -> int:
    count = 0
    for at in places(program.tree):
        loop = at.statement
        here = any(each is loop for each in at.block)
        if not isinstance(loop, ast.For) or not here or loop.orelse or not _scoped(at):
            continue
        store = next((each for one in reversed(loop.body) if (each := _store(program, at, one, how)) is not None), None)
        if store is None or not (_known(program, at, store.holder) if how == "extend" else _empty_before(at, store)):
            continue
        read = [each for one in loop.body if one is not store.at.statement for each in ast.walk(one)]
        read += [*ast.walk(loop.iter), *ast.walk(store.value)]
        holder = ast.unparse(store.holder)
        if holder in {ast.unparse(each) for each in read if isinstance(each, ast.expr)}:
            continue
        made = _elements(program, at, loop, store)
        if made is not None:
            drawn = ast.GeneratorExp(made.elt, made.generators)
            new: ast.stmt = ast.Assign([ast.Name(holder, ast.Store())], made)
            if how == "sum":
                new = ast.Assign([ast.Name(holder, ast.Store())], ast.Call(expression("sum"), [drawn], []))
            elif how == "extend":
                new = ast.Expr(ast.Call(ast.Attribute(store.holder, "extend", ast.Load()), [drawn], []))
            at.instead(instead(new, store.at.statement))
            count += 1
    return count


def _store(program: Program, at: At, node: ast.stmt, how: str) -> Store | None:
    found = stored(program, At(node, [], at.scope, at.owner, (at.statement,)))
    return found if found is not None and found.summed is (how == "sum") else None


def _known(program: Program, at: At, holder: ast.expr) -> bool:
    return ast.unparse(holder) in begun(program, at, is_list)


def _empty_before(at: At, store: Store) -> bool:
    """Whether the holder is a name that is made empty, or 0, earlier in the block, and not used between."""
    holder = store.holder
    if not isinstance(holder, ast.Name):
        return False
    for each in reversed(at.block[: position(at.block, at.statement)]):
        if isinstance(each, ast.Assign) and holder.id in stored_names([each]):
            values = [value for target, value in bindings(each) if ast.unparse(target) == holder.id]
            return len(values) == 1 and ast.unparse(values[0]) in (("0", "0.0") if store.summed else ("[]",))
        if holder.id in named([each]):
            return False
    return False


def _elements(program: Program, at: At, loop: ast.For, store: Store) -> ast.ListComp | None:
    """The comprehension of what the loop keeps; None if it cannot be one."""
    value, where = store.value, position(loop.body, store.at.statement)
    work, later = [each for each in loop.body if each is not store.at.statement], loop.body[where + 1 :]
    if later and (named([value]) & stored_names(later) or any(isinstance(each, ast.Call) for each in ast.walk(value))):
        return None  # at the end of the loop it is another value
    around: ast.AST = at.scope or program.tree
    inside = {*ast.walk(loop)}
    outside = [each for each in own(around) if each not in inside and isinstance(each, ast.Name)]
    inner, elsewhere = stored_names([*work, loop.target]), {each.id for each in outside}
    written = {each.id for each in outside if not isinstance(each.ctx, ast.Load)}
    if at.scope is not None:
        elsewhere |= {each.arg for each in ast.walk(at.scope.args) if isinstance(each, ast.arg)}
        written |= elsewhere - {each.id for each in outside}
    if _leaves(loop) or inner & (elsewhere - written) or stored_names([loop.target]) & elsewhere:
        return None
    if inner & written and at.scope is None:
        return None
    if not work:
        return ast.ListComp(value, [ast.comprehension(loop.target, loop.iter, [], 0)])
    name = program.fresh("step")
    item = loop.target.id if isinstance(loop.target, ast.Name) else program.fresh("item")
    step = lines(f"def {name}({item}):\n    pass")[0]
    assert isinstance(step, ast.FunctionDef)
    shared = sorted(inner & written)
    unpacked = [] if isinstance(loop.target, ast.Name) else [ast.Assign([loop.target], ast.Name(item, ast.Load()))]
    step.body = [
        *(lines(f"nonlocal {', '.join(shared)}") if shared else []),
        *(instead(each, loop) for each in unpacked),
        *work,
        instead(ast.Return(value), store.at.statement),
    ]
    at.block.insert(position(at.block, loop), step)
    made = expression(f"[{name}({item}) for {item} in _]")
    assert isinstance(made, ast.ListComp)
    made.generators[0].iter = loop.iter
    return made


def _leaves(loop: ast.For) -> bool:
    """Whether the loop ends early, or is part of a generator."""
    leaving = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Delete, ast.Nonlocal, ast.Global)
    found = [each for statement in loop.body for each in (statement, *own(statement))]
    inner = [each for statement in found if isinstance(statement, LOOPS) for each in ast.walk(statement)]
    jumps = [each for each in found if isinstance(each, (ast.Break, ast.Continue)) and each not in inner]
    return bool(jumps) or any(isinstance(each, leaving) for each in found)


def to_loop(program: Program) -> int:
    """A list comprehension that is assigned or returned, as a loop that appends."""
    count = 0
    for at in places(program.tree):
        node = at.statement
        if (
            not isinstance(node, (ast.Assign, ast.Return))
            or not isinstance(node.value, ast.ListComp)
            or not _scoped(at)
        ):
            continue
        made = node.value
        if any(each.is_async for each in made.generators):
            continue
        kept = program.fresh("made")
        bound = {each: program.fresh(f"{each}_each") for each in named(part.target for part in made.generators)}

        def swap(each: ast.expr, bound: dict[str, str] = bound) -> ast.expr | None:
            return ast.Name(bound[each.id], each.ctx) if isinstance(each, ast.Name) and each.id in bound else None

        first, made.generators[0].iter = made.generators[0].iter, ast.Constant(None)
        made = replaced(made, swap)
        made.generators[0].iter = first
        body: ast.stmt = lines(f"{kept}.append(_)")[0]
        assert isinstance(body, ast.Expr)
        assert isinstance(body.value, ast.Call)
        body.value.args = [made.elt]
        for part in reversed(made.generators):
            for test in reversed(part.ifs):
                body = ast.If(test, [body], [])
            body = ast.For(part.target, part.iter, [body], [])
        node.value = ast.Name(kept, ast.Load())
        at.block.insert(position(at.block, node), instead(lines(f"{kept} = []")[0], node))
        at.block.insert(position(at.block, node), instead(body, node))
        count += 1
    return count
