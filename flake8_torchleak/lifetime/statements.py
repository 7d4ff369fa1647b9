"""What statements do, one after another."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.journal import Flow
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import HANDLE, Kind, Value, number, objects
from flake8_torchleak.lifetime.world import import_of
from flake8_torchleak.model.tree import FunctionNode


class Statements(Part):
    """Executes statements."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._handlers: dict[type[ast.stmt], Callable[[Any], Flow]] = {
            ast.Expr: self._expression,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: run.assignments.augmented,
            ast.If: run.branches.if_,
            ast.For: run.looping.over,
            ast.AsyncFor: run.looping.over,
            ast.While: run.looping.whiling,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Try: run.branches.try_,
            ast.Return: self._return,
            ast.Raise: self._raise,
            ast.Break: lambda node: Flow.BREAK,
            ast.Continue: lambda node: Flow.CONTINUE,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Import: self._import,
            ast.ImportFrom: self._import,
            ast.Delete: self._delete,
            ast.Match: run.branches.match,
            ast.Assert: self._assert,
        }
        self._handlers[getattr(ast, "TryStar", ast.Try)] = run.branches.try_  # since Python 3.11

    def block(self, body: list[ast.stmt]) -> Flow:
        """Execute statements until one leaves the block."""
        run, handlers = self.run, self._handlers
        for statement in body:
            handler = handlers.get(statement.__class__)
            if handler is None:
                continue
            run.spend()
            flow = handler(statement)
            if flow is not Flow.NEXT:
                return flow
        return Flow.NEXT

    def _expression(self, node: ast.Expr) -> Flow:
        run = self.run
        value = run.evaluate(node.value)
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in ("to", "cuda") and isinstance(called.value, ast.Name):
            if any(atom.kind is not Kind.UNKNOWN or atom.held is not None for atom in run.names.value(called.value)):
                run.assignments.assign(called.value, value, node)  # a batch that is moved in place
        return Flow.NEXT

    def _assign(self, node: ast.Assign) -> Flow:
        run = self.run
        pairs = _pairs(node)
        if pairs:  # no tuple is left that holds the values
            for target, each in [(target, run.evaluate(value)) for target, value in pairs]:
                run.assignments.assign(target, each, node)
            return Flow.NEXT
        value = run.evaluate(node.value)
        for target in node.targets:
            run.assignments.assign(target, value, node)
        return Flow.NEXT

    def _annotated(self, node: ast.AnnAssign) -> Flow:
        if node.value is not None:
            self.run.assignments.assign(node.target, self.run.evaluate(node.value), node)
        return Flow.NEXT

    def _return(self, node: ast.Return) -> Flow:
        frame = self.run.frame
        frame.returns.append(self.run.evaluate(node.value) if node.value is not None else number(None))
        return Flow.RETURN

    def _raise(self, node: ast.Raise) -> Flow:
        if node.exc is not None:
            self.run.evaluate(node.exc)
        return Flow.RAISE

    def _assert(self, node: ast.Assert) -> Flow:
        self.run.evaluate(node.test)
        return Flow.NEXT

    def _delete(self, node: ast.Delete) -> Flow:
        run = self.run
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                base = run.evaluate(target.value)
                for atom in base:
                    run.empty(atom)
            elif isinstance(target, ast.Name):
                run.journal.remove(run.frame.variables.fields, target.id)
            elif isinstance(target, ast.Attribute):
                for made in objects(run.evaluate(target.value)):
                    run.journal.remove(made.fields, target.attr)
        return Flow.NEXT

    def _import(self, node: ast.Import | ast.ImportFrom) -> Flow:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            if name != "*" and not self._is_found(name, node):
                self.run.names.bind(name, self.run.names.imported(import_of(node, name), self.run.frame.place))
        return Flow.NEXT

    def _is_found(self, name: str, node: ast.stmt) -> bool:
        """Whether who reads a name of the module finds what this statement binds it to: it alone does.

        Most of what is imported is not read by what is followed, and files that are not needed are not parsed.
        """
        frame = self.run.frame
        return frame.scope is None and frame.place.binding(name) == [node]

    def _function(self, node: FunctionNode) -> Flow:
        frame = self.run.frame
        frame.enclosed = True
        made = Function(node, frame.place, frame if frame.scope is not None else None)
        self.run.names.bind(node.name, self.run.functions.decorated(node, made))
        return Flow.NEXT

    def _class(self, node: ast.ClassDef) -> Flow:
        if not self._is_found(node.name, node):
            self.run.names.bind(node.name, self.run.names.of_class(node, self.run.frame.place))
        return Flow.NEXT

    def _with(self, node: ast.With | ast.AsyncWith) -> Flow:
        run = self.run
        before, switched = run.grad_off, False
        stacks: list[Value] = []
        for item in node.items:
            value = run.evaluate(item.context_expr)
            stacks.append(value)
            run.seen.unhooked.update(atom.site for atom in value if atom.made == HANDLE)  # the block's end removes it
            left = run.grad_off
            entered = run.instances.entered(value, item.context_expr)
            switched = run.switches.enter(value, item.context_expr) or run.grad_off != left or switched
            if item.optional_vars is not None:
                run.assignments.assign(item.optional_vars, entered, node)
        try:
            flow = self.block(node.body)
            for each in reversed(stacks):
                run.instances.exited(each, node.items[0].context_expr)
            return flow
        finally:
            for each in stacks:
                switched = run.switches.closed(each) or switched
            if switched:
                run.grad_off = before


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Target and value of each part of `a, b = [], []`; none for other assignments."""
    target, value = node.targets[0], node.value
    if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)) or len(node.targets) > 1:
        return []
    if len(target.elts) != len(value.elts) or any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)):
        return []
    return list(zip(target.elts, value.elts, strict=True))
