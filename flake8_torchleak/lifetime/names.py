"""What names stand for where the run is: variables, imports, functions and classes of the project."""

from __future__ import annotations

import ast
import builtins

from flake8_torchleak.lifetime.frames import Frame, Function
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import ANYTHING, Atom, Graph, Kind, Value, join
from flake8_torchleak.lifetime.world import ClassInfo, Definition, Place, binding, import_of
from flake8_torchleak.model import hints
from flake8_torchleak.model.aliases import known_as
from flake8_torchleak.model.names import dotted
from flake8_torchleak.model.starred import from_star
from flake8_torchleak.model.tree import FUNCTIONS

_BUILTINS = frozenset(dir(builtins))


class Names(Part):
    """Looks up, and binds, names."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.classes: dict[ast.ClassDef, ClassInfo] = {}
        self._blocks: dict[ast.If | ast.Try, dict[str, list[ast.stmt]]] = {}
        self._asked: set[tuple[str, str]] = set()
        """Variables of modules whose value is being looked up."""

    def value(self, node: ast.Name) -> Value:
        """What a name stands for where the run is."""
        frame: Frame | None = self.run.frames[-1]
        name = node.id
        while frame is not None:
            scope = frame.scope
            if scope is None or name in scope.globals:
                break
            found = frame.variables.fields.get(name)
            if found:
                return found
            if name in scope.own:
                return self._unbound(node)
            frame = frame.function.closure if frame.function is not None else None
        found = self.of_module(name, self.run.frame.place)
        return found if found else self._unbound(node)

    def _unbound(self, node: ast.Name) -> Value:
        if node.id in _BUILTINS or node.id == "torch":  # it comes with a star
            return (Atom(Kind.LIBRARY, node.id, made=node.id),)
        return self.suggested(node.id, self.run.make.unknown(node.id))

    def suggested(self, name: str, value: Value) -> Value:
        """What a name suggests of a value that nothing is known of."""
        atom = value[0]
        if atom.kind is not Kind.UNKNOWN or len(value) > 1:
            return value
        if atom.held is not None:
            if hints.is_tensor(name):
                self.run.seen.named_tensors.add(atom.site)
            return (atom.but(held=None),) if hints.is_text(name) else value
        if atom.graph is not Graph.MAYBE:
            return value  # a name silences nothing that is known
        if atom.site in self.run.seen.networks or hints.is_model(name):
            self.run.seen.named.add(atom.site)
            return (atom.but(kind=Kind.NETWORK, graph=Graph.NO),)
        if hints.is_loader(name) and not name.endswith("s"):
            return (atom.but(kind=Kind.LOADER, graph=Graph.NO),)
        return value

    def bind(self, name: str, value: Value) -> None:
        """Set a variable."""
        run = self.run
        frame = run.frame
        if value and value[0].kind is Kind.UNKNOWN:
            value = self.suggested(name, value)
        scope = frame.scope
        if scope is None or name in scope.own:
            run.journal.put(frame.variables.fields, name, value)
            return
        outer = frame.function.closure if frame.function is not None else None
        while outer is not None and name not in scope.globals:
            if outer.scope is not None and name in outer.scope.own:
                run.put(outer.variables, name, value)
                return
            outer = outer.function.closure if outer.function is not None else None
        run.put(frame.place.variables, name, value)

    def of_module(self, name: str, place: Place) -> Value:
        """A variable of a module; () if it has none of this name."""
        fields = place.variables.fields
        found = fields.get(name)
        if found:
            return found
        statements = place.binding(name)
        if not statements and not place.stars:
            return ()
        if (place.path, name) in self._asked:
            return ()  # it is made of itself
        self._asked.add((place.path, name))
        value: Value = ()
        try:
            for statement in statements:
                given = self._bound_by(statement, name, place)
                value = given or value
            starred = place.starred(name) if not statements else None
            if starred is not None:
                value = self.defined(*starred)
            elif not statements and place.stars:
                value = self._starred(name, place)
        finally:
            self._asked.discard((place.path, name))
        if value:
            fields[name] = value  # not in the journal: it was there all the time
        return value

    def _starred(self, name: str, place: Place) -> Value:
        """What came with all names of a module: a variable of the project's, or of a library."""
        for star in place.stars:
            value = self._variable(star + name if star.endswith(".") else f"{star}.{name}", place)
            if value:
                return value
        path = from_star(place.stars, name)
        return self.imported(path, place) if path else ()

    def _bound_by(self, statement: ast.stmt, name: str, place: Place) -> Value:
        if isinstance(statement, FUNCTIONS):
            return self.run.functions.decorated(statement, Function(statement, place))
        if isinstance(statement, ast.ClassDef):
            return self.of_class(statement, place)
        if isinstance(statement, (ast.If, ast.Try)):
            found = [self._bound_by(each, name, place) for each in self._binding_in(statement).get(name, ())]
            return next((each for each in found if each), ())
        target = import_of(statement, name)
        if target:
            return self.imported(target, place)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(each, ast.Name) and each.id == name for each in targets):
                return self.run.functions.at_top(statement.value, place)
            return ANYTHING
        return ()

    def _binding_in(self, statement: ast.If | ast.Try) -> dict[str, list[ast.stmt]]:
        """For each name: the statements of the branches of a statement that bind it."""
        known = self._blocks.get(statement)
        if known is None:
            handlers = (inner for handler in getattr(statement, "handlers", ()) for inner in handler.body)
            known = self._blocks[statement] = binding([*statement.body, *statement.orelse, *handlers])
        return known

    def imported(self, target: str, place: Place) -> Value:
        """What a dotted name that is imported stands for."""
        known = place.libraries.get(target)
        if known is not None:
            return known
        found = place.definition(target)
        if found is not None:
            return self.defined(*found)
        value: Value = self._variable(target, place)
        if not value:
            path = known_as(target)
            value = (Atom(Kind.LIBRARY, path, made=path),)
        if place.variable(target) is None:
            place.libraries[target] = value
        return value

    def _variable(self, target: str, place: Place) -> Value:
        """A variable of another module of the project that is imported, or read of that module; () if there is none."""
        found = place.variable(target)
        return self.of_module(found[1], found[0]) if found is not None else ()

    def defined(self, place: Place, node: Definition) -> Value:
        """The function or class that a definition at the top of a module makes."""
        if isinstance(node, ast.ClassDef):
            return self.of_class(node, place)
        return self.run.functions.decorated(node, Function(node, place))

    def of_class(self, node: ast.ClassDef, place: Place) -> Value:
        """A class as a value."""
        return (Atom(Kind.CLASS, node, made=self.class_info(node, place)),)

    def class_info(self, node: ast.ClassDef, place: Place) -> ClassInfo:
        """What is known of a class."""
        known = self.classes.get(node)
        if known is not None:
            return known
        bases: list[ClassInfo] = []
        foreign: list[str] = []
        self.classes[node] = ClassInfo(node, place, [], [])  # of a class that derives from itself
        for base in node.bases:
            each = base.value if isinstance(base, ast.Subscript) else base
            parts = dotted(each)
            found = self.named(parts, place) if parts else ()
            for atom in found:
                if isinstance(atom.made, ClassInfo):
                    bases.append(atom.made)
                elif isinstance(atom.made, str):
                    foreign.append(atom.made)
            if not found and parts:
                foreign.append(".".join(parts))
        info = self.classes[node] = ClassInfo(node, place, bases, foreign)
        return info

    def named(self, parts: list[str], place: Place) -> Value:
        """What a dotted name stands for at the top of a module."""
        value = self.of_module(parts[0], place)
        for part in parts[1:]:
            value = join([self._part(atom, part, place) for atom in value])
        return value

    def _part(self, atom: Atom, name: str, place: Place) -> Value:
        """What a module, or a class of the project, has under a name."""
        if isinstance(atom.made, ClassInfo):
            return self.run.attributes.of_class(atom.made, name)
        return self.in_library(atom.made, name, place) if isinstance(atom.made, str) else ()

    def in_library(self, path: str, name: str, place: Place) -> Value:
        """A name of a module: of the project what it defines, of a library its dotted name."""
        return self.imported(f"{path}.{name}", place)
