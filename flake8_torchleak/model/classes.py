"""Classes of the file, and which functions calls run."""

from __future__ import annotations

import ast
from functools import cached_property

from flake8_torchleak.model.abstract import refuses
from flake8_torchleak.model.classfacts import ClassFacts as ClassFacts
from flake8_torchleak.model.classfacts import self_name as self_name
from flake8_torchleak.model.flow import Flow
from flake8_torchleak.model.names import Names, parameters
from flake8_torchleak.model.registries import entry_called, registered
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Tree

_MOST_CALLS = 20
"""Calls of one function that are looked at for what it is handed."""
_MOST_BELOW = 4
"""Classes that inherit from one without a constructor and are looked at for it."""


class ClassTable:
    """All classes of a module."""

    def __init__(self, tree: Tree, names: Names, flow: Flow) -> None:
        self.tree, self.names, self.flow = tree, names, flow

    @cached_property
    def methods_by_class(self) -> dict[ast.ClassDef, list[FunctionNode]]:
        """class -> the functions in its body."""
        found: dict[ast.ClassDef, list[FunctionNode]] = {}
        for function in self.tree.everywhere(*FUNCTIONS):
            owner = self.tree.class_of(function)
            if owner is not None:
                found.setdefault(owner, []).append(function)
        return found

    @cached_property
    def all(self) -> dict[ast.ClassDef, ClassFacts]:
        """Facts of every class, by node."""
        return {node: ClassFacts(node, self) for node in self.tree.everywhere(ast.ClassDef)}

    def forget(self) -> None:
        """Let go of every fact, for good: classes know themselves, and those above and below them."""
        for each in vars(self).get("all", {}).values():
            vars(each).clear()
        vars(self).clear()

    @cached_property
    def below(self) -> dict[ClassFacts, list[ClassFacts]]:
        """class -> the first classes with a constructor that inherit from it."""
        found: dict[ClassFacts, list[ClassFacts]] = {}
        for each in self.all.values():
            if "__init__" in each.own_methods:
                for base in each.lineage[1:]:
                    known = found.setdefault(base, [])
                    if len(known) < _MOST_BELOW:
                        known.append(each)
        return found

    @cached_property
    def heirs(self) -> dict[ClassFacts, list[ClassFacts]]:
        """class -> those of the file that inherit from it."""
        found: dict[ClassFacts, list[ClassFacts]] = {}
        for each in self.all.values():
            for base in each.lineage[1:]:
                found.setdefault(base, []).append(each)
        return found

    def running(self, facts: ClassFacts, *names: str) -> list[ClassFacts]:
        """The classes of the file whose objects run a class's methods of these names: itself, and who inherits one.

        Where it has none of them, all that inherit from it count.
        """
        asked = [facts.methods[each] for each in names if each in facts.methods]

        def runs(heir: ClassFacts) -> bool:
            taken = [(heir.methods[each.name], each) for each in asked]
            return not taken or any(own is each or self.calls_super(own) for own, each in taken)

        return [facts, *filter(runs, self.heirs.get(facts, ()))]

    @cached_property
    def own(self) -> list[ClassFacts]:
        """The classes of the module itself, in source order."""
        return [self.all[node] for node in self.tree.all(ast.ClassDef)]

    def own_calls(self, *names: str) -> list[ast.Call]:
        """The calls in the module itself of anything with these last names, name by name."""
        return [call for name in names for call in self.callers.get(name, ()) if self.tree.is_own(call)]

    def of(self, expression: ast.AST) -> ClassFacts | None:
        """The class of this file that an expression (a base, a constructor) names."""
        node = self.names.definition(expression)
        return self.all[node] if isinstance(node, ast.ClassDef) else None

    def around(self, node: ast.AST) -> ClassFacts | None:
        """The class whose method `node` is or stands in (looked for outwards through nested functions)."""
        function = node if isinstance(node, FUNCTIONS) else self.tree.function(node)
        while function is not None:
            owner = self.tree.class_of(function)
            if owner is not None:
                return self.all[owner]
            function = self.tree.function(function)
        return None

    def calls_super(self, function: FunctionNode) -> bool:
        """Whether a method hands on to the one it overrides (`super().name(...)`, `Base.name(self, ...)`)."""
        return any(
            isinstance(call.func, ast.Attribute) and call.func.attr == function.name
            for call in self.tree.calls(function)
        )

    def self_attribute(self, node: ast.AST) -> tuple[ClassFacts, str] | None:
        """(class, "x") when `node` is `self.x` (by the method's own first parameter), or a property that is no more."""
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            return None
        facts, name = self._selves(self.tree.function(node))
        if facts is None or node.value.id != name:
            return None
        return facts, facts.aliases.get(node.attr, node.attr)

    @remembered
    def _selves(self, function: FunctionNode | None) -> tuple[ClassFacts | None, str]:
        """The class around a function and the name of its methods' first parameter there."""
        if function is None:
            return None, ""
        owner = self.tree.class_of(function)
        if owner is not None:
            return self.all[owner], self_name(function)
        handed = self._handed_self(function)
        return handed if handed[0] is not None else self._selves(self.tree.function(function))

    def _handed_self(self, function: FunctionNode) -> tuple[ClassFacts | None, str]:
        """The class whose methods hand `self` to a function, and the parameter that it is for all who call it."""
        calls = self.calls_of(function)
        for parameter in parameters(function) if 0 < len(calls) <= _MOST_CALLS else ():
            given = [self._own_self(self.argument(call, parameter, function)) for call in calls]
            if given[0] is not None and all(each is given[0] for each in given):
                return given[0], parameter.arg
        return None, ""

    def _own_self(self, node: ast.expr | None) -> ClassFacts | None:
        """The class of which an expression is a method's `self`."""
        function = self.tree.function(node) if isinstance(node, ast.Name) else None
        owner = self.tree.class_of(function) if function is not None else None
        if owner is None or function is None or getattr(node, "id", "") != self_name(function):
            return None
        return self.all[owner]

    @remembered
    def self_uses(self, function: FunctionNode) -> dict[str, list[ast.Attribute]]:
        """attribute -> the places in a method where `self.attribute` stands."""
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.tree.within(function):
            owned = self.self_attribute(node) if isinstance(node, ast.Attribute) else None
            if owned is not None:
                found.setdefault(owned[1], []).append(node)  # type: ignore[arg-type]
        return found

    @remembered
    def callee(self, call: ast.Call) -> FunctionNode | None:
        """The function of this file that a call runs: a module function, a nested one, or a method of `self`."""
        func = call.func
        if isinstance(func, ast.Name):
            found = self.names.definition(func)
            return found if isinstance(found, FUNCTIONS) else None
        if isinstance(func, ast.Attribute):
            linked = self.names.definition(func)
            if isinstance(linked, FUNCTIONS):
                return linked
            if (
                isinstance(func.value, ast.Call)
                and isinstance(func.value.func, ast.Name)
                and func.value.func.id == "super"
            ):
                facts = self.around(func)
                for each in facts.lineage[1:] if facts else []:
                    if func.attr in each.own_methods:
                        return each.own_methods[func.attr]
                return None
            owned = self.self_attribute(func)
            if owned is not None:
                return self._method(*owned)
            known = self.of(func.value)
            if known is not None:
                return known.methods.get(func.attr)
        return None

    @remembered
    def gives(self, call: ast.Call) -> list[ast.expr]:
        """What the function that a call runs returns, as it stands there; nothing of generators and other code."""
        function = self.callee(call)
        nodes = self.tree.within(function) if function is not None else []
        if any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in nodes):
            return []
        return [each.value for each in nodes if isinstance(each, ast.Return) and each.value is not None]

    def record(self, node: ast.AST) -> list[ast.expr]:
        """What a new record of the file's keeps, a named tuple or dataclass: what it is made of."""
        facts = self.of(node.func) if isinstance(node, ast.Call) else None
        if facts is None or not isinstance(node, ast.Call) or not facts.is_record:
            return []
        return [*node.args, *(each.value for each in node.keywords)]

    def _method(self, facts: ClassFacts, name: str) -> FunctionNode | None:
        """A method of an object that may be of a class below: what the class leaves open, the first below has it."""
        found = facts.methods.get(name)
        is_open = found is None or refuses(found)
        below = self.heirs.get(facts, ()) if is_open and not name.startswith("__") else ()
        own = (each.own_methods[name] for each in below if name in each.own_methods)
        return next((each for each in own if not refuses(each)), found)

    def calls_of(self, function: FunctionNode) -> list[ast.Call]:
        """Calls in the file that may run this function: by name, and for a constructor by its class (or `cls`).

        Methods are matched by name alone: an over-estimate of who calls them.
        """
        owner = self.tree.class_of(function)
        if owner is None:
            calls = self.called(function.name, ast.Name)
            return [each for each in calls if not self._is_of_another_file(each, function)] + self._as_entry(function)
        if function.name in ("__init__", "__new__"):
            facts = self.all[owner]
            built = [facts, *(e for e in self.heirs.get(facts, ()) if e.methods.get(function.name) is function)]
            found = [c for each in built for c in self.callers.get(each.node.name, []) if self.of(c.func) is each]
            inside = [c for c in self.callers.get("cls", []) if self.around(c) in built]
            return found + inside
        return self.called(function.name, ast.Attribute)

    def _is_of_another_file(self, call: ast.Call, function: FunctionNode) -> bool:
        """Whether a call runs a function of the same name that another file defines."""
        found = self.names.definition(call.func)
        return (
            isinstance(found, FUNCTIONS)
            and found is not function
            and self.tree.module_of(found) is not self.tree.module_of(function)
        )

    @remembered
    def called(self, name: str, form: type[ast.expr]) -> list[ast.Call]:
        """Calls in the file of something with this name: of a variable (Name), or of a method (Attribute)."""
        return [call for call in self.callers.get(name, ()) if isinstance(call.func, form)]

    def argument(self, call: ast.Call, parameter: ast.arg, function: FunctionNode) -> ast.expr | None:
        """The expression that a call of `function` hands over for one of its parameters; None for that of another."""
        for keyword in call.keywords:
            if keyword.arg == parameter.arg:
                return keyword.value
        expected = parameters(function)
        if parameter not in expected:
            return None
        bound = self.tree.class_of(function) is not None and self_name(function) != ""
        index = expected.index(parameter) - (1 if bound else 0)
        if 0 <= index < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: index + 1]):
            return call.args[index]
        return None

    @cached_property
    def callers(self) -> dict[str, list[ast.Call]]:
        """Last name of what is called -> the calls. By name only: an over-estimate of who calls a function."""
        found: dict[str, list[ast.Call]] = {}
        for call in self.tree.everywhere(ast.Call):
            func = call.func
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") or entry_called(func)
            if name:
                found.setdefault(name, []).append(call)
        return found

    def _as_entry(self, function: FunctionNode) -> list[ast.Call]:
        """Calls of entries of the tables that a function is put in."""
        tables = self._registered.get(function.name, ()) if self._looks_up else ()
        return [call for each in tables for call in self.callers.get(each, ())]

    @cached_property
    def _looks_up(self) -> bool:
        """Whether an entry of any table is called."""
        return any(not each.isidentifier() for each in self.callers)

    @cached_property
    def _registered(self) -> dict[str, set[str]]:
        """Functions -> the tables that they are put in."""
        return registered(self.tree.everywhere(*FUNCTIONS), self.tree.everywhere(ast.Assign))
