"""Calls: what is called, with what, and who knows what comes of it."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime import refusing
from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.instances import is_super
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import ANYTHING, ELEMENTS, Atom, Graph, Keywords, Kind, Obj, Value, join, objects
from flake8_torchleak.lifetime.world import ClassInfo

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
            value = self._one(callee[0], args, keywords, node)
        else:
            may = [atom for atom in callee if not refusing.is_refused(atom, args, keywords, node)]
            value = join([self._one(atom, args, keywords, node) for atom in may]) if may else ANYTHING
        refusing.note(self.run.seen, callee, args, keywords, node)
        return value

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
        if len(base) > 1 and isinstance(node, ast.Call):
            if not all(isinstance(atom.made, Obj) and isinstance(atom.made.cls, ClassInfo) for atom in base):
                run.seen.fitting.add(node)
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
