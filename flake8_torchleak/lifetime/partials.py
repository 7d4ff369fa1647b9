"""Functions and classes that are made of others: `partial`, `methodcaller`, `type`."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.frames import CALLED, Function
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import ANYTHING, Atom, Keywords, Kind, Value, constant, join, objects
from flake8_torchleak.lifetime.world import ClassInfo


def type_of(value: Value, node: ast.expr) -> Value:
    """The class of what is certainly a container, or an object of the project; () of all else."""
    made = objects(value)
    if len(made) != 1 or len(value) != 1:
        return ()
    if isinstance(made[0].cls, ClassInfo):
        return (Atom(Kind.CLASS, node, made=made[0].cls),)
    return (Atom(Kind.LIBRARY, node, made=made[0].kind),) if made[0].kind in ("list", "dict", "set") else ()


def partial(run: Run, args: list[Value], keywords: Keywords) -> Value:
    """`functools.partial`: a function with what it is given before all else."""
    found: list[Value] = []
    for atom in args[0]:
        made = atom.made
        if isinstance(made, Function):
            run.look(len(made.args))
            new = Function(
                made.node,
                made.place,
                made.closure,
                made.owner,
                made.receiver,
                (*made.args, *args[1:]),
                (*made.keywords, *keywords.items()),
                made.builtin,
                made.memo,
                made.off,
            )
            found.append((atom.but(made=new),))
        elif atom.kind is Kind.LIBRARY and (len(args) > 1 or keywords):
            new = Function(None, run.frame.place, None, None, (atom,), tuple(args[1:]), tuple(keywords.items()), CALLED)
            found.append((Atom(Kind.FUNCTION, atom.site, made=new),))
        else:
            found.append((atom,))
    return join(found)


def calling(run: Run, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
    """`operator.methodcaller`: a function that calls a method of what it is given."""
    name = constant(args[0])
    if not isinstance(name, str):
        return ANYTHING
    given = tuple(keywords.items())
    made = Function(None, run.frame.place, args=tuple(args[1:]), keywords=given, builtin=name)
    return (Atom(Kind.FUNCTION, node, made=made),)
