"""What an expression evaluates to: the evaluator, names, and helpers of the file.

Context-free except for helpers of the file, which are evaluated with the values they are given (bounded
depth). A budget of steps bounds the whole: past it, everything is unknown, and unknown is silent.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from flake8_torchleak.config import Config
from flake8_torchleak.model import declared, hints
from flake8_torchleak.model.attributes import Attributes
from flake8_torchleak.model.backward import Backward
from flake8_torchleak.model.bindings import Definition, How
from flake8_torchleak.model.calls import Calls
from flake8_torchleak.model.classes import ClassTable
from flake8_torchleak.model.env import NO_ENV, Env
from flake8_torchleak.model.flow import Flow
from flake8_torchleak.model.gradmode import GradMode
from flake8_torchleak.model.growth import Growth
from flake8_torchleak.model.inorder import InOrder
from flake8_torchleak.model.names import Names, last_name
from flake8_torchleak.model.operators import Operators
from flake8_torchleak.model.parameters import Parameters
from flake8_torchleak.model.parts import Parts
from flake8_torchleak.model.returns import Returns
from flake8_torchleak.model.tree import FunctionNode, Tree
from flake8_torchleak.model.values import UNKNOWN, Kind, Value, join

_LEAST_BUDGET, _BUDGET = 200_000, 10
"""Steps for a module: at least so many, or so many for each node."""
_BUILT_ON = {ast.BinOp: "left", ast.Call: "func", ast.Attribute: "value", ast.Subscript: "value"}
"""The field of an expression in which chains grow."""
_LONG_CHAIN = 20
_MOST_ENTRIES = 50
"""Entries of a tensor that are looked at for a graph."""
WRAPPERS = frozenset({
    "enumerate", "zip", "tqdm", "trange", "islice", "track", "iter", "chain", "cycle", "zip_longest", "Bar",
})  # fmt: skip


class Infer:
    """Values of expressions of one module."""

    def __init__(
        self, tree: Tree, names: Names, flow: Flow, classes: ClassTable, grad: GradMode, config: Config
    ) -> None:
        self.tree, self.names, self.flow = tree, names, flow
        self.classes, self.grad, self.config = classes, grad, config
        self.backward = Backward(tree, names, flow)
        self.growth = Growth(self)
        self.parts = Parts(self)
        self.operators = Operators(self)
        self.attributes = Attributes(self)
        self.parameters = Parameters(self)
        self.calls = Calls(self)
        operators = self.operators
        self._handlers: dict[type[ast.AST], Callable[[Any, Env], Value]] = {
            ast.Name: self._name,
            ast.Attribute: self.attributes.value,
            ast.Subscript: self.parts.subscript,
            ast.Call: self.calls.value,
            ast.Starred: self._inner,
            ast.NamedExpr: self._inner,
            ast.Await: self._inner,
            ast.Constant: operators.constant,
            ast.JoinedStr: operators.joinedstr,
            ast.List: operators.list,
            ast.Tuple: operators.list,
            ast.Set: operators.list,
            ast.Dict: operators.dict,
            ast.ListComp: operators.listcomp,
            ast.SetComp: operators.listcomp,
            ast.GeneratorExp: operators.listcomp,
            ast.DictComp: operators.dictcomp,
            ast.BinOp: operators.binop,
            ast.UnaryOp: operators.unaryop,
            ast.BoolOp: operators.boolop,
            ast.Compare: operators.compare,
            ast.IfExp: operators.ifexp,
        }
        self.in_order = InOrder(self)
        self.returns = Returns(self)
        self.memo: dict[object, Value] = {}
        self.active: set[object] = set()
        self.steps = 0
        self._budget = max(_LEAST_BUDGET, _BUDGET * tree.size)
        self.exhausted = False
        """Whether a question was left unanswered because there were too many, or too many within one another."""
        self.provisional: dict[object, Value] = {}
        self.cuts = 0

    def value(self, node: ast.AST, env: Env = NO_ENV) -> Value:
        """What is known of the value of `node`; `env` gives the parameters of the helper it stands in."""
        known = (env.memo if env else self.memo).get(node)
        if known is None and not env:
            known = self.provisional.get(node)
        if known is not None:
            return known
        if self.active:
            return self._value(node, env)
        return self.in_order.answer(lambda: self._value(node, env))

    def _value(self, node: ast.AST, env: Env) -> Value:
        self.steps += 1
        if node in self.active or self._is_over():
            self.cuts += 1
            return UNKNOWN
        cuts, outermost = self.cuts, not self.active
        if node.__class__ in _BUILT_ON:
            self._climb(node, env)
        self.active.add(node)
        try:
            handler = self._handlers.get(node.__class__)
            found = handler(node, env) if handler is not None else UNKNOWN
            if found.graph and isinstance(node, (ast.Call, ast.BinOp)) and self.grad.off(node):
                found = found.but(graph=False)
        finally:
            self.active.discard(node)
        self.keep(node, found, env, cuts, outermost)
        return found

    def _climb(self, node: ast.AST, env: Env) -> None:
        """Evaluate what an expression is built on from the inside out: it may be longer than questions may be nested.

        A sum of 3,000 terms is 3,000 levels deep.
        """
        memo = env.memo if env else self.memo
        chain = []
        field = _BUILT_ON.get(node.__class__)
        while field is not None:
            node = getattr(node, field)
            if node in memo or node in self.provisional:
                break
            chain.append(node)
            field = _BUILT_ON.get(node.__class__)
        if len(chain) > _LONG_CHAIN:
            for each in reversed(chain):
                self.value(each, env)

    def _is_over(self) -> bool:
        """Whether no more is to be asked: questions are nested too deeply, or there were too many."""
        if self.steps > self._budget:
            self.exhausted = True
            return True
        if self.in_order.is_over():
            self.exhausted = True
            return True
        return False

    def enter(self, question: object) -> bool:
        """Note that a question is being answered; False if it is already: a circle, to be cut with UNKNOWN."""
        if question in self.active:
            self.cuts += 1
            return False
        self.active.add(question)
        return True

    def leave(self, question: object) -> None:
        """The question is answered."""
        self.active.discard(question)

    def _inner(self, node: ast.Starred | ast.NamedExpr | ast.Await, env: Env) -> Value:
        return self.value(node.value, env)

    # -- names ----------------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, env: Env) -> Value:
        generator = self.names.comprehension(node)
        if generator is not None:
            for definition in self._comprehension_targets(generator):
                if definition.key == node.id:
                    return self.definition(definition, env)
        reaching = self.flow.reaching(node.id, node)
        if not reaching:
            return self.named(node.id, node)
        return self.variable(node.id, reaching, env)

    def _comprehension_targets(self, generator: ast.comprehension) -> list[Definition]:
        found: list[Definition] = []
        self.flow.targets(generator.target, generator.iter, generator, How.ITERATE, (), found)
        return found

    def variable(self, key: str, reaching: list[Definition], env: Env) -> Value:
        """The join of what the definitions give, grown by what is put into it."""
        question = (key, *reaching)
        memo = env.memo if env else self.memo
        known = memo.get(question)
        if known is not None:
            return known
        cuts = self.cuts
        found = self._variable(key, reaching, env)
        if cuts == self.cuts:
            memo[question] = found
        return found

    def _variable(self, key: str, reaching: list[Definition], env: Env) -> Value:
        memo = env.memo if env else self.memo
        found = join([memo.get(each) or self.definition(each, env) for each in reaching])
        scope = self.tree.scope(reaching[0].node) if reaching else self.tree.root
        if found.is_container and found.kind is not Kind.JSON:
            mutations = self.flow.mutations(scope).get(key, [])
            made = next((each for each in reaching if each.how is not How.AUGMENT), reaching[0])
            found = self.growth.grown(found, mutations, made, env)
        elif found.kind is Kind.TENSOR and found.graph is not True:
            filled = self.flow.mutations(scope).get(key, [])
            entries = [m.value for m in filled if m.method == "setitem" and m.value is not None]
            if len(entries) > _MOST_ENTRIES:
                self.flow.cut.setdefault(scope, f"more than {_MOST_ENTRIES} entries of `{key}` are set")
            if any(self.value(each, env).graph for each in entries[:_MOST_ENTRIES]):
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

    def called(self, func: ast.expr) -> Value:
        """What is called: not the None that an attribute starts with, and somebody else replaces before."""
        found = self.value(func)
        return self.named(last_name(func), func) if found.kind is Kind.NONE else found

    def definition(self, definition: Definition, env: Env) -> Value:
        """What one definition binds its variable to."""
        known = (env.memo if env else self.memo).get(definition)
        if known is None and not env:
            known = self.provisional.get(definition)
        if known is not None:
            return known
        if not self.active:
            return self.in_order.answer(lambda: self._defined(definition, env))
        return self._defined(definition, env)

    def _defined(self, definition: Definition, env: Env) -> Value:
        guess = self.in_order.guess(definition)
        if guess is not None:
            self.cuts += 1
            return guess
        if definition in self.active or self._is_over():
            self.cuts += 1
            return UNKNOWN
        cuts, outermost = self.cuts, not self.active
        self.active.add(definition)
        try:
            found = self.bound(definition, env)
        finally:
            self.active.discard(definition)
        self.keep(definition, found, env, cuts, outermost)
        return found

    def keep(self, key: object, found: Value, env: Env, cuts: int, outermost: bool) -> None:
        """Remember a value: for good, or, if a cycle cut its evaluation short, for the question under way."""
        if env or cuts == self.cuts or outermost:
            (env.memo if env else self.memo)[key] = found
        else:
            self.provisional[key] = found
        if outermost:
            self.provisional.clear()

    def bound(self, definition: Definition, env: Env) -> Value:
        """What a definition gives, worked out anew."""
        node, name = definition.node, definition.key.rpartition(".")[2]
        if definition.how is How.PARAMETER and isinstance(node, ast.arg):
            return env[node] if node in env else self.parameters.value(node, definition.statement)
        statement = definition.statement
        if definition.value is None:
            return declared.annotated(statement.annotation) if isinstance(statement, ast.AnnAssign) else UNKNOWN
        value = self.value(definition.value, env)
        if isinstance(statement, ast.AnnAssign) and value.kind in (Kind.UNKNOWN, Kind.INSTANCE):
            value = declared.annotated(statement.annotation)
        if definition.how is How.ITERATE:
            value = self.parts.element(value, definition.value)
        elif definition.how is How.AUGMENT:
            before = join([self.definition(d, env) for d in self.flow.reaching(definition.key, definition.node)])
            if before.is_container:
                return before
            return self.operators.arithmetic(before, value)
        elif definition.how is How.REST:
            return Value(Kind.LIST, element=value.element)
        for index in definition.path:
            value = self.parts.part(value, index)
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

    def loader_of(self, iterable: ast.expr, depth: int = 4) -> Value | None:
        """The LOADER that iterating an expression goes over, also through enumerate, zip, tqdm and the like."""
        value = self.value(iterable)
        if value.kind is Kind.LOADER:
            return value
        if not depth or value.kind not in (Kind.ITERATOR, Kind.UNKNOWN):
            return None
        inner: list[ast.expr] = []
        if isinstance(iterable, ast.Call) and last_name(iterable.func) in WRAPPERS:
            inner = [a for a in iterable.args if not isinstance(a, ast.Starred)]
        elif isinstance(iterable, ast.Name):
            inner = [d.value for d in self.flow.reaching(iterable.id, iterable) if d.value is not None and d.is_plain]
        found = (self.loader_of(each, depth - 1) for each in inner)
        return next((each for each in found if each is not None), None)

    def returned(self, function: FunctionNode, env: Env) -> Value:
        """What calling a function of the file gives: the join of its returns (an iterator if it yields)."""
        return self.returns.value(function, env)
