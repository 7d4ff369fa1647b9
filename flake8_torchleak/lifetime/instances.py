"""Objects and classes of the project: how objects are made, called and entered, and how methods are found."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime import refusing
from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.gradmode import switches
from flake8_torchleak.lifetime.libraries import CONTAINER_METHODS, MODULE_METHODS
from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import (
    ANYTHING,
    NONE,
    PLAIN,
    Atom,
    Keywords,
    Kind,
    Obj,
    Value,
    constant,
    join,
    objects,
)
from flake8_torchleak.lifetime.world import ClassInfo, Place
from flake8_torchleak.model.abstract import only_declares, refuses
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FUNCTIONS


class Instances(Part):
    """Makes objects, and calls what they and their classes have."""

    def made(self, cls: ClassInfo, args: list[Value], keywords: Keywords, node: ast.AST) -> Value:
        """A new object of a class of the project."""
        run = self.run
        made = run.new(cls.container or "instance", node, cls)
        value = run.of(made)
        found = cls.method("__init__")
        if found is not None:
            owner, function = found
            run.functions.invoke(Function(function, owner.place, None, owner, value), args, keywords, node)
        elif cls.is_record:
            for at, (name, default) in enumerate(cls.record_fields):
                if at < len(args):
                    run.put(made, name, args[at])
                elif name in keywords:
                    run.put(made, name, keywords[name])
                elif default is not None:
                    run.put(made, name, self._field(default, cls.place))
        elif cls.foreign and not cls.is_network:
            for each in (*args, *keywords.values()):
                run.escape(each)
        return value

    def unseen(self, cls: ClassInfo, node: ast.AST) -> Value:
        """An object of a class of the project that somebody else made, before all that is followed."""
        run = self.run
        made = run.object(cls.container or "instance", node, 0, cls)
        found = cls.method("__init__")
        if found is not None:
            owner, function = found
            start = Function(function, owner.place, None, owner, run.of(made))
            run.functions.invoke(start, [], {}, function)
        for name, value in list(made.fields.items()):
            for each in objects(value):
                each.born = 0
            if name in rebound(cls):
                made.fields[name] = self._since(cls, name, value)
        return run.of(made)

    def _since(self, cls: ClassInfo, name: str, value: Value) -> Value:
        """What an attribute is when a method is called, if others set it: not the constant of the constructor."""
        known = constant(value)
        if known is None:
            return join([self.run.attributes.unset(cls, name, 0), value])
        return PLAIN if isinstance(known, bool) else value

    def _field(self, default: ast.expr, place: Place) -> Value:
        run = self.run
        if isinstance(default, ast.Call) and last_name(default.func) in ("field", "Field", "attrib"):
            for keyword in default.keywords:
                if keyword.arg in ("default_factory", "factory"):
                    return run.calls.apply(run.functions.at_top(keyword.value, place), [], {}, default)
                if keyword.arg == "default":
                    return run.functions.at_top(keyword.value, place)
            return ANYTHING
        return run.functions.at_top(default, place)

    def called(self, atom: Atom, made: Obj, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """Call an object. made: what the atom is."""
        run = self.run
        cls = made.cls
        if isinstance(cls, ClassInfo):
            if cls.method("__call__") is not None:
                return run.calls.method((atom,), "__call__", args, node, keywords)
            if cls.is_network:
                forward = cls.method("forward")
                if forward is not None and (switches(forward[1]) or not run.networks.has_parameters(made)):
                    return run.calls.method((atom,), "forward", args, node, keywords)
                if cls.layers and cls.method("forward") is None and not run.networks.has_parameters(made):
                    return run.make.result(node, [*args, *keywords.values()])
                return run.networks.called(args, keywords, node, atom)
        return run.unseen.call(args, keywords, node)

    def method(self, atom: Atom, made: Obj, name: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """Call a method of an object, or a function that it has as an attribute."""
        run = self.run
        own = made.fields.get(name)
        cls = made.cls
        if own:
            return run.calls.apply(own, args, keywords, node)
        assert isinstance(cls, ClassInfo)
        found = cls.method(name)
        if found is not None and refuses(found[1]):
            return run.foreign.inherited(atom, made, name, args, keywords, node)  # of a class below, in another file
        if found is None and cls.container and name in CONTAINER_METHODS:
            return run.containers.method((atom,), made, name, args, keywords, node)
        if found is None and cls.is_network and name in MODULE_METHODS:  # not what `setattr(self, name, layer)` set
            return run.foreign.inherited(atom, made, name, args, keywords, node)
        if found is None:
            shared = run.attributes.value((atom,), name, node)
            if any(each.kind is not Kind.UNKNOWN for each in shared):
                return run.calls.apply(shared, args, keywords, node)
            return run.foreign.inherited(atom, made, name, args, keywords, node)
        result = run.calls.apply(run.attributes.value((atom,), name, node), args, keywords, node)
        return run.make.unknown(node) if only_declares(found[1]) else result

    def method_of_class(
        self, cls: ClassInfo, name: str, args: list[Value], keywords: Keywords, node: ast.expr
    ) -> Value:
        """Call a method on the class: `Class.method(x)`."""
        run = self.run
        method = cls.method(name)
        if method is None:
            return run.calls.apply(
                run.attributes.value((Atom(Kind.CLASS, made=cls),), name, node), args, keywords, node
            )
        owner, function = method
        marks = {last_name(each) for each in function.decorator_list}
        if "classmethod" in marks:
            receiver: Value = (Atom(Kind.CLASS, cls.node, made=cls),)
            return run.functions.invoke(Function(function, owner.place, None, owner, receiver), args, keywords, node)
        if "staticmethod" in marks or not args:
            return run.functions.invoke(Function(function, owner.place, None, owner), args, keywords, node)
        return run.functions.invoke(Function(function, owner.place, None, owner, args[0]), args[1:], keywords, node)

    def inherited(self, name: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """`super().method(...)`: of the class behind the one whose method this is, in the object's own order."""
        function = self.run.frame.function
        if function is None or not isinstance(function.owner, ClassInfo):
            return ANYTHING
        for atom in function.receiver:
            cls = atom.made.cls if isinstance(atom.made, Obj) else None
            order = cls.order if isinstance(cls, ClassInfo) else function.owner.order
            behind = order[order.index(function.owner) + 1 :] if function.owner in order else []
            for each in behind:
                if name in each.own:
                    made = Function(each.own[name], each.place, None, each, function.receiver)
                    value = self.run.functions.invoke(made, args, keywords, node)
                    sure = isinstance(cls, ClassInfo) and refusing.is_in_line(cls)
                    callee: Value = (Atom(Kind.FUNCTION, made=made),) if sure else ()
                    refusing.note(self.run.seen, callee, args, keywords, node)
                    return value
            if isinstance(atom.made, Obj) and function.owner.container:
                if name in CONTAINER_METHODS:
                    return self.run.containers.method(function.receiver, atom.made, name, args, keywords, node)
                if name == "__init__" and (len(args) > 1 or "maxlen" in keywords):
                    atom.made.bounded = function.owner.container == "deque"
        return ANYTHING

    def entered(self, value: Value, node: ast.expr) -> Value:
        """What `with value as x` binds."""
        return value if not objects(value) else join([self._entered(atom, node) for atom in value])

    def exited(self, value: Value, node: ast.expr) -> None:
        """What the end of a `with` does that `value` was entered by."""
        for atom in value:
            cls = atom.made.cls if isinstance(atom.made, Obj) else None
            if (
                isinstance(cls, ClassInfo)
                and cls.method("__enter__") is not None
                and cls.method("__exit__") is not None
            ):
                self.run.calls.method((atom,), "__exit__", [NONE, NONE, NONE], node)

    def _entered(self, atom: Atom, node: ast.expr) -> Value:
        cls = atom.made.cls if isinstance(atom.made, Obj) else None
        if isinstance(cls, ClassInfo) and cls.method("__enter__") is not None:
            return self.run.calls.method((atom,), "__enter__", [], node)
        return (atom,)


def rebound(cls: ClassInfo) -> frozenset[str]:
    """The attributes that methods other than the constructor set."""
    return _NO_NAMES.union(*(_rebound(each.node) for each in cls.order))


_NO_NAMES: frozenset[str] = frozenset()


@of_node
def _rebound(cls: ast.ClassDef) -> frozenset[str]:
    found: set[str] = set()
    for method in cls.body:
        if isinstance(method, FUNCTIONS) and method.name != "__init__":
            nodes = (each for each in walk(method) if isinstance(each, ast.Attribute))
            found.update(each.attr for each in nodes if isinstance(each.ctx, ast.Store))
    return frozenset(found)


def is_super(node: ast.expr) -> bool:
    """Whether an expression is `super()`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
