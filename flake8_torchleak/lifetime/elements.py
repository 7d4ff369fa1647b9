"""What containers hold and iterating gives: elements, entries, the parts of what is taken apart."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from flake8_torchleak.lifetime.identity import is_data
from flake8_torchleak.lifetime.libraries import ALONE, ARRAY
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.sites import BATCH
from flake8_torchleak.lifetime.values import (
    ANYTHING,
    ELEMENTS,
    NO_LOOPS,
    PLAIN,
    Atom,
    Kind,
    Mark,
    Obj,
    Value,
    constant,
    join,
    objects,
    of_container,
    read_from,
    varies,
)
from flake8_torchleak.lifetime.world import ClassInfo


class Elements(Part):
    """Looks up, and sets, entries."""

    def entry(self, made: Obj, name: Hashable, node: ast.expr) -> Value:
        """One element of a container, or all that it may be."""
        run = self.run
        fields = made.fields
        if isinstance(name, (str, int)) and not isinstance(name, bool):
            known = fields.get(name)
            if known:
                return known
            if isinstance(name, int) and made.kind == "instance" and isinstance(made.cls, ClassInfo):
                order = [field for field, _ in made.cls.record_fields]
                if -len(order) <= name < len(order):
                    return fields.get(order[name], ANYTHING)
            if isinstance(name, int) and name < 0:
                places = sorted(each for each in fields if isinstance(each, int))
                if ELEMENTS not in fields and len(places) >= -name:
                    return fields[places[name]]
            found = fields.get(ELEMENTS, ())
        else:
            found = self.all_of(made)
        if made.default and made.kind == "dict":
            if not found:
                found = self._defaulted(made, node)
                if isinstance(name, (str, int)):
                    run.put(made, name, found)
                else:
                    run.add(made, found)
            return found
        if isinstance(made.cls, ClassInfo) and made.cls.method("__getitem__") is not None:
            return run.calls.method(run.of(made), "__getitem__", [ANYTHING], node)
        if isinstance(name, int):
            return found or ANYTHING  # one entry: who differentiates it leaves the others as they are
        return read_from(made, found) if found else ANYTHING

    def _defaulted(self, made: Obj, node: ast.expr) -> Value:
        value = self.run.calls.apply(made.default, [], {}, node)
        for each in objects(value):
            each.born = made.born  # it stays for as long as what it is in
        return tuple(atom.but(born=made.born) for atom in value)

    def all_of(self, made: Obj) -> Value:
        """All that a container may hold."""
        return read_from(made, join(list(made.fields.values()))) if made.fields else ()

    def sliced(self, made: Obj, node: ast.Subscript) -> Value:
        """`made[1:3]`: a new container of the same kind."""
        run = self.run
        new = run.new(made.kind if made.kind in ("list", "tuple", "deque") else "list", node)
        known = self._known_slice(made, node.slice)
        if known is not None:
            for at, value in enumerate(known):
                run.put(new, at, value)
        else:
            run.add(new, self.all_of(made))
        bounds = (node.slice.lower, node.slice.upper) if isinstance(node.slice, ast.Slice) else ()
        new.bounded = any(each is not None for each in bounds)
        return run.of(new)

    def _known_slice(self, made: Obj, node: ast.expr) -> list[Value] | None:
        """What a slice takes of a list or tuple whose elements are told apart; None where they or its ends are not."""
        if not isinstance(node, ast.Slice) or made.kind not in ("list", "tuple"):
            return None
        if made.fields.keys() != set(range(len(made.fields))):
            return None
        lower, upper = (
            constant(self.run.evaluate(each)) if each is not None else None for each in (node.lower, node.upper)
        )
        if node.step is not None or not isinstance(lower, int | None) or not isinstance(upper, int | None):
            return None
        return [made.fields[at] for at in range(len(made.fields))[lower:upper]]

    def of(self, value: Value, node: ast.expr) -> Value:
        """What iterating a value gives."""
        run = self.run
        found: list[Value] = []
        for atom in value:
            made = atom.made
            if isinstance(made, Obj):
                if made.kind == "dict":
                    # Names of arguments are the same ones in each call.
                    vary = NO_LOOPS if isinstance(made.node, ast.arg) else varies(self.all_of(made))
                    found.append((Atom(Kind.NUMBER, made=Mark.ANY, vary=vary),))
                elif made.kind == "range":
                    found.append(made.fields[ELEMENTS])  # what it goes to is not among what it gives
                elif made.kind == "instance" and isinstance(made.cls, ClassInfo) and not made.cls.is_record:
                    found.append(self._iterated(atom, made.cls, node))
                else:
                    found.append(of_container(atom, self.all_of(made)))
            elif atom.kind is Kind.LOADER:
                held = None if atom.made == ALONE else atom.site
                born = run.tick()
                found.append((Atom(Kind.UNKNOWN, (node, BATCH), born=born, since=born, held=held),))
            elif atom.kind is Kind.TENSOR:
                site = (node, ELEMENTS)
                found.append(run.make.result(site, [(atom,)]) if atom.made == ARRAY else run.make.view(site, atom))
            elif atom.kind is Kind.UNKNOWN:
                born = run.tick()
                found.append(tuple(a.but(born=born) for a in run.make.part(atom, ELEMENTS)))
            elif atom.kind is Kind.NUMBER:
                found.append((atom.but(made=Mark.ANY),))
            elif atom.kind is Kind.NETWORK:
                found.append((atom,))
        return join(found) if found else ANYTHING

    def _iterated(self, atom: Atom, cls: ClassInfo, node: ast.expr) -> Value:
        if cls.method("__iter__") is not None:
            made = self.run.calls.method((atom,), "__iter__", [], node)
            if objects(made) and not any(each is atom.made for each in objects(made)):
                return self.of(made, node)
        if cls.method("__next__") is not None:
            return self.run.calls.method((atom,), "__next__", [], node)
        if cls.method("__getitem__") is not None:
            return self.run.calls.method((atom,), "__getitem__", [PLAIN], node)
        return ANYTHING

    def update(self, made: Obj, value: Value) -> None:
        """Put the entries of one container into another one, under their keys where these are known."""
        run = self.run
        for atom in value:
            other = atom.made
            if isinstance(other, Obj):
                for name, held in list(other.fields.items()):
                    each = read_from(other, held)
                    if name == ELEMENTS or made.kind != "dict" or other.kind != "dict":
                        run.add(made, each)
                    else:
                        run.put(made, name, each)
            elif atom.kind is not Kind.NUMBER:
                run.add(made, run.make.part(atom, ELEMENTS))

    def unpacked(self, value: Value, count: int, node: ast.expr) -> list[Value]:
        """The parts of a value that is taken apart."""
        found: list[list[Value]] = [[] for _ in range(count)]
        for atom in value:
            made = atom.made
            for at in range(count):
                if isinstance(made, Obj):
                    if made.kind == "dict":
                        found[at].append((Atom(Kind.NUMBER, made=Mark.ANY),))
                    else:
                        found[at].append(of_container(atom, self.entry(made, at, node)))
                elif atom.kind is Kind.TENSOR:
                    found[at].append(self.run.make.view((node, at), atom))
                elif atom.kind in (Kind.UNKNOWN, Kind.LOADER):
                    found[at].append(self.run.make.part(atom.but(kind=Kind.UNKNOWN), at))
                else:
                    found[at].append((atom.but(made=Mark.ANY) if atom.kind is Kind.NUMBER else atom,))
        return [join(each) if each else ANYTHING for each in found]

    def put(self, base: Value, index: Value, value: Value) -> None:
        """`base[index] = value`, where the index is a constant."""
        name = constant(index)
        for atom in base:
            if isinstance(atom.made, Obj):
                if isinstance(name, (str, int)):
                    old = () if len(base) == 1 else atom.made.fields.get(name, ())
                    self.run.put(atom.made, name, join([old, value]) if old else value)
                else:
                    self.run.add(atom.made, value)
            elif atom.kind is Kind.UNKNOWN or (atom.kind is Kind.NETWORK and is_data(value)):
                if isinstance(name, (str, int)):
                    self.run.make.set_part(atom, name, value)

    def put_every(self, base: Value, value: Value) -> None:
        """`base[key] = value` for each key: nothing is left that was there before.

        Of several containers that it may be, one alone is gone over.
        """
        run = self.run
        filled = [made for made in objects(base) if made.fields]
        for atom in base:
            if isinstance(atom.made, Obj) and filled == [atom.made]:
                for name in atom.made.fields:
                    run.put(atom.made, name, value)
                run.loops[-1].rewritten[id(atom.made.fields)] = atom.made
            elif isinstance(atom.made, Obj):
                run.add(atom.made, value)
            elif atom.kind is Kind.UNKNOWN:
                self.run.make.set_part(atom, ELEMENTS, value)
