"""The values of expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from typing import Any

from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.deciding import decided
from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.heap import MOST_ENTRIES
from flake8_torchleak.lifetime.narrowing import GIVING_NUMBERS, narrowed, releasing
from flake8_torchleak.lifetime.overloading import operated
from flake8_torchleak.lifetime.run import DEEPEST_NESTING, Part, Run
from flake8_torchleak.lifetime.values import (
    ANYTHING,
    ELEMENTS,
    NO_LOOPS,
    NO_PAST,
    NONE,
    NOTHING,
    PLAIN_TYPES,
    Atom,
    Graph,
    Kind,
    Mark,
    Obj,
    Value,
    all_vary,
    constant,
    join,
    number,
    objects,
    of_container,
    varies,
    varying,
)
from flake8_torchleak.model import hints
from flake8_torchleak.model.names import last_name


class Expressions(Part):
    """Evaluates expressions; what is called, and what loops, is done by others."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._handlers: dict[type[ast.expr], Callable[[Any], Value]] = {
            ast.Name: run.names.value,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Call: run.calls.value,
            ast.Constant: self._constant,
            ast.JoinedStr: self._text,
            ast.List: lambda node: self._display(node, "list"),
            ast.Tuple: lambda node: self._display(node, "tuple"),
            ast.Set: lambda node: self._display(node, "set"),
            ast.Dict: self._dict,
            ast.ListComp: lambda node: self._comprehension(node, "list"),
            ast.SetComp: lambda node: self._comprehension(node, "set"),
            ast.GeneratorExp: lambda node: self._comprehension(node, "generator"),
            ast.DictComp: lambda node: self._comprehension(node, "dict"),
            ast.BinOp: self._binop,
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._boolean,
            ast.Compare: self._compare,
            ast.IfExp: self._choice,
            ast.Lambda: self._lambda,
            ast.NamedExpr: self._walrus,
            ast.Starred: lambda node: self.value(node.value),
            ast.Await: lambda node: self.value(node.value),
            ast.Yield: self._yield,
            ast.YieldFrom: self._yield_from,
            ast.Slice: self._slice,
        }

    def value(self, node: ast.expr) -> Value:
        """What an expression gives, with what it does done."""
        run, kind = self.run, node.__class__
        run.steps_left -= 1  # `run.spend()`, for each node of the program
        if run.steps_left < 0:
            run.go_on()
        if kind is ast.Name or kind is ast.Constant:  # two of three, with nothing below
            return self._handlers[kind](node)
        if run.nesting > DEEPEST_NESTING + 100:
            return ANYTHING
        run.nesting += 1
        try:
            return self._handlers[kind](node)
        finally:
            run.nesting -= 1

    def _constant(self, node: ast.Constant) -> Value:
        made = node.value if isinstance(node.value, PLAIN_TYPES) else Mark.ANY
        fields = (Kind.NUMBER, None, Graph.NO, made, NOTHING, NO_PAST, NOTHING, NO_LOOPS, self.run.clock, 0, None)
        return (tuple.__new__(Atom, fields),)  # as in `making.py`

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.run.attributes.value(self.value(node.value), node.attr, node)

    def _text(self, node: ast.JoinedStr) -> Value:
        vary = frozenset().union(
            *(varies(self.value(each.value)) for each in node.values if isinstance(each, ast.FormattedValue))
        )
        return number(vary=vary)

    def _slice(self, node: ast.Slice) -> Value:
        bounds = [self.value(each) for each in (node.lower, node.upper, node.step) if each is not None]
        return number(vary=all_vary(bounds))

    def _display(self, node: ast.List | ast.Tuple | ast.Set, kind: str) -> Value:
        run = self.run
        made = run.new(kind, node)
        exact = kind != "set" and len(node.elts) <= MOST_ENTRIES
        vary: frozenset[int] = frozenset()
        spread: list[Obj] = []
        for at, each in enumerate(node.elts):
            value = self.value(each)
            vary |= varies(value)
            if isinstance(each, ast.Starred):
                exact = False
                spread += objects(value)
                run.add(made, run.elements.of(value, each))
            else:
                if exact:
                    run.put(made, at, value)
                else:
                    run.add(made, value)
        made.bounded = bool(spread) and all(each.bounded for each in spread)
        found = run.of(made)
        return (found[0].but(vary=vary),) if vary and kind == "tuple" else found

    def _dict(self, node: ast.Dict) -> Value:
        run = self.run
        made = run.new("dict", node)
        vary: frozenset[int] = frozenset()
        for key, each in zip(node.keys, node.values, strict=True):
            value = self.value(each)
            if key is None:
                run.elements.update(made, value)
                continue
            named = self.value(key)
            name = constant(named)
            if isinstance(name, (str, int)):
                run.put(made, name, value)
            else:
                vary |= varies(named)
                run.add(made, value)
        found = run.of(made)
        return (found[0].but(vary=vary),) if vary else found

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, kind: str) -> Value:
        return self.run.looping.comprehension(node, kind)

    def _binop(self, node: ast.BinOp) -> Value:
        chain: list[ast.BinOp] = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        value = self.value(chain[-1].left)
        for each in reversed(chain):
            value = operated(self.run, each, value, self.value(each.right))
        return value

    def combined(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        """What an operator gives: lists are joined, all else is arithmetic."""
        run = self.run
        if run.loops:
            run.seen.operands[node] = left, right
        lists = [
            atom.made
            for value in (left, right)
            for atom in value
            if isinstance(atom.made, Obj) and atom.made.kind in ("list", "tuple", "deque")
        ]
        if lists and isinstance(op, (ast.Add, ast.Mult)):
            made = run.new(lists[0].kind, node)
            for each in lists:
                run.add(made, run.elements.all_of(each))
            return run.of(made)
        unions = [made for value in (left, right) for made in objects(value) if made.kind in ("dict", "set")]
        if unions and isinstance(op, ast.BitOr):
            made = run.new(unions[0].kind, node)
            for each in unions:
                run.elements.update(made, run.of(each))
            return run.of(made)
        if isinstance(op, ast.Mod) and isinstance(constant(left), str):
            return number(vary=varies(right))
        found = run.make.result(node, [left, right])
        if isinstance(op, ast.Mod) and all(atom.kind is Kind.NUMBER for atom in found):
            return number(vary=varies(left) & varies(right))  # the same few numbers again and again
        return found

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            known = constant(value)
            return number(not known if isinstance(known, bool) else Mark.ANY, varies(value))
        if isinstance(node.op, ast.USub) and isinstance(known := constant(value), (int, float)):
            return number(-known)
        return self.run.make.result(node, [value])

    def _boolean(self, node: ast.BoolOp) -> Value:
        return join([self.value(each) for each in node.values])

    def _compare(self, node: ast.Compare) -> Value:
        values = [self.value(each) for each in [node.left, *node.comparators]]
        vary = frozenset().union(*map(varies, values))
        atoms = [atom for value in values for atom in value]
        if any(atom.kind is Kind.TENSOR or atom.held is not None or atom.graph is Graph.YES for atom in atoms):
            return self.run.make.tensor(node, Graph.NO, vary)  # a mask
        return number(vary=vary)

    def _choice(self, node: ast.IfExp) -> Value:
        known = decided(self.run, node.test)
        if known is not None:
            return self.value(node.body if known else node.orelse)
        released = releasing(node)
        if released is not None and self._is_released(node, *released):
            return self.value(released[0])
        with narrowed(self.run, node.test, True):
            body = self.value(node.body)
        with narrowed(self.run, node.test, False):
            return join([body, self.value(node.orelse)])

    def _is_released(self, node: ast.IfExp, arm: ast.expr, bare: ast.expr) -> bool:
        """Whether what one arm releases is a number in the other: it is asked what it is, or it may be one."""
        same = ast.dump(bare)
        if any(ast.dump(each) == same for each in ast.walk(node.test) if isinstance(each, ast.expr)):
            return True
        gives_number = isinstance(arm, ast.Call) and last_name(arm.func) in GIVING_NUMBERS
        return gives_number and any(atom.kind is Kind.NUMBER for atom in self.value(bare))

    def _lambda(self, node: ast.Lambda) -> Value:
        frame = self.run.frame
        frame.enclosed = True
        made = Function(node, frame.place, frame, frame.function.owner if frame.function else None)
        return (Atom(Kind.FUNCTION, node, made=made),)

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.run.names.bind(node.target.id, value)
        return value

    def _yield(self, node: ast.Yield) -> Value:
        value = self.value(node.value) if node.value is not None else NONE
        if self.run.frame.mode is None:
            self.run.frame.mode = self.run.grad_off
        self._yielded(value)
        return self.run.frame.sent

    def _yield_from(self, node: ast.YieldFrom) -> Value:
        self._yielded(self.run.elements.of(self.value(node.value), node))
        return ANYTHING

    def _yielded(self, value: Value) -> None:
        run = self.run
        made = run.frame.yields
        if made is not None:
            run.add(made, value)
            frame = run.frame
            if any(loop.step for loop in run.loops[frame.loops :]):
                made.stepwise = True

    # -- subscripts -----------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        index = self.value(node.slice)
        return self.entry(base, index, node)

    def entry(self, base: Value, index: Value, node: ast.Subscript) -> Value:
        """`base[index]`."""
        run = self.run
        found: list[Value] = []
        is_slice = isinstance(node.slice, ast.Slice)
        name: Hashable = constant(index)
        vary = varies(index)
        for atom in base:
            made = atom.made
            if isinstance(made, Obj):
                if is_slice:
                    found.append(run.elements.sliced(made, node))
                else:
                    entry = of_container(atom, run.elements.entry(made, name, node))
                    found.append(varying(entry, vary))
            elif atom.kind is Kind.TENSOR:
                at = number(vary=vary)
                if atom.made == table.ARRAY and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
                    run.seen.entries.add(node)
                found.append(run.make.view(node, atom, at) if _is_view(index) else run.make.result(node, [(atom,), at]))
            elif atom.kind is Kind.NUMBER:
                many = atom.made is Mark.ARRAY and is_slice
                found.append(number(Mark.ARRAY if many else Mark.ANY, atom.vary | vary))
            elif atom.kind in (Kind.UNKNOWN, Kind.LOADER):
                selector = name if isinstance(name, (str, int)) and not isinstance(name, bool) else ELEMENTS
                if atom.kind is Kind.LOADER and isinstance(name, str):
                    atom = atom.but(kind=Kind.UNKNOWN, graph=Graph.MAYBE)  # no loader has keys: it holds some
                if isinstance(name, str) and (atom.site, ELEMENTS) in run.seen.proven and hints.is_loss(name):
                    selector = ELEMENTS  # what a loop took of them was differentiated
                part = run.make.part(atom, selector)
                if atom.graph is Graph.YES:  # a tensor, or a container of tensors: an operation of its own
                    part = run.make.view(node, part[0]) if _is_view(index) else run.make.result(node, [part])
                elif isinstance(name, str):
                    part = run.names.suggested(name, part)
                if isinstance(node.slice, ast.Tuple) and atom.held is not None:
                    run.seen.tensors.add(atom.site)  # what else takes an index in each dimension?
                if not _is_view(index):
                    part = tuple(each.but(held=None) for each in part)
                found.append(varying(part, vary))
            else:
                known = run.make.set_before(atom, name) if isinstance(name, (str, int)) else ()
                found.append(known or (atom.varying(vary),))  # else a network's layer, a library's type
        return join(found) if found else ANYTHING


def _is_view(index: Value) -> bool:
    """Whether an index takes a view of a tensor, no copy: numbers and slices do, masks and lists of indices do not."""
    for atom in index:
        made = atom.made
        if isinstance(made, Obj) and made.kind == "tuple":
            if not all(_is_view(value) for value in made.fields.values()):
                return False
        elif atom.kind is not Kind.NUMBER or made is Mark.ARRAY:
            return False
    return True
