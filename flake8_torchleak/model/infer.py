"""What an expression evaluates to: names, attributes, displays, operators. Calls are in `calls.py`.

Context-free except for helpers of the file, which are evaluated with the values they are given (bounded
depth). A budget of steps bounds the whole: past it, everything is unknown, and unknown is silent.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from flake8_torchleak.config import Config
from flake8_torchleak.model import annotations, hints
from flake8_torchleak.model.backward import Backward
from flake8_torchleak.model.calls import PLACING, Calls
from flake8_torchleak.model.classes import ClassFacts, ClassTable
from flake8_torchleak.model.flow import Definition, Flow, How, is_tensor_check
from flake8_torchleak.model.gradmode import GradMode
from flake8_torchleak.model.growth import Growth
from flake8_torchleak.model.names import Names, last_name
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode, Tree
from flake8_torchleak.model.values import (
    ARRAY_ATTRIBUTES, FLAG, NONE, NUMBER, STRING, TENSOR_ATTRIBUTES, UNKNOWN, Kind, Origin, OriginKind, Size, Value, apply, join,
)


class Env(dict[ast.arg, Value]):
    """Values of a helper's parameters for one call of it, with what was found under them."""

    __slots__ = ("memo",)

    def __init__(self, values: Mapping[ast.arg, Value]) -> None:
        super().__init__(values)
        self.memo: dict[object, Value] = {}


NO_ENV = Env({})
_BUDGET = 200_000
_MOST_DEPTH = 80
_WRAPPERS = frozenset({"enumerate", "zip", "tqdm", "trange", "islice", "track", "iter", "chain", "cycle", "zip_longest", "Bar"})
_MODEL_OUTPUTS = frozenset({"logits", "last_hidden_state", "pooler_output"})
_MOST_CALLERS = 4
"""Callers in the file whose arguments are looked at."""
_MOST_CALLS = 3
"""Helpers of helpers that are followed."""


class Infer:
    """Values of expressions of one module."""

    def __init__(
        self, tree: Tree, names: Names, flow: Flow, classes: ClassTable, grad: GradMode, config: Config
    ) -> None:
        self.tree, self.names, self.flow, self.classes, self.grad, self.config = tree, names, flow, classes, grad, config
        self.backward = Backward(tree, names, flow)
        self.growth = Growth(self)
        self.calls = Calls(self)
        self._memo: dict[object, Value] = {}
        self._active: set[object] = set()
        self._attributes: dict[tuple[ast.ClassDef, str], Value] = {}
        self._steps = 0
        self._provisional: dict[object, Value] = {}
        self._cuts = 0
        self._call_depth = 0

    def value(self, node: ast.AST, env: Env = NO_ENV) -> Value:
        """What is known of the value of `node`; `env` gives the parameters of the helper it stands in."""
        known = (env.memo if env else self._memo).get(node)
        if known is None and not env:
            known = self._provisional.get(node)
        if known is not None:
            return known
        self._steps += 1
        if node in self._active or len(self._active) > _MOST_DEPTH or self._steps > _BUDGET:
            self._cuts += 1
            return UNKNOWN
        cuts, outermost = self._cuts, not self._active
        self._active.add(node)
        try:
            handler = getattr(self, "_" + node.__class__.__name__.lower(), None)
            found: Value = handler(node, env) if handler else UNKNOWN
            if found.graph and isinstance(node, (ast.Call, ast.BinOp)) and self.grad.off(node):
                found = found.but(graph=False)
        finally:
            self._active.discard(node)
        self._keep(node, found, env, cuts, outermost)
        return found

    # -- names and attributes -------------------------------------------------------------------------------

    def _name(self, node: ast.Name, env: Env) -> Value:
        generator = self.names.comprehension(node)
        if generator is not None:
            for definition in self._comprehension_targets(generator):
                if definition.key == node.id:
                    return self.definition(definition, env)
        reaching = self.flow.reaching(node.id, node)
        if not reaching:
            return self.named(node.id, node)
        return self.variable(node.id, reaching, node, env)

    def _comprehension_targets(self, generator: ast.comprehension) -> list[Definition]:
        found: list[Definition] = []
        self.flow.targets(generator.target, generator.iter, generator, How.ITERATE, (), found)
        return found

    def variable(self, key: str, reaching: list[Definition], use: ast.AST, env: Env) -> Value:
        """The join of what the definitions give, grown by what is put into it."""
        found = join([self.definition(each, env) for each in reaching])
        if found.is_container and found.kind is not Kind.JSON:
            mutations = self.flow.mutations(self.tree.scope(reaching[0].node)).get(key, [])
            found = self.growth.grown(found, mutations, reaching[0], env)
        elif found.kind is Kind.TENSOR and found.graph is not True:
            filled = self.flow.mutations(self.tree.scope(reaching[0].node)).get(key, [])
            if any(m.method == "setitem" and m.value is not None and self.value(m.value, env).graph for m in filled[:5]):
                found = found.but(graph=True)
        return found

    def named(self, name: str, node: ast.AST) -> Value:
        """What a name alone suggests, where nothing says more."""
        if hints.is_loader(name):
            return Value(Kind.LOADER, why=())
        if hints.is_model(name):
            return Value(Kind.MODULE)
        if hints.is_dataset(name):
            return Value(Kind.DATASET)
        return UNKNOWN

    def definition(self, definition: Definition, env: Env) -> Value:
        """What one definition binds its variable to."""
        known = (env.memo if env else self._memo).get(definition)
        if known is None and not env:
            known = self._provisional.get(definition)
        if known is not None:
            return known
        if definition in self._active or len(self._active) > _MOST_DEPTH:
            self._cuts += 1
            return UNKNOWN
        cuts, outermost = self._cuts, not self._active
        self._active.add(definition)
        try:
            found = self._definition(definition, env)
        finally:
            self._active.discard(definition)
        self._keep(definition, found, env, cuts, outermost)
        return found

    def _keep(self, key: object, found: Value, env: Env, cuts: int, outermost: bool) -> None:
        """Remember a value: for good, or, if a cycle cut its evaluation short, for the question under way."""
        if env or cuts == self._cuts or outermost:
            (env.memo if env else self._memo)[key] = found
        else:
            self._provisional[key] = found
        if outermost:
            self._provisional.clear()

    def _definition(self, definition: Definition, env: Env) -> Value:
        node, name = definition.node, definition.key.rpartition(".")[2]
        if definition.how is How.PARAMETER and isinstance(node, ast.arg):
            return env[node] if node in env else self.parameter(node, definition.statement)
        statement = definition.statement
        if definition.value is None:
            return annotations.annotated(statement.annotation, self.names) if isinstance(statement, ast.AnnAssign) else UNKNOWN
        value = self.value(definition.value, env)
        if isinstance(statement, ast.AnnAssign) and value.kind in (Kind.UNKNOWN, Kind.INSTANCE):
            value = annotations.annotated(statement.annotation, self.names)
        if definition.how is How.ITERATE:
            value = self.element(value, definition.value)
        elif definition.how is How.AUGMENT:
            before = join([self.definition(d, env) for d in self.flow.reaching(definition.key, definition.node)])
            if before.is_container:
                return before
            return self.arithmetic(before, value)
        elif definition.how is How.REST:
            return Value(Kind.LIST, element=value.element)
        for index in definition.path:
            value = self.part(value, index)
        if definition.path and value.graph:
            unsure = value.kind is Kind.UNKNOWN and hints.is_plain_result(name)
            if unsure or self.calls.is_loss_function(definition.value):
                value = value.but(graph=None)  # the loss and what else its function returns: floats as often as tensors
        if value.kind in (Kind.INSTANCE, Kind.PICKLE) and value.made is None and hints.is_model(name):
            return Value(Kind.MODULE)
        if value.graph is None and value.kind in (Kind.UNKNOWN, Kind.TENSOR):
            if definition in self.backward.roots(self.tree.scope(definition.node)):
                return Value(Kind.TENSOR, graph=True, why=((definition.node, f"`{definition.key}` is differentiated"),))
            if value.origin is None and value.kind is Kind.UNKNOWN:
                value = self.named(name, node)
        return value

    def value_of(self, parameter: ast.arg) -> Value:
        """What a parameter holds, without a particular call in view."""
        function = self.tree.scope(parameter)
        return self.parameter(parameter, function)

    def default(self, node: ast.arg, function: FunctionNode) -> ast.expr | None:
        """A parameter's default."""
        a = function.args
        positional = [*a.posonlyargs, *a.args]
        given = dict(zip(positional[len(positional) - len(a.defaults) :], a.defaults, strict=True))
        given |= {p: d for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None}
        return given.get(node)

    def parameter(self, node: ast.arg, function: ast.AST) -> Value:
        """What a parameter holds, by annotation, default, documentation or name."""
        if isinstance(function, FUNCTIONS):
            default = self.default(node, function)
            if isinstance(default, (ast.List, ast.Tuple, ast.Dict, ast.Set)) and not _is_empty(default):
                return self.value(default)
        if node.annotation is not None:
            found = annotations.annotated(node.annotation, self.names)
            if found.kind is not Kind.UNKNOWN:
                return found
        if isinstance(function, FUNCTIONS):
            owner = self.tree.class_of(function)
            for documented in (function, owner) if owner is not None else (function,):
                found = annotations.documented(node.arg, ast.get_docstring(documented) or "")
                if found.kind is not Kind.UNKNOWN:
                    return found
            found = self.passed(node, function)
            if found.kind is not Kind.UNKNOWN or found.graph:
                return found
        return self.named(node.arg, node)

    def passed(self, node: ast.arg, function: FunctionNode) -> Value:
        """What the calls in the file hand over for a parameter: the join of the arguments."""
        if (node, "passed") in self._active:
            self._cuts += 1
            return UNKNOWN
        self._active.add((node, "passed"))
        try:
            found = []
            for call in self.classes.calls_of(function)[:_MOST_CALLERS]:
                if function.name != "__init__" and self.classes.callee(call) is not function:
                    continue
                argument = self.classes.argument(call, node, function)
                if argument is not None:
                    found.append(self.value(argument))
            return join([v.but(origin=None) for v in found]) if found else UNKNOWN
        finally:
            self._active.discard((node, "passed"))

    def _attribute(self, node: ast.Attribute, env: Env) -> Value:
        owned = self.classes.self_attribute(node)
        if owned is not None:
            return self._self_attribute(node, *owned, env)
        base = self.value(node.value, env)
        if base.kind is Kind.TENSOR or (base.graph and base.kind is Kind.UNKNOWN):
            effect = TENSOR_ATTRIBUTES.get(node.attr)
            if effect is not None:
                return apply(effect, base)
        if base.kind is Kind.ARRAY and node.attr in ARRAY_ATTRIBUTES:
            return apply(ARRAY_ATTRIBUTES[node.attr], base)
        if base.kind is Kind.INSTANCE and base.made in self.classes.all:
            found = self.attribute(self.classes.all[base.made], node.attr)
            return found.but(origin=base.origin) if base.origin else found
        if base.kind is Kind.FRAME:
            return Value(Kind.ARRAY if node.attr == "values" else Kind.FRAME, why=base.why)
        if base.kind is Kind.INDEX:
            return Value(Kind.DICT, size=Size.GROWS, element=UNKNOWN, origin=base.origin, why=base.why)
        if base.kind is Kind.UNKNOWN and node.attr in _MODEL_OUTPUTS and isinstance(node.value, ast.Call) and not self.grad.off(node):
            return Value(graph=True, why=((node, f"`.{node.attr}` of a model's output"),))
        if base.kind is Kind.UNKNOWN and (base.origin or base.graph):
            if node.attr in ("dstdata", "srcdata", "ndata", "edata"):
                return UNKNOWN  # a DGL graph gathers these in the main process
            if base.graph and hints.is_plain_result(node.attr):
                return UNKNOWN
            return Value(graph=base.graph, origin=base.origin, why=base.why)
        if base.kind is Kind.MODULE and not node.attr.endswith(("_", "s")):
            return Value(Kind.MODULE) if node.attr in ("module", "model") else self.named(node.attr, node)
        key_reaching = self.flow.reaching(f"{last_name(node.value)}.{node.attr}", node) if isinstance(node.value, ast.Name) else []
        if key_reaching:
            return self.variable(key_reaching[0].key, key_reaching, node, env)
        return self.named(node.attr, node)

    def _self_attribute(self, node: ast.Attribute, facts: ClassFacts, attr: str, env: Env) -> Value:
        key = f"{node.value.id}.{attr}"  # type: ignore[attr-defined]
        scope = self.tree.scope(node)
        if key in self.flow.definitions(scope):
            reaching = self.flow.reaching(key, node, scope)
            if reaching and self.flow.dominates(reaching[-1], node):
                return self.variable(key, reaching, node, env)
        found = self.attribute(facts, attr)
        if attr in facts.methods and f"self.{attr}" not in facts.attributes:
            method = facts.methods[attr]
            if is_property(method):
                found = self.returned(method, NO_ENV)
        return found.but(origin=found.origin or Origin(OriginKind.STATE, f"self.{attr}", node))

    def attribute(self, facts: ClassFacts, attr: str) -> Value:
        """What `self.attr` holds once the object is built: its final bindings, grown by what methods put in."""
        memo = (facts.node, attr)
        known = self._attributes.get(memo)
        if known is not None:
            return known
        if memo in self._active:
            self._cuts += 1
            return UNKNOWN
        self._active.add(memo)
        try:
            definitions = self.final_bindings(facts, attr)
            found = join([self.definition(each, NO_ENV) for each in definitions]) if definitions else UNKNOWN
            if found.is_container and found.element is not None and self.growth.is_rewritten(facts, attr):
                found = found.but(element=found.element.but(fields=(), element=None))
            if found.is_container and found.kind is not Kind.JSON:
                found = self.growth.grown(found, facts.mutations.get(f"self.{attr}", []), None, NO_ENV)
            if found.kind is Kind.UNKNOWN and found.graph is None:
                hinted = self.named(attr, facts.node)
                found = hinted if hinted.kind is not Kind.UNKNOWN else found
        finally:
            self._active.discard(memo)
        self._attributes[memo] = found
        return found

    def final_bindings(self, facts: ClassFacts, attr: str) -> list[Definition]:
        """Assignments of `self.attr` that may still hold when their method ends, `__init__` first."""
        found: list[Definition] = []
        by_function: dict[ast.AST, list[Definition]] = {}
        for each in facts.attributes.get(f"self.{attr}", []):
            by_function.setdefault(self.tree.scope(each.node), []).append(each)
        for function, definitions in by_function.items():
            for each in reversed(definitions):
                if self._converts(each, attr):
                    return [each]
                found.append(each)
                if isinstance(function, FUNCTIONS) and self.flow.always_before(each.statement, function.body[-1]):
                    break
        return found

    def _converts(self, definition: Definition, attr: str) -> bool:
        """`self.x = f(self.x)` with a call: whatever it was, it is what the call makes of it now."""
        value = definition.value
        if isinstance(value, ast.Call) and last_name(value.func) in ("sorted", "list", "tuple", "set", "dict", "reversed"):
            return False
        return isinstance(value, ast.Call) and any(
            isinstance(a, ast.Attribute) and a.attr == attr and self.classes.self_attribute(a) is not None for a in value.args
        )

    def loader_of(self, iterable: ast.expr, depth: int = 4) -> Value | None:
        """The LOADER that iterating an expression goes over, also through enumerate, zip, tqdm and the like."""
        value = self.value(iterable)
        if value.kind is Kind.LOADER:
            return value
        if not depth or value.kind not in (Kind.ITERATOR, Kind.UNKNOWN):
            return None
        inner: list[ast.expr] = []
        if isinstance(iterable, ast.Call) and last_name(iterable.func) in _WRAPPERS:
            inner = [a for a in iterable.args if not isinstance(a, ast.Starred)]
        elif isinstance(iterable, ast.Name):
            inner = [d.value for d in self.flow.reaching(iterable.id, iterable) if d.value is not None and d.how is How.ASSIGN and not d.path]
        found = (self.loader_of(each, depth - 1) for each in inner)
        return next((each for each in found if each is not None), None)

    # -- parts and elements ---------------------------------------------------------------------------------

    def element(self, value: Value, node: ast.AST | None = None) -> Value:
        """What iterating over (or subscripting) a value gives."""
        if value.kind is Kind.LOADER:
            prepared = isinstance(value.made, ast.Call) and (
                last_name(value.made.func) in PLACING or self.names.qualname(value.made.func).startswith("dgl.")
            )
            kind = OriginKind.DEVICE if prepared else OriginKind.BATCH
            return Value(graph=False, origin=Origin(kind, "batch", node or ast.Pass()), made=value.made)
        if value.kind in (Kind.TENSOR, Kind.ARRAY):
            origin = replace(value.origin, view=True, element=True) if value.origin else None
            return Value(value.kind, graph=value.graph, origin=origin, why=value.why)
        if value.kind is Kind.FILE:
            return STRING
        if value.kind is Kind.JSON:
            return Value(Kind.JSON, why=value.why).within(value)
        if value.element is not None:
            return value.element.within(value)
        if value.kind is Kind.STRING:
            return STRING
        return Value(graph=value.graph if value.kind is Kind.UNKNOWN else None, why=value.why).within(value)

    def part(self, value: Value, index: int) -> Value:
        """The item at a constant index, as in unpacking."""
        if value.items and -len(value.items) <= index < len(value.items):
            return value.items[index].within(value)
        return self.element(value)

    def _subscript(self, node: ast.Subscript, env: Env) -> Value:
        base = self.value(node.value, env)
        index = node.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, int) and base.items:
            return self.part(base, index.value)
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            for name, value in base.fields:
                if name == index.value:
                    return value.within(base)
            if base.graph and base.kind is Kind.UNKNOWN:
                return UNKNOWN if hints.is_plain_result(index.value) else base
            if base.kind is Kind.JSON:
                return base
        if base.kind in (Kind.ARRAY, Kind.TENSOR):
            return self.indexed(base, index, env)
        if base.kind is Kind.LOADER and not isinstance(index, ast.Slice):
            return base
        if isinstance(index, ast.Slice) and (base.is_container or base.kind is Kind.STRING):
            return base.but(origin=None, items=())
        if base.kind is Kind.FRAME:
            return Value(Kind.FRAME, why=base.why)
        if base.kind is Kind.UNKNOWN and base.origin is not None and self.is_fancy(index, env):
            return Value(graph=base.graph)
        return self.element(base, node)

    def is_fancy(self, index: ast.expr, env: Env) -> bool:
        """Whether an index copies: an array, a list or a mask, alone or among slices."""
        for each in index.elts if isinstance(index, ast.Tuple) else [index]:
            if isinstance(each, (ast.List, ast.Compare, ast.ListComp)):
                return True
            if not isinstance(each, (ast.Slice, ast.Constant)):
                inner = self.value(each, env)
                if inner.kind in (Kind.LIST, Kind.ARRAY, Kind.TENSOR, Kind.RANGE):
                    return True
        return False

    def indexed(self, base: Value, index: ast.expr, env: Env) -> Value:
        """`a[index]` of an array or tensor: a view for basic indices, a copy for arrays and lists of them."""
        if self.is_fancy(index, env):
            return Value(base.kind, graph=base.graph)
        if base.kind is Kind.ARRAY and base.ndim == 1 and not isinstance(index, (ast.Slice, ast.Tuple)):
            return NUMBER
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        whole = base.origin is not None and not base.origin.view
        if base.kind is Kind.ARRAY and not any(isinstance(p, ast.Slice) or getattr(p, "value", 0) in (..., None) for p in parts):
            if len(parts) > 1 or not whole:
                return Value(Kind.ARRAY, graph=False)  # a scalar, unless there are more dimensions than indices
        found = self.element(base)
        stepped = any(isinstance(p, ast.Slice) and p.step is not None for p in parts)
        if found.origin is not None and (stepped or len(parts) > 1):
            return found.but(origin=replace(found.origin, strided=True))
        return found

    # -- displays and operators -----------------------------------------------------------------------------

    def _constant(self, node: ast.Constant, env: Env) -> Value:
        if node.value is None:
            return NONE
        if isinstance(node.value, bool):
            return FLAG
        return STRING if isinstance(node.value, (str, bytes)) else NUMBER

    def _joinedstr(self, node: ast.JoinedStr, env: Env) -> Value:
        return STRING

    def _list(self, node: ast.List | ast.Tuple | ast.Set, env: Env) -> Value:
        kind = {ast.List: Kind.LIST, ast.Tuple: Kind.TUPLE, ast.Set: Kind.SET}[node.__class__]
        items = tuple(self.value(each, env) for each in node.elts[:20])
        large = len(node.elts) >= self.config.min_literal
        spread = [v for e, v in zip(node.elts, items, strict=False) if isinstance(e, ast.Starred)]
        size = Size.GROWS if large or any(v.grows for v in spread) else Size.SMALL
        graph = True if any(v.graph for v in items) else None
        why: tuple[tuple[ast.AST, str], ...] = ((node, f"a literal of {len(node.elts)} elements"),) if large else ()
        items_known = items if not spread and len(node.elts) <= 20 else ()
        return Value(kind, graph, size, join(list(items)) if items else None, None, why, items_known)

    _tuple = _set = _list

    def _starred(self, node: ast.Starred, env: Env) -> Value:
        return self.value(node.value, env)

    def _dict(self, node: ast.Dict, env: Env) -> Value:
        values = [self.value(each, env) for each in node.values[:50]]
        large = len(node.values) >= self.config.min_literal
        fields = tuple(
            (key.value, value)
            for key, value in zip(node.keys, values, strict=False)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        )
        graph = True if any(v.graph for v in values) else None
        why: tuple[tuple[ast.AST, str], ...] = ((node, f"a literal of {len(node.values)} entries"),) if large else ()
        size = Size.GROWS if large else Size.SMALL
        return Value(Kind.DICT, graph, size, join(values) if values else None, None, why, (), fields)

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, env: Env) -> Value:
        kind = {ast.ListComp: Kind.LIST, ast.SetComp: Kind.SET, ast.GeneratorExp: Kind.ITERATOR}[node.__class__]
        element = self.value(node.elt, env)
        size, why = self.growth.iteration([g.iter for g in node.generators], env)
        return Value(kind, True if element.graph else None, size, element, None, why or ((node, "built by a comprehension"),))

    _setcomp = _generatorexp = _listcomp

    def _dictcomp(self, node: ast.DictComp, env: Env) -> Value:
        element = self.value(node.value, env)
        size, why = self.growth.iteration([g.iter for g in node.generators], env)
        return Value(Kind.DICT, True if element.graph else None, size, element, None, why or ((node, "built by a comprehension"),))

    def _binop(self, node: ast.BinOp, env: Env) -> Value:
        left_most = node.left
        operands = [node.right]
        while isinstance(left_most, ast.BinOp):  # a sum of 3,000 terms is 3,000 levels deep
            operands.append(left_most.right)
            left_most = left_most.left
        found = self.value(left_most, env)
        for operand in reversed(operands[-200:]):
            found = self.arithmetic(found, self.value(operand, env), node.op)
        return found

    def arithmetic(self, left: Value, right: Value, operator: ast.operator | None = None) -> Value:
        """The result of a binary operator: new memory; it carries a graph if either side does."""
        if isinstance(operator, ast.Div) and Kind.PATH in (left.kind, right.kind):
            return Value(Kind.PATH, graph=False)
        if left.is_container and (right.is_container or isinstance(operator, (ast.Mult, ast.Add))):
            if isinstance(operator, ast.Mult):
                return left.but(size=Size.SMALL, origin=None, items=())
            both = [left, right]
            return join(both).but(origin=None, items=()) if right.is_container else left.but(origin=None, items=())
        if Kind.STRING in (left.kind, right.kind):
            return STRING
        if left.graph or right.graph:
            return Value(Kind.TENSOR, graph=True, why=left.why if left.graph else right.why)
        if Kind.TENSOR in (left.kind, right.kind):
            known = left.graph is False and right.graph is False
            return Value(Kind.TENSOR, graph=False if known else None)
        if Kind.ARRAY in (left.kind, right.kind):
            return Value(Kind.ARRAY, graph=False)
        return NUMBER if left.kind is right.kind is Kind.NUMBER else UNKNOWN

    def _unaryop(self, node: ast.UnaryOp, env: Env) -> Value:
        inner = self.value(node.operand, env)
        return inner.but(origin=None) if not isinstance(node.op, ast.Not) else NUMBER

    def _boolop(self, node: ast.BoolOp, env: Env) -> Value:
        return join([self.value(each, env) for each in node.values])

    def _compare(self, node: ast.Compare, env: Env) -> Value:
        if any(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in node.ops):
            return FLAG
        kinds = {self.value(each, env).kind for each in (node.left, *node.comparators)}
        mask = Kind.TENSOR if Kind.TENSOR in kinds else Kind.ARRAY if Kind.ARRAY in kinds else Kind.UNKNOWN
        return Value(mask, graph=False)

    def _ifexp(self, node: ast.IfExp, env: Env) -> Value:
        if is_tensor_check(node.test) and isinstance(node.test, ast.Call) and self.value(node.test.args[0], env).graph:
            return self.value(node.body, env)
        return join([self.value(node.body, env), self.value(node.orelse, env)])

    def _namedexpr(self, node: ast.NamedExpr, env: Env) -> Value:
        return self.value(node.value, env)

    def _await(self, node: ast.Await, env: Env) -> Value:
        return self.value(node.value, env)

    def _call(self, node: ast.Call, env: Env) -> Value:
        return self.calls.value(node, env)

    # -- helpers of the file --------------------------------------------------------------------------------

    def returned(self, function: FunctionNode, env: Env) -> Value:
        """What calling a function of the file gives: the join of its returns (an iterator if it yields)."""
        if self._call_depth >= _MOST_CALLS or function in self._active:
            self._cuts += 1
            return UNKNOWN
        self._active.add(function)
        self._call_depth += 1
        try:
            returns, yields = [], []
            for node in self.tree.within(function):
                if isinstance(node, ast.Return) and node.value is not None:
                    returns.append(self.value(node.value, env))
                elif isinstance(node, (ast.Yield, ast.YieldFrom)) and node.value is not None:
                    yields.append(self.value(node.value, env))
            if yields:
                return Value(Kind.ITERATOR, element=join(yields))
            if len(returns) > 1 and all(v.items for v in returns) and len({len(v.items) for v in returns}) == 1:
                columns = tuple(join([v.items[i] for v in returns]) for i in range(len(returns[0].items)))
                return returns[0].but(items=columns)
            return join(returns) if returns else NONE
        finally:
            self._call_depth -= 1
            self._active.discard(function)


def _is_empty(display: ast.List | ast.Tuple | ast.Dict | ast.Set) -> bool:
    return not (display.keys if isinstance(display, ast.Dict) else display.elts)


def is_property(function: FunctionNode) -> bool:
    """Whether a method is read like an attribute."""
    return any(last_name(d) in ("property", "cached_property", "lazy_property") for d in function.decorator_list)
