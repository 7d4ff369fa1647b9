"""Calls: what is called, with what, and who knows what comes of it."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.instances import is_super
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import ANYTHING, ELEMENTS, Atom, Graph, Keywords, Kind, Obj, Value, join, objects
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.signatures import refuses, spreads
from flake8_torchleak.model.tree import FunctionNode

Arguments = tuple[list[Value], Keywords]


class Calls(Part):
    """Tells calls apart by what is called."""

    def value(self, node: ast.Call) -> Value:
        """What a call gives."""
        func = node.func
        if isinstance(func, ast.Attribute):
            if is_super(func.value):
                return self.run.instances.inherited(func.attr, *self.arguments(node), node)
            base = self.run.evaluate(func.value)
            args, keywords = self.arguments(node)
            return self.method(base, func.attr, args, node, keywords, func.value)
        callee = self.run.evaluate(func)
        args, keywords = self.arguments(node)
        return self.apply(callee, args, keywords, node)

    def arguments(self, node: ast.Call) -> Arguments:
        """What a call is given, by position and by name."""
        run = self.run
        args: list[Value] = []
        keywords: Keywords = {}
        for each in node.args:
            value = run.evaluate(each)
            if isinstance(each, ast.Starred):
                args += self._spread(value, each)
            else:
                args.append(value)
        for keyword in node.keywords:
            value = run.evaluate(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            else:
                for spread in objects(value):
                    for name, entry in spread.fields.items():
                        if isinstance(name, str):
                            keywords["**" if name == ELEMENTS else name] = entry
                if not objects(value):
                    keywords["**"] = run.elements.of(value, keyword.value)
        return args, keywords

    def _spread(self, value: Value, node: ast.expr) -> list[Value]:
        """What `*value` gives: all its elements where their number is known, else one for all."""
        made = objects(value)
        if len(made) == 1:
            fields = made[0].fields
            places = sorted(place for place in fields if isinstance(place, int))
            if len(places) == len(fields):
                return [fields[place] for place in places]
        return [self.run.elements.of(value, node)]

    def apply(self, callee: Value, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """Call whatever a value may be."""
        if len(callee) == 1:
            return self._one(callee[0], args, keywords, node)
        may = [atom for atom in callee if not _is_refused(atom, args, keywords, node)]
        return join([self._one(atom, args, keywords, node) for atom in may]) if may else ANYTHING

    def _one(self, atom: Atom, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        run = self.run
        atom = self._proven(atom)
        made, kind = atom.made, atom.kind
        if atom.vary:  # what is called is a network, a loss or a figure: there are some of them
            for loop in run.loops:
                loop.of_networks = loop.of_networks or loop.ident in atom.vary
        if isinstance(made, Function):
            return run.functions.invoke(made, args, keywords, node)
        if isinstance(made, ClassInfo):
            return run.instances.made(made, args, keywords, node)
        if isinstance(made, Obj):
            return run.instances.called(atom, made, args, keywords, node)
        if kind is Kind.NETWORK:
            return run.networks.called(args, keywords, node, atom)
        if kind is Kind.LAYER:
            return run.make.result(node, [*args, *keywords.values()])
        if kind is Kind.LIBRARY and isinstance(made, str):
            return run.foreign.function(made, args, keywords, node)
        return run.unseen.call(args, keywords, node, atom)

    def _proven(self, atom: Atom) -> Atom:
        """A value that may be anything, as the network that it is by what was done with it before (`x.eval()`)."""
        if atom.kind is Kind.UNKNOWN and atom.graph is not Graph.YES and atom.site in self.run.seen.networks:
            return atom.but(kind=Kind.NETWORK, graph=Graph.NO)
        return atom

    def method(
        self,
        base: Value,
        name: str,
        args: list[Value],
        node: ast.expr,
        keywords: Keywords | None = None,
        receiver: ast.expr | None = None,
    ) -> Value:
        """Call a method of whatever a value may be. receiver: the expression that it is called on."""
        run = self.run
        keywords = keywords if keywords is not None else {}
        if len(base) > 1 and receiver is not None and name.endswith("_") and not name.endswith("__"):
            if all(atom.kind is Kind.TENSOR for atom in base):
                return run.operations.in_place(base, name, args, keywords, node, receiver)
        found: list[Value] = []
        for atom in map(self._proven, base):
            made = atom.made
            if isinstance(made, Obj) and not (made.fields.get(name) or isinstance(made.cls, ClassInfo)):
                found.append(run.containers.method(base, made, name, args, keywords, node))
            elif isinstance(made, Obj):
                found.append(run.instances.method(atom, made, name, args, keywords, node))
            elif isinstance(made, ClassInfo):
                found.append(run.instances.method_of_class(made, name, args, keywords, node))
            elif atom.kind is Kind.LIBRARY:
                callee = run.attributes.value((atom,), name, node)
                found.append(self.apply(callee, args, keywords, node))
            elif isinstance(made, Function):
                if made.memo is not None and name == "cache_clear":
                    run.empty(run.of(made.memo)[0])
                found.append(run.functions.invoke(made, args, keywords, node) if name == "__call__" else ANYTHING)
            else:
                found.append(run.foreign.method(atom, name, args, keywords, node, receiver))
        return found[0] if len(found) == 1 else join(found) if found else ANYTHING


def _is_refused(atom: Atom, args: list[Value], keywords: Keywords, node: ast.expr) -> bool:
    """Whether calling one of several alternatives fails: then it is another one that is called."""
    made = atom.made
    if atom.kind is Kind.NUMBER and made is None:
        return True
    if not isinstance(node, ast.Call) or spreads(node):
        return False
    own: FunctionNode | ast.Lambda | None = None
    if isinstance(made, Function) and not made.args and not made.keywords:
        own, bound = made.node, bool(made.receiver)
    elif isinstance(made, Obj) and isinstance(made.cls, ClassInfo):
        found = made.cls.method("__call__") or (made.cls.method("forward") if made.cls.is_network else None)
        own, bound = (found[1] if found is not None else None), True
    if own is None or (not isinstance(own, ast.Lambda) and own.decorator_list):
        return False
    return refuses(own.args, len(args) + bound, keywords)
