"""Python's own functions and those of its library that move values about."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.identity import is_network
from flake8_torchleak.lifetime.partials import calling, partial, type_of
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import (
    ANYTHING,
    ELEMENTS,
    LOADING,
    NONE,
    PLAIN,
    Atom,
    Graph,
    Keywords,
    Kind,
    Mark,
    Obj,
    Value,
    all_vary,
    constant,
    join,
    number,
    objects,
    read_from,
)
from flake8_torchleak.lifetime.world import ClassInfo

_JOINING = frozenset({"itertools.chain", "itertools.zip_longest"})
_PART_OF = frozenset(
    {"itertools.islice", "itertools.cycle", "itertools.takewhile", "itertools.tee", "itertools.repeat"}
)
_DEEP = frozenset({"tuple", "list", "dict", "set", "deque"})
_MOST_DEPTH = 20
"""Containers in containers that are copied; what lies deeper is taken for what it is a copy of."""


class Builtin(Part):
    """Functions that hand on, combine or read what they are given."""

    def value(self, path: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value | None:
        """What such a function gives; None if the name is none of theirs."""
        if path in table.READ_ONLY:
            return (type_of(args[0], node) if path == "type" and len(args) == 1 else ()) or self._plain(path, args)
        if path in table.WRAPPERS and "module" in keywords:
            args = [keywords["module"]]
        if path in table.SAME and args:
            if path in table.WRAPPERS:
                self.run.seen.networks.update(atom.site for atom in args[0] if atom.graph is Graph.MAYBE)
            if path == "copy.deepcopy":
                return self._deep(args[0], node, {})
            if path == "copy.copy":  # of a tensor with history it is a leaf
                return tuple(_leaf(atom) for atom in args[0])
            return args[-1] if path == "typing.cast" else args[0]
        if path in table.CONTAINERS:
            return self._container(path, args, keywords, node)
        if path in table.ORDERINGS:
            return self._ordered(path, args, node)
        if path in ("enumerate", "zip", "map", "filter") or path in _JOINING or path in _PART_OF:
            return self._stream(path, args, node)
        if path in ("sum", "min", "max", "math.fsum"):
            return self._reduced(path, args, node)
        if path == "dict.fromkeys" and args:
            new = self.run.new("dict", node)
            self.run.add(new, args[1] if len(args) > 1 else NONE)
            return self.run.of(new)
        if path in ("importlib.import_module", "__import__") and args:
            name = constant(args[0])
            return self.run.names.imported(name, self.run.frame.place) if isinstance(name, str) else ANYTHING
        if path in ("getattr", "setattr"):
            return self._named(path, args, node)
        if path == "next":
            return self._next(args, node)
        if path in ("types.SimpleNamespace", "argparse.Namespace"):
            made = self.run.new("instance", node)
            made.fields.update(keywords)
            return self.run.of(made)
        if path == "collections.namedtuple" and len(args) > 1:
            return self._record(args, node)
        if path == "functools.partial" and args:
            return partial(self.run, args, keywords)
        if path == "operator.methodcaller" and args:
            return calling(self.run, args, keywords, node)
        if path == "functools.wraps":
            return (Atom(Kind.LIBRARY, node, made="copy.copy"),)
        if path == "functools.reduce" and len(args) > 1:
            return self.run.make.result(node, [self.run.elements.of(args[1], node), *args[2:]])
        if path in ("abs", "divmod", "pow"):
            return self.run.make.result(node, args)
        return None

    def _plain(self, path: str, args: list[Value]) -> Value:
        vary = all_vary(args)
        if path == "len" and args:
            vary |= self._growing(args[0])
        if path == "range":
            made = self.run.new("range", None)
            made.fields["count"] = (args[-1] if len(args) < 3 else args[1]) if args else PLAIN
            if len(args) > 2:
                made.fields["step"] = args[2]
            made.fields[ELEMENTS] = number(_counting(args[:1] if len(args) == 2 else []), vary)
            return self.run.of(made)
        return number(vary=vary)

    def _growing(self, value: Value) -> frozenset[int]:
        """The loops in which a container may have another length each time: those that it was there before."""
        born = [made.born for made in objects(value) if made.kind in ("list", "dict", "set", "deque")]
        born += [atom.born for atom in value if atom.kind is Kind.UNKNOWN and atom.held is None]
        return frozenset(loop.ident for loop in self.run.loops if born and max(born) < loop.start)

    def _deep(self, value: Value, node: ast.expr, known: dict[int, Obj], depth: int = _MOST_DEPTH) -> Value:
        """Copies that have memory of their own; of a container with all that is in it, once."""
        copies: list[Atom] = []
        for atom in value:
            made = atom.made
            if not (isinstance(made, Obj) and (made.kind in _DEEP or is_network(made)) and depth):
                copies.append(self._alone(atom))
                continue
            if id(made) not in known:
                cls = made.cls if isinstance(made.cls, ClassInfo) else None
                new = known[id(made)] = self.run.new(made.kind, node, cls)
                new.default = made.default
                for key, part in made.fields.items():
                    self.run.put(new, key, self._deep(read_from(made, part), node, known, depth - 1))
                self.run.needing.copied(atom, self.run.of(new)[0])
            copies += self.run.of(known[id(made)])
        return tuple(copies)

    def _alone(self, atom: Atom) -> Atom:
        """A copy of what is no container: of a network, another one."""
        if atom.kind is not Kind.NETWORK and not (atom.kind is Kind.UNKNOWN and atom.graph is Graph.MAYBE):
            return atom.but(held=None)
        new = atom.but(held=None, born=self.run.tick())
        self.run.needing.copied(atom, new)
        return new

    def _container(self, path: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        run = self.run
        made = run.new(table.CONTAINERS[path], node)
        if path == "collections.defaultdict":
            made.default = args[0] if args else ()
            args = args[1:]
        if made.kind == "deque":
            largest = keywords.get("maxlen", keywords.get("maxsize", args[1] if len(args) > 1 else ()))
            if "ueue" in path and args:
                largest, args = args[0], []
            made.bounded = bool(largest) and constant(largest) is not None
        for each in args[:1]:
            if made.kind == "dict" and objects(each) and all(one.kind == "dict" for one in objects(each)):
                run.elements.update(made, each)
            elif made.kind == "dict":
                self._pairs(made, each, node)
            else:
                self._take(made, each, node)
        for name, value in keywords.items():
            if made.kind == "dict":
                run.put(made, ELEMENTS if name == "**" else name, value)
        return run.of(made)

    def _pairs(self, made: Obj, value: Value, node: ast.expr) -> None:
        for pair in objects(self.run.elements.of(value, node)):
            self.run.add(made, pair.fields.get(1, pair.fields.get(ELEMENTS, ())))

    def _take(self, made: Obj, value: Value, node: ast.expr) -> None:
        sources = objects(value)
        made.bounded = made.bounded or (bool(sources) and all(each.bounded for each in sources))
        if len(sources) == 1 and len(value) == 1 and sources[0].kind in ("list", "tuple"):
            for name, each in sources[0].fields.items():
                self.run.put(made, name, read_from(sources[0], each))
        else:
            self.run.add(made, self.run.elements.of(value, node))
        self._stepwise(made, [value], node)

    def _stepwise(self, made: Obj, values: list[Value], node: ast.expr) -> None:
        """What is collected from a loop over steps that makes one after another is kept step by step."""
        run = self.run
        for each in values:
            for one in objects(each):
                if one.stepwise and made.kind != "generator":
                    run.keeper.gathered(run.of(made), each, node)
                elif one.stepwise:
                    made.stepwise = True

    def _ordered(self, path: str, args: list[Value], node: ast.expr) -> Value:
        run = self.run
        if not args:
            return run.of(run.new("list" if path == "list" else "set", node))
        if path == "iter" and not any(isinstance(atom.made, Obj) for atom in args[0]):
            return args[0]
        kind = "tuple" if path == "tuple" else "list" if path in ("list", "sorted") else "set"
        made = run.new("generator" if path in ("iter", "reversed") else kind, node)
        if path == "iter" and any(each.cls is LOADING for each in objects(args[0])):
            made.cls = LOADING
        self._take(made, args[0], node)
        return run.of(made)

    def _stream(self, path: str, args: list[Value], node: ast.expr) -> Value:
        run = self.run
        made = run.new("generator", node)
        loaders = [atom for value in args for atom in value if atom.kind is Kind.LOADER]
        if path == "enumerate" and args:
            pair = run.new("tuple", node)
            pair.fields[0], pair.fields[1] = number(_counting(args[1:])), run.elements.of(args[0], node)
            run.add(made, run.of(pair))
        elif path in ("zip", "itertools.zip_longest"):
            pair = run.new("tuple", node)
            pair.fields.update(enumerate(run.elements.of(each, node) for each in args))
            run.add(made, run.of(pair))
        elif path == "map" and len(args) > 1:
            elements = [run.elements.of(each, node) for each in args[1:]]
            run.add(made, run.calls.apply(args[0], elements, {}, node))
        elif path == "filter" and len(args) > 1:
            run.add(made, run.elements.of(args[1], node))
        elif path in _JOINING:
            run.add(made, join([run.elements.of(each, node) for each in args]))
        elif args:
            run.add(made, run.elements.of(args[0], node))
            made.bounded = path == "itertools.islice"
        if loaders:
            made.cls = LOADING
        self._stepwise(made, args, node)
        return run.of(made)

    def _reduced(self, path: str, args: list[Value], node: ast.expr) -> Value:
        run = self.run
        if len(args) > 1 and path != "sum":
            return join(args)
        value = run.elements.of(args[0], node) if args else ANYTHING
        if path == "sum":
            total = run.make.result(node, [value, *args[1:]])
            if args and any(made.stepwise for made in objects(args[0])):
                found = next((a for a in total if a.graph is Graph.YES), None)
                if found is not None:
                    run.keeper.collected("sum", (), found, node)
            return total
        return value

    def _named(self, path: str, args: list[Value], node: ast.expr) -> Value:
        name = constant(args[1]) if len(args) > 1 else Mark.ANY
        if not isinstance(name, str):
            born = [each.born for each in objects(args[0])] if path == "getattr" and args else []
            return ANYTHING if not born else (ANYTHING[0].but(born=min(born)),)  # no older than whose it is
        if path == "setattr":
            value = args[2] if len(args) > 2 else ANYTHING
            if name == "requires_grad":
                self.run.needing.told(args[0], value)
            self.run.attributes.put(args[0], name, value)
            return PLAIN
        return self.run.attributes.value(args[0], name, node)

    def _next(self, args: list[Value], node: ast.expr) -> Value:
        for loop in self.run.loops:
            loop.fed = True
        if not args:
            return ANYTHING
        run = self.run
        drawn = any(a.kind is Kind.LOADER or (isinstance(a.made, Obj) and a.made.cls is LOADING) for a in args[0])
        if drawn and run.loops:
            loop = run.loops[-1]
            if not loop.step and not loop.small:
                run.take_for_step(loop, "draws one batch per iteration")
        own = frozenset(loop.ident for loop in run.loops[-1:])
        return tuple(atom.varying(own) for atom in run.elements.of(args[0], node))

    def _record(self, args: list[Value], node: ast.expr) -> Value:
        """A class with these fields."""
        names: list[str] = []
        given = constant(args[1])
        if isinstance(given, str):
            names = given.replace(",", " ").split()
        for made in objects(args[1]):
            found = [constant(made.fields[at]) for at in sorted(k for k in made.fields if isinstance(k, int))]
            names = [each for each in found if isinstance(each, str)]
        body: list[ast.stmt] = [
            ast.AnnAssign(ast.Name(name, ast.Store()), ast.Constant(None), None, 1)
            for name in names
            if name.isidentifier()
        ]
        called = constant(args[0])
        cls = ast.ClassDef(called if isinstance(called, str) else "record", [], [], body, [])
        ast.copy_location(cls, node)
        info = ClassInfo(cls, self.run.frame.place, [], ["typing.NamedTuple"])
        return (Atom(Kind.CLASS, node, made=info),)


def _counting(start: list[Value]) -> Mark:
    """What numbers are that go up one by one from where they start, if that is given."""
    return Mark.COUNT if not start or constant(start[0]) == 0 else Mark.ANY


def _leaf(atom: Atom) -> Atom:
    is_tensor = atom.kind in (Kind.TENSOR, Kind.UNKNOWN) and atom.graph is Graph.YES
    return atom.but(graph=Graph.LEAF, parts=frozenset(), past=frozenset()) if is_tensor else atom
