"""What methods of containers do: lists, dicts, sets, deques, generators."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import (
    ANYTHING,
    ELEMENTS,
    NONE,
    PLAIN,
    Atom,
    Keywords,
    Kind,
    Mark,
    Obj,
    Value,
    constant,
    join,
    number,
    objects,
    read_from,
    varies,
)

_ADDS = frozenset({"append", "appendleft", "add", "insert", "put", "put_nowait"})
_EXTENDS = frozenset({"extend", "extendleft"})
_TAKES = frozenset({"pop", "popleft", "popitem", "get_nowait", "remove", "discard"})


_EMPTIES = frozenset({"clear", "__init__", "__delitem__", "__imul__"})
"""Methods after which a list is empty or has lost elements; the last one only where it is told so."""


class Containers(Part):
    """Methods of the built-in containers."""

    def method(
        self, holder: Value, made: Obj, name: str, args: list[Value], keywords: Keywords, node: ast.expr
    ) -> Value:
        """Call a method of a container. holder: what the method is called on, one alternative of which it is."""
        run = self.run
        target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        if name in _ADDS and args:
            value = args[-1] if name != "put" else args[0]
            run.keeper.stored(holder, value, node, target, None)
            run.add(made, value)
            return NONE
        if name in _EXTENDS and args:
            value = run.elements.of(args[0], node)
            if not objects(args[0]):  # numbers, or words
                value = tuple(each.but(held=None) if self._is_no_tensor(each) else each for each in value)
            if any(each.stepwise for each in objects(args[0])):
                run.keeper.gathered(holder, args[0], node)
            else:
                run.keeper.stored(holder, value, node, target, None)
            run.add(made, value)
            return NONE
        if name in _EMPTIES and (name != "__imul__" or constant(args[0] if args else PLAIN) == 0):
            run.empty(run.of(made)[0])
            if name != "__delitem__":
                for each in list(made.fields):
                    run.journal.remove(made.fields, each)
            return NONE
        if name in _TAKES or (name == "get" and made.kind == "deque"):
            run.empty(run.of(made)[0])
            return self._taken(made, args)
        if made.kind == "dict":
            return self._of_dict(made, name, args, keywords, node, target)
        return self._other(made, name, args, node)

    def _is_no_tensor(self, atom: Atom) -> bool:
        site = atom.site[0] if isinstance(atom.site, tuple) else atom.site
        return atom.kind is Kind.UNKNOWN and not {atom.site, site} & self.run.seen.tensors

    def _taken(self, made: Obj, args: list[Value]) -> Value:
        """What is taken out is no longer the container's; who differentiates it does so with one after the other."""
        name = constant(args[0]) if args else Mark.ANY
        found = made.fields.get(name) if isinstance(name, str) else None
        value = found or join(list(made.fields.values()))
        if isinstance(name, str):
            self.run.journal.remove(made.fields, name)
        return read_from(made, value) if value else ANYTHING

    def _of_dict(
        self,
        made: Obj,
        name: str,
        args: list[Value],
        keywords: Keywords,
        node: ast.expr,
        target: ast.expr | None,
    ) -> Value:
        run = self.run
        if name in ("get", "setdefault") and args:
            key = constant(args[0])
            found = made.fields.get(key) if isinstance(key, (str, int)) else run.elements.all_of(made)
            found = found or made.fields.get(ELEMENTS, ())
            default = args[1] if len(args) > 1 else NONE
            if name == "setdefault":
                for each in objects(default):
                    each.born = made.born
                if varies(args[0]):
                    run.keeper.stored(run.of(made), default, node, target, varies(args[0]))
                if isinstance(key, (str, int)):
                    run.put(made, key, join([found, default]) if found else default)
                else:
                    run.add(made, default)
            return join([found, default]) if found else default
        if name in ("values", "items", "keys"):
            return self._listing(made, name)
        if name == "update":
            for given in args:
                if keys := varies(given):
                    value = join([inner for other in objects(given) for inner in other.fields.values()])
                    run.keeper.stored(run.of(made), value, node, target, keys)
                run.elements.update(made, given)
            for key_name, given in keywords.items():
                run.put(made, key_name, given)
            return NONE
        if name == "copy":
            return self._copy(made, node)
        return ANYTHING

    def _listing(self, made: Obj, name: str) -> Value:
        run = self.run
        new = run.new("tuple", made.node)
        if name == "keys":
            run.add(new, PLAIN)
        elif name == "values":
            for key, value in made.fields.items():
                run.put(new, ELEMENTS if key == ELEMENTS else ("value", key), value)
        else:
            for key, value in made.fields.items():
                pair = run.new("tuple", made.node)
                run.put(pair, 0, number(key) if key != ELEMENTS else PLAIN)
                run.put(pair, 1, value)
                run.journal.put(new.fields, ("pair", key), run.of(pair))  # no place where the dict is put
        return run.of(new)

    def _copy(self, made: Obj, node: ast.expr) -> Value:
        new = self.run.new(made.kind, node, None)
        new.default = made.default
        for key, value in made.fields.items():
            self.run.put(new, key, read_from(made, value))
        return self.run.of(new)

    def _other(self, made: Obj, name: str, args: list[Value], node: ast.expr) -> Value:
        run = self.run
        if name == "copy":
            return self._copy(made, node)
        if name in ("index", "count", "qsize", "empty", "full", "task_done", "join", "__len__"):
            return PLAIN
        if name in ("__getitem__", "__next__"):
            return run.elements.all_of(made) or ANYTHING
        if name == "send" and args:
            return run.generators.send(made, args[0], node)
        if name in ("sort", "reverse", "rotate", "close"):
            return NONE
        if name in ("union", "intersection", "difference"):
            new = run.new("set", node)
            run.add(new, run.elements.all_of(made))
            for each in args:
                run.add(new, run.elements.of(each, node))
            return run.of(new)
        return ANYTHING
