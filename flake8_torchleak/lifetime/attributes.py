"""What attributes of values give, and how they are set."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.frames import FORWARD, Function
from flake8_torchleak.lifetime.identity import is_data
from flake8_torchleak.lifetime.libraries import PLAIN_ATTRIBUTES
from flake8_torchleak.lifetime.nodes import of_node
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import (
    ANYTHING,
    CAUGHT,
    HANDLE,
    PLAIN,
    Atom,
    Graph,
    Kind,
    Mark,
    Obj,
    Value,
    join,
    number,
    of_container,
)
from flake8_torchleak.lifetime.world import ClassInfo, Place
from flake8_torchleak.model.names import dotted, last_name
from flake8_torchleak.model.outline import statements_of
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

_WITH_FRAMES = frozenset({"__traceback__", "__cause__", "__context__"})
"""What of an exception leads to frames that it, or the one before it, passed."""

_ALL = "*"
"""Stands among names of attributes for every one."""


@of_node
def _set_by(cls: ast.ClassDef) -> dict[str, list[ast.expr]]:
    """What the methods of a class set attributes of their object to, by the attributes' names."""
    found: dict[str, list[ast.expr]] = {}
    for method in cls.body:
        if not isinstance(method, FUNCTIONS) or not method.args.args:
            continue
        first = method.args.args[0]
        for node in statements_of(method):
            for target in node.targets if isinstance(node, ast.Assign) else ():
                for part in getattr(target, "elts", (target,)):
                    if isinstance(part, ast.Attribute) and getattr(part.value, "id", "") == first.arg:
                        assert isinstance(node, ast.Assign)
                        found.setdefault(part.attr, []).append(node.value)
    return found


@of_node
def _forgotten(node: ast.AST) -> frozenset[str]:
    """The texts in a class, by which it may delete attributes (`self.__dict__.pop("x")`); _ALL if it deletes all."""
    found: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            found.add(each.value)
        elif isinstance(each, ast.Attribute) and each.attr == "clear":
            owner = each.value.func if isinstance(each.value, ast.Call) else each.value
            found |= {_ALL} if last_name(owner) in ("__dict__", "vars") else set()
    return frozenset(found)


def _is_kept(cls: ast.ClassDef, function: FunctionNode) -> bool:
    """Whether an object keeps what a property gives once it was asked for, like any attribute."""
    is_cached = any(last_name(each) == "cached_property" for each in function.decorator_list)
    return is_cached and not _forgotten(cls) & {function.name, _ALL}


class Attributes(Part):
    """Looks up, and sets, attributes."""

    def value(self, base: Value, name: str, node: ast.expr) -> Value:
        """`base.name`."""
        if len(base) == 1:
            return self._attribute(base[0], name, node)
        found = [self._attribute(atom, name, node) for atom in base]
        return join(found) if found else ANYTHING

    def _attribute(self, atom: Atom, name: str, node: ast.expr) -> Value:
        run = self.run
        made, kind = atom.made, atom.kind
        if isinstance(made, Obj):
            return self._of_object(atom, made, name, node)
        if kind is Kind.LIBRARY and isinstance(made, str):
            return run.names.in_library(made, name, run.frame.place)
        if isinstance(made, ClassInfo):
            return self.of_class(made, name)
        if kind is Kind.TENSOR:
            if name in PLAIN_ATTRIBUTES:
                plain = run.make.tensor(node, Graph.NO, atom.vary)
                return run.make.view_of(atom, plain) if name == "data" else plain
            return run.make.view(node, atom)
        if kind is Kind.NETWORK:
            if name in ("weight", "bias"):
                return run.needing.parameters(node, (atom,))
            return run.make.set_before(atom, name) or (atom.but(site=(atom.site, name)),)
        if made == HANDLE:
            return run.hooks.removed(atom)  # `stack.callback(handle.remove)`
        if made == CAUGHT and name in _WITH_FRAMES:
            return (atom,)
        if kind is Kind.UNKNOWN:
            if name in PLAIN_ATTRIBUTES:
                return PLAIN if name != "data" else run.make.view_of(atom, run.make.tensor(node, Graph.NO, atom.vary))
            part = run.make.part(atom, name)
            return run.names.suggested(name, part) if atom.graph is not Graph.YES else run.make.view(node, part[0])
        if kind is Kind.FUNCTION or kind is Kind.NUMBER:
            return PLAIN
        return ANYTHING if kind is not Kind.LOADER else (atom.but(kind=Kind.UNKNOWN, site=(atom.site, name)),)

    def _of_object(self, atom: Atom, made: Obj, name: str, node: ast.expr) -> Value:
        found = made.fields.get(name)
        if found:
            return of_container(atom, found)
        cls = made.cls
        if not isinstance(cls, ClassInfo):
            bound = Function(None, self.run.frame.place, receiver=(atom,), builtin=name)
            return (Atom(Kind.FUNCTION, node, made=bound),)
        method = cls.method(name)
        if method is not None:
            info, function = method
            value = self.run.functions.bound(info, function, (atom,), node)
            if _is_kept(info.node, function):
                self.put((atom,), name, value)
            return value
        shared = self._class_attribute(cls, name)
        if shared:
            return shared
        if cls.is_network and name == "module" and name not in self._set_in(cls):
            return (atom,)  # what a wrapper holds, of which nothing else is known (`DataParallel`)
        if cls.is_network and name == "training" and any(loop.step == FORWARD for loop in self.run.loops):
            return number(True)
        return self._by_text(cls, name, made.born) or self.unset(cls, name, made.born)

    def _by_text(self, cls: ClassInfo, name: str, born: int) -> Value:
        """The layer of torch, or the array, that a method sets which was not followed; () if any sets anything else."""
        found: list[Value] = []
        for place, call in self._set_in(cls).get(name, ()):
            parts = dotted(call.func) if isinstance(call, ast.Call) else []
            made = self.run.names.named(parts, place) if parts else ()
            path = made[0].made if made and made[0].kind is Kind.LIBRARY else ""
            if isinstance(path, str) and path.startswith("torch.nn.") and cls.is_network:
                found.append(tuple(a.but(born=born) for a in self.run.networks.layer(path, [], call)))
            elif isinstance(path, str) and path.startswith("numpy."):
                found.append(number(Mark.ARRAY))
            else:
                return ()
        return join(found) if found else ()

    @remembered
    def _set_in(self, cls: ClassInfo) -> dict[str, list[tuple[Place, ast.expr]]]:
        """What the methods of a class, and of those above it, set attributes to, and where."""
        found: dict[str, list[tuple[Place, ast.expr]]] = {}
        for each in cls.order:
            for name, values in _set_by(each.node).items():
                found.setdefault(name, []).extend((each.place, value) for value in values)
        return found

    def unset(self, cls: ClassInfo, name: str, born: int) -> Value:
        """An attribute that nothing in sight has set."""
        site = (cls.node, name)
        value: Value = (Atom(Kind.UNKNOWN, site, Graph.MAYBE, parts=frozenset({site}), born=born),)
        return self.run.names.suggested(name, value)

    def of_class(self, cls: ClassInfo, name: str) -> Value:
        method = cls.method(name)
        if method is not None:
            info, function = method
            return (Atom(Kind.FUNCTION, function, made=Function(function, info.place, None, info)),)
        return self._class_attribute(cls, name) or ANYTHING

    def _class_attribute(self, cls: ClassInfo, name: str) -> Value:
        """What the body of a class, or of one of its bases, sets; () if none does."""
        for each in cls.order:
            if each.shared is None:
                each.shared = self.run.object("instance", each.node, 0)
                for statement in each.node.body:
                    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
                        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                        for target in targets:
                            if isinstance(target, ast.Name):
                                each.shared.fields[target.id] = self.run.functions.at_top(statement.value, each.place)
            if name in each.shared.fields:
                return each.shared.fields[name]
        return ()

    def put(self, base: Value, name: str, value: Value) -> None:
        """`base.name = value`."""
        run = self.run
        run.place(value)
        if value and value[0].kind is Kind.UNKNOWN:
            value = run.names.suggested(name, value)
        for atom in base:
            if isinstance(atom.made, Obj):
                new = value if len(base) == 1 else join([atom.made.fields.get(name, ()), value])
                run.put(atom.made, name, new)
            elif isinstance(atom.made, ClassInfo):
                self._class_attribute(atom.made, name)
                shared = atom.made.shared
                assert shared is not None  # made by the look-up
                run.put(shared, name, value)
            elif atom.kind is Kind.UNKNOWN or (atom.kind is Kind.NETWORK and is_data(value)):
                run.make.set_part(atom, name, value)
