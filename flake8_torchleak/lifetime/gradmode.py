"""What turns gradients off and on: context managers, decorators and switches."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import replace
from itertools import chain

from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.budget import Over
from flake8_torchleak.lifetime.frames import Frame, Function
from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import NONE, PLAIN, Atom, Keywords, Kind, Obj, Value, constant, number
from flake8_torchleak.lifetime.world import ClassInfo, Place
from flake8_torchleak.model import hints
from flake8_torchleak.model.names import dotted, last_name
from flake8_torchleak.model.tree import FunctionNode

SWITCH = "torch.set_grad_enabled"
ASKED = "torch.is_grad_enabled"
WAS_ON = f"{ASKED}() with gradients on"
_MAKING = table.GRAD_OFF | table.GRAD_ON | {SWITCH}
_MADE = {f"{path}()": path in table.GRAD_ON for path in _MAKING}
"""What a context manager is -> whether gradients are on in it; of the switch, those that turn them off."""
_BY_HAND = {f"{made}.{name}": made for made in _MADE for name in ("__enter__", "__exit__", "__call__")}
KNOWN = frozenset({*_MAKING, *_MADE, *_BY_HAND, ASKED})
"""Dotted names of what is called here."""
_NAMES = frozenset(path.rpartition(".")[2] for path in _MAKING)
_ON = frozenset(path.rpartition(".")[2] for path in table.GRAD_ON | {SWITCH}) | {"requires_grad_", "autograd"}
"""Names of what turns gradients on, or asks for them where they are on."""
_FEW = 1000
"""Steps after which it is left open what a call at the top of a module calls."""
ON_STACKS = frozenset({"enter_context", "enter_async_context", "close", "__exit__"})


class Switches(Part):
    """Turns gradients off and on."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._before: dict[Hashable, int] = {}
        """What was entered by hand, or is a stack on which something was entered -> the mode before that."""
        self._yielded: dict[Obj, bool] = {}
        """Generators that yield under another mode than they are called in: whether gradients are on then."""

    def called(self, path: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """`torch.no_grad()` as a value, `no_grad(f)` as the function; the switch is thrown at once."""
        run = self.run
        made = _BY_HAND.get(path)
        if made is not None and not path.endswith("__call__"):
            if path.endswith("__enter__"):
                self._before[made] = run.grad_off
                self._turn(_MADE[made])
            else:
                run.grad_off = self._before.pop(made, 0)
            return NONE
        if made is not None or path in _MADE:
            return self._wrapped(made or path, args)
        if path == ASKED:
            return number(False) if run.grad_off else (Atom(Kind.LIBRARY, WAS_ON, made=WAS_ON),)
        given = args[0] if args else keywords.get("mode", ())
        if path != SWITCH:
            if any(isinstance(atom.made, Function) for atom in given):
                return self._wrapped(f"{path}()", args)
            return PLAIN if constant(given) is False else (Atom(Kind.LIBRARY, node, made=f"{path}()"),)
        on = True if any(atom.made == WAS_ON for atom in given) else constant(given)
        if not isinstance(on, (bool, int)):
            return PLAIN  # on at times
        self._turn(bool(on))
        return (Atom(Kind.LIBRARY, node, made="torch.enable_grad()" if on else f"{SWITCH}()"),)

    def _turn(self, on: bool) -> None:
        self.run.grad_off = 0 if on else self.run.grad_off + 1

    @staticmethod
    def _wrapped(made: str, args: list[Value]) -> Value:
        """A function that is decorated by a call: `torch.no_grad()(f)`."""
        return tuple(
            atom.but(made=replace(atom.made, off=not _MADE[made])) if isinstance(atom.made, Function) else atom
            for value in args[:1]
            for atom in value
        )

    def enter(self, value: Value, node: ast.expr) -> bool:
        """Enter a context manager; whether it sets another mode."""
        on = mode(value, node)
        for atom in value:
            if isinstance(atom.made, Obj):
                on = self._yielded.get(atom.made, on)
        if on is not None:
            self._turn(on)
        return on is not None

    def on_stack(self, stack: Atom, name: str, args: list[Value], node: ast.expr) -> Value | None:
        """`stack.enter_context(...)` lasts until the stack is closed; None for what is no such call."""
        if name.startswith("enter") and args:
            before = self.run.grad_off
            value = self.run.instances.entered(args[0], node)
            if not self.enter(args[0], node) and self.run.grad_off == before:
                return None
            self._before.setdefault(stack.site, before)
            return value
        if stack.site in self._before:
            self.run.grad_off = self._before.pop(stack.site)
            return NONE
        return None

    def closed(self, value: Value) -> bool:
        """Whether what a `with` goes over is a stack on which another mode was set; that is over then."""
        return any(self._before.pop(atom.site, None) is not None for atom in value)

    def yielding(self, frame: Frame, before: int) -> None:
        """A generator was followed to its end; before: the mode in which it was called."""
        if frame.yields is not None and frame.mode is not None and bool(frame.mode) is not bool(before):
            self._yielded[frame.yields] = not frame.mode


def _mode_of(run: Run, node: ast.expr, place: Place) -> bool | None:
    """What a decorator does to gradients: on, off, or nothing (None)."""
    if hints.turns_grad_off(last_name(node.func if isinstance(node, ast.Call) else node)):
        return False
    value = run.functions.at_top(node, place)
    own = [atom.made for atom in value if isinstance(atom.made, Function)]
    return False if any(_speaks_of_off(run, each) for each in own) else mode(value, node)


def _speaks_of_off(run: Run, made: Function) -> bool:
    """Whether a decorator of the project names what turns gradients off."""
    names = (dotted(each) for each in walk(made.node)) if made.node is not None else ()
    found = (atom for parts in names if parts for atom in run.names.named(parts, made.place))
    return any(atom.made in table.GRAD_OFF for atom in found)


@of_node
def switches(function: ast.AST) -> bool:
    """Whether gradients are turned off, or on, somewhere in a function, or around it."""
    names = {last_name(each) for each in walk(function) if isinstance(each, (ast.Name, ast.Attribute))}
    return not names.isdisjoint(_NAMES)


@of_node
def may_turn_on(function: ast.AST) -> bool:
    """Whether gradients may be turned on in a function, whoever turned them off."""
    return any(last_name(each) in _ON for each in walk(function) if isinstance(each, (ast.Name, ast.Attribute)))


def mode(value: Value, node: ast.expr) -> bool | None:
    """What a context manager does to gradients: on, off, or nothing (None); at times off is not off."""
    found = {_of(atom) for atom in value}
    if True in found:
        return True
    if found == {False}:
        return False
    if any(atom.kind is Kind.NUMBER for atom in value):
        return None  # `inference_mode(False)`: known, whatever its name says
    called = node.func if isinstance(node, ast.Call) else node
    return False if hints.turns_grad_off(last_name(called)) else None


def _of(atom: Atom) -> bool | None:
    """What one alternative does."""
    made = atom.made
    if isinstance(made, Obj) and isinstance(made.cls, ClassInfo):
        return False if not table.GRAD_OFF.isdisjoint(made.cls.foreign) else None
    if atom.kind is not Kind.LIBRARY or not isinstance(made, str):
        return None
    return _MADE.get(made, _MADE.get(f"{made}()") if made != SWITCH else None)


def decorated_off(run: Run, node: FunctionNode, place: Place, alone: bool) -> bool:
    """Whether a decorator of a function turns gradients off. alone: it is followed without what wraps it."""
    followed = run.functions.wrapping if not alone else ()
    return any(_mode_of(run, each, place) is False for each in node.decorator_list if each not in followed)


def is_of_metric(made: Function) -> bool:
    """Whether it is the `update` of a metric that a library runs without gradients."""
    owner = made.owner
    if not isinstance(owner, ClassInfo) or getattr(made.node, "name", "") != "update":
        return False
    return any(map(hints.updates_without_grad, owner.foreign))


def ends_off(run: Run, body: list[ast.stmt], own: Place) -> bool:
    """Whether a switch that is thrown in a module, or a constructor, the last one, turns gradients off for good.

    What a module does where it is the program is done before anything that this calls.
    """
    found = False
    programs = (each.body for each in body if isinstance(each, ast.If) and "__main__" in ast.dump(each.test))
    for each in chain(body, *programs):
        call = each.value if isinstance(each, ast.Expr) else None
        if isinstance(call, ast.Call) and len(call.args) + len(call.keywords) == 1:
            given = call.args[0] if call.args else call.keywords[0].value
            if isinstance(given, ast.Constant) and isinstance(given.value, bool):
                made = _at_once(run, call.func, own)
                found = not given.value if any(atom.made == SWITCH for atom in made) else found
    return found


def _at_once(run: Run, node: ast.expr, own: Place) -> Value:
    """What is called at the top of a module, where that takes few steps to see, which nothing else lacks then."""
    left = run.unspent
    run.allow(_FEW)
    try:
        return run.functions.at_top(node, own)
    except Over:
        return ()
    finally:
        run.allow(left)
