"""Classes of the file: their methods with inheritance inside the file, and where attributes are set."""

from __future__ import annotations

import ast
from functools import cached_property

from flake8_torchleak.model.bindings import Definition, Mutation
from flake8_torchleak.model.flow import Flow
from flake8_torchleak.model.names import Names, defaults, last_name, parameters
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Tree

_MOST_BASES = 50
"""Classes of one lineage that are looked at."""
_MOST_CALLS = 20
"""Calls of one function that are looked at for what it is handed."""
_MOST_BELOW = 4
"""Classes that inherit from one without a constructor and are looked at for it."""


class ClassFacts:
    """One class with what it inherits from classes of the same file."""

    def __init__(self, node: ast.ClassDef, table: ClassTable) -> None:
        self.node = node
        self._table = table

    @cached_property
    def lineage(self) -> list[ClassFacts]:
        """This class and its bases in the file, nearest first."""
        found = [self]
        for each in found:
            for base in each.node.bases:
                known = self._table.of(base)
                if known is None or known in found:
                    continue
                if len(found) < _MOST_BASES:
                    found.append(known)
                else:
                    self._table.flow.cut.setdefault(self.node, f"it has more than {_MOST_BASES} base classes")
        return found

    @cached_property
    def outer_bases(self) -> list[ast.expr]:
        """Base expressions of the lineage that no class of the file answers."""
        return [base for each in self.lineage for base in each.node.bases if self._table.of(base) is None]

    @cached_property
    def own_methods(self) -> dict[str, FunctionNode]:
        """Methods written in this very class."""
        return {f.name: f for f in self._table.methods_by_class.get(self.node, [])}

    @cached_property
    def methods(self) -> dict[str, FunctionNode]:
        """Methods by name, inherited ones (in the file) included."""
        found: dict[str, FunctionNode] = {}
        for each in self.lineage:
            for name, function in each.own_methods.items():
                found.setdefault(name, function)
        return found

    @cached_property
    def all_functions(self) -> list[FunctionNode]:
        """Every method that may run: of the lineage, without those overridden by one that does not call `super()`."""
        found: list[FunctionNode] = []
        replaced: set[str] = set()
        for each in self.lineage:
            for name, function in each.own_methods.items():
                if name not in replaced:
                    found.append(function)
                    if not self._table.calls_super(function):
                        replaced.add(name)
        return found

    @cached_property
    def attributes(self) -> dict[str, list[Definition]]:
        """`self.x` -> its assignments in all methods, and class-level assignments, in lineage and source order.

        What a class without a constructor does not set itself is what those below it set.
        """
        found: dict[str, list[Definition]] = {}
        flow = self._table.flow
        for each in self.lineage:
            for key, definitions in flow.definitions(each.node).items():
                values = [d for d in definitions if not isinstance(d.node, (*FUNCTIONS, ast.ClassDef))]
                if values:
                    found.setdefault(f"self.{key}", []).extend(values)
        for function in self.all_functions:
            owner = self_name(function)
            for key, definitions in flow.definitions(function).items():
                head, _, rest = key.partition(".")
                if rest and head == owner and "." not in rest:
                    off = self._switched_off(function)
                    made = [each for each in definitions if not (off and self._is_under(each.statement, off))]
                    if made:
                        found.setdefault(f"self.{rest}", []).extend(made)
        if "__init__" not in self.methods:
            own = set(found)
            for each in self._table.below.get(self, ()):
                for key, definitions in each.attributes.items():
                    if key not in own:
                        found.setdefault(key, []).extend(definitions)
        return found

    def _switched_off(self, function: FunctionNode) -> frozenset[str]:
        """Parameters of an inherited constructor that this class leaves at their default, which is False or None."""
        own = self.own_methods.get("__init__")
        if function.name != "__init__" or own is None or function is own:
            return frozenset()
        handing = [call for call in self._table.tree.calls(own) if self._table.callee(call) is function]
        if len(handing) != 1 or any(k.arg is None for k in handing[0].keywords):
            return frozenset()
        if any(isinstance(argument, ast.Starred) for argument in handing[0].args):
            return frozenset()
        return frozenset(
            parameter.arg
            for parameter, default in defaults(function).items()
            if isinstance(default, ast.Constant)
            and default.value in (False, None)
            and self._table.argument(handing[0], parameter, function) is None
        )

    def _is_under(self, statement: ast.AST, flags: frozenset[str]) -> bool:
        """Whether a statement runs only if one of these parameters is true."""
        tree, child = self._table.tree, statement
        for up in tree.ancestors(statement):
            if isinstance(up, ast.If) and isinstance(up.test, ast.Name) and up.test.id in flags:
                if tree.blocks.get(child) == "body":
                    return True
            child = up
        return False

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Properties that only hand out an attribute -> that attribute."""
        return {name: attr for name, function in self.methods.items() if (attr := _handed_out(function))}

    @cached_property
    def mutations(self) -> dict[str, list[Mutation]]:
        """`self.x` -> its changes in place in all methods; of what those below it set, theirs."""
        found: dict[str, list[Mutation]] = {}
        for function in self.all_functions:
            owner = self_name(function)
            for key, changes in self._table.flow.mutations(function).items():
                head, _, rest = key.partition(".")
                if rest and head == owner and "." not in rest:
                    found.setdefault(f"self.{rest}", []).extend(changes)
        if "__init__" not in self.methods:
            own = set(found)
            for each in self._table.below.get(self, ()):
                for key, changes in each.mutations.items():
                    if key not in own:
                        found.setdefault(key, []).extend(changes)
        return found

    @cached_property
    def is_record(self) -> bool:
        """Whether it keeps what it is made of, and no more is written: a named tuple, or a dataclass."""
        decorators = (each.func if isinstance(each, ast.Call) else each for each in self.node.decorator_list)
        return self.has_base("NamedTuple") or any(last_name(each) == "dataclass" for each in decorators)

    def has_base(self, *endings: str) -> bool:
        """Whether a base outside the file has a last name that ends with one of these."""
        return any(last_name(base).endswith(endings) for base in self.outer_bases)


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
        """A method of an object that may be of a class below: what the class has not, the first below that has it."""
        found = facts.methods.get(name)
        below = self.heirs.get(facts, ()) if found is None and not name.startswith("__") else ()
        return found or next((each.own_methods[name] for each in below if name in each.own_methods), None)

    def calls_of(self, function: FunctionNode) -> list[ast.Call]:
        """Calls in the file that may run this function: by name, and for a constructor by its class (or `cls`).

        Methods are matched by name alone: an over-estimate of who calls them.
        """
        owner = self.tree.class_of(function)
        if owner is None:
            return self.called(function.name, ast.Name)
        if function.name in ("__init__", "__new__"):
            facts = self.all[owner]
            built = [facts, *(e for e in self.heirs.get(facts, ()) if e.methods.get(function.name) is function)]
            found = [c for each in built for c in self.callers.get(each.node.name, []) if self.of(c.func) is each]
            inside = [c for c in self.callers.get("cls", []) if self.around(c) in built]
            return found + inside
        return self.called(function.name, ast.Attribute)

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
            name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
            if name:
                found.setdefault(name, []).append(call)
        return found


def _handed_out(function: FunctionNode) -> str:
    """The attribute that a property gives, if it does nothing else; else ""."""
    if not any(last_name(each) in ("property", "cached_property") for each in function.decorator_list):
        return ""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    known = isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name)
    return value.attr if known and value.value.id == self_name(function) else ""  # type: ignore[union-attr]


def self_name(function: FunctionNode) -> str:
    """The name of a method's first parameter (`self`), "" for static methods and functions without one."""
    if any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list):
        return ""
    first = [*function.args.posonlyargs, *function.args.args]
    return first[0].arg if first else ""
