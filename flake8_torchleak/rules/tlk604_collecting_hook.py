"""collecting-hook: a hook collects activations, or is registered again and again, and is never removed.

Leaks
-----
    features = []
    model.layer4.register_forward_hook(lambda module, args, output: features.append(output))

Instead
-------
    features = []
    handle = model.layer4.register_forward_hook(lambda module, args, output: features.append(output))
    model(x)
    handle.remove()

Why
---
A hook lives as long as its module. What it appends stays, with the graph that made it; `.detach()` drops the graph,
but not the activation itself. A hook that is registered in every step runs once more with each: time and memory grow.

An object that hooks a model which it was handed, and throws the handle away, stays with that model for good: what
makes such an object for every image, or once more after a failure, adds a hook each time (a note, if the file shows
none made in a loop). So does a function that hooks its caller's model for one run, and leaves the hook there.

An object that could remove its hook, and is let go of without it (`hook = Hook(self.net.embedding)`, and never
`hook.close()`), lives on with the module: each call of the function adds one (a note, if the file calls it in no loop).

An object whose hooks collect for one run should empty its lists when that is over: what is emptied only before the
next run holds the graph of the last one for as long as the object lives (a note).

Measured
--------
Layers 512 wide, batch 64: a hook that collects the output of a layer (128 KB) keeps 258 KB per step, with its
graph; detached 128 KB. Overwritten, emptied, bounded, or removed after use: 0 KB. Registered in each of 30
steps: 30 hooks at the end, all of which run in every call; cleared before, 1. Of 30 objects made one after the
other for the same model, 30 live on with their hooks; 0 if they remove them.

Run by `fixtures/TLK604_collecting_hook/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The list is emptied or bound anew, the handle is kept and one is removed anywhere in the file, `with` or an exit stack
removes it (`contextlib.closing` does not: a handle has no `close`), the hook overwrites one slot or keeps numbers only,
or it is a test. A function that runs the model in a loop is a program of its own, and hooks it once. An object that
is a module itself, or lives as long as its model (an optimizer, a trainer, a callback), may leave its hooks on it. What
is registered under a condition, in the first step, or on a network of the same step is not registered again and again.
Of a hook that a factory makes and hands its container, whoever called the factory is asked: silent where the file does
not call it, where what a call gives is handed over, and where values without a graph are read behind all loops alone.
A note where a decorator decides who calls the function that hooks what it is given: a registry may copy the network.

How to fix it
-------------
By hand: clear the list after each step, where the hook goes on to be used; of a dict of lists clear each list. Or keep
the handle and call `.remove()` on it, or use `with module.register_forward_hook(...):`. An object that registers
several keeps all handles in a list, and removes them in a method that its owner calls when done with it. A hook that
`forward` registers belongs into `__init__`; one that uses what only this call has is removed before the return.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.model import guests, hooks, onerun
from flake8_torchleak.model.classes import self_name
from flake8_torchleak.model.lastrun import kept_until_next
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.prospect import may_step
from flake8_torchleak.model.unclosed import unclosed
from flake8_torchleak.model.unhooking import is_removed
from flake8_torchleak.releases import remedy as detached
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short
from flake8_torchleak.words import holds_any

_BY_CALL = "adds one in every step, and each pass runs all of them; register it once, before the loop"
_IN_FORWARD = "adds one in every call of `{}`, and each call runs all; {}"
_REGISTERING = ("register_forward", "register_full_backward", "register_backward_hook")


def _registers(text: str) -> bool:
    return holds_any(text, _REGISTERING)


def _speaks_of_hooks(text: str) -> bool:
    """Whether a hook is registered, or a loop may be a step that calls what registers one in another file."""
    return _registers(text) or may_step(text)


def _may_hook(outline: Outline) -> bool:
    """The same, by the statements."""
    return _registers(outline.text) or outline.may_step


@rule(
    "TLK604",
    "collecting-hook",
    fix=FixLevel.HINT,
    severity=Severity.ERROR,
    subject=Subject.TORCH,
    prospect=_speaks_of_hooks,
    shape=_may_hook,
    apart=_registers,
)
def check(module: Module) -> Iterator[Report]:
    again, steps = set(module.loops.steps(ast.Call)), set[ast.AST](module.loops.steps(ast.Assign))
    told: set[ast.AST] = set()
    yield from _half_emptied(module)
    yield from _until_next(module)
    seen = followed(module)
    for call in hooks.registrations(module):
        module_name = short(call.func.value) if isinstance(call.func, ast.Attribute) else "the module"
        remedy = f"`handle = {module_name}.{last_name(call.func)}(...)`, and `handle.remove()` after use"
        removed = is_removed(module, call)
        if removed and call not in again:
            continue
        for hook in hooks.behind(module, call.args[0]):
            found = hooks.collects(module, hook)
            if found is not None:
                holder, value, node = found
                if removed and hooks.is_made_in(module, hook, holder, steps):
                    continue
                when = "is registered again in every step" if removed else "is registered here, and never removed"
                yield Report(
                    node,
                    f"memory grows every forward call: the hook adds `{short(value)}` to `{holder}`, which "
                    f"nothing empties; after each step {_emptied(holder, node)}",
                    notes=((call, f"the hook {when}"),),
                    severity=Severity.NOTE if onerun.is_of_one_run(module, call) else None,
                    why="the program runs the module once",
                    remedy=f"`{holder}.clear()` after each step" + ("" if removed else f"; or {remedy}"),
                )
        if removed:
            continue
        ran = onerun.one_run(module, call)
        if ran is not None:
            told.add(call)
            yield Report(
                call,
                _one_run(module, call, ran),
                notes=((ran, "the hooked module runs here"),),
                severity=Severity.NOTE if onerun.may_be_called_with_others(module, call) else Severity.WARNING,
                why="each call may get another module",
                remedy=remedy,
            )
            continue
        guest = guests.guest(module, call)
        in_forward = any(function.name == "forward" for function in hooks.functions_around(module, call)[:1])
        if call in again or in_forward:
            told.add(call)
            if not (seen.whole and seen.run.hooks.is_once(call)):
                when = _BY_CALL if call in again else _in_forward(module, call)
                yield Report(call, f"hooks pile up: `{short(call.func)}` {when}", remedy=remedy)
        elif guest is not None and guest.owner.node not in told:
            told.add(guest.owner.node)
            yield Report(
                call,
                f"hooks pile up: every new `{guest.owner.node.name}` leaves hooks on `{guest.parameter.arg}`; "
                "keep all handles in a list `self.handles`; when done, `for h in self.handles: h.remove()`",
                notes=((guest.parameter, "the module belongs to the caller, and outlives the object"),),
                severity=Severity.WARNING if guests.is_made_again(module, guest.owner) else Severity.NOTE,
                why="the file makes no object of the class in a loop",
                remedy=remedy,
            )
            told.add(call)
    yield from _unclosed(module)
    yield from _followed(module, told)


def _unclosed(module: Module) -> Iterator[Report]:
    """Objects that hook a module, and whose method that removes the hook is not called."""
    for each in unclosed(module):
        function = module.tree.function(each.made)
        name = function.name if function is not None else ""
        yield Report(
            each.made,
            f"hooks pile up: every call of `{name}` leaves one on `{short(each.hooked)}`; when done, "
            f"`{each.name}.{each.closing}()`",
            notes=((each.registered, f"it is hooked here, and `{each.closing}` would remove the hook"),),
            severity=Severity.WARNING if _is_repeated(module, each.made) else Severity.NOTE,
            why="the file does not call it in a loop",
            remedy=f"`{each.name}.{each.closing}()` after use",
        )


def _is_repeated(module: Module, made: ast.Call) -> bool:
    """Whether the file makes an object in a loop, or calls the function in one that makes it."""
    function = module.tree.function(made)
    calls = [made, *(module.classes.callers.get(function.name, ()) if function is not None else ())]
    return any(module.tree.loops(each) for each in calls)


def _in_forward(module: Module, call: ast.Call) -> str:
    """Where the hook goes: into `__init__`, unless it uses what only this call of `forward` has."""
    function, facts = hooks.functions_around(module, call)[0], module.classes.around(call)
    name = f"{facts.node.name}.{function.name}" if facts is not None else function.name
    own = {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    own |= {each.arg for each in parameters(function)} - {self_name(function)}
    used = {
        each.id
        for node in (*call.args, *hooks.behind(module, call.args[0]))
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }
    given = {each.arg for hook in hooks.behind(module, call.args[0]) for each in parameters(hook)}
    if own & used - given:
        return _IN_FORWARD.format(name, "keep its `handle`, and before the return `handle.remove()`")
    return _IN_FORWARD.format(name, "register it once, in `__init__`")


def _one_run(module: Module, call: ast.Call, ran: ast.AST) -> str:
    """How to remove the one hook that a function registers, or each of several."""
    func = short(call.func)
    if module.tree.loops(call) or module.tree.function(call) is not module.tree.function(ran):
        return (
            f"hooks pile up: each call adds more, and each pass runs all; `handles.append({func}(...))`, after the run "
            "`for h in handles: h.remove()`"
        )
    return (
        f"hooks pile up: each call of this function adds one, and each pass runs all; `handle = {func}(...)`, and "
        "after the run `handle.remove()`"
    )


def _emptied(holder: str, node: ast.AST) -> str:
    """What leaves the hook, which may be used in the next step too, and the lists of a dict that it fills."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Subscript)
    ):
        return "clear its lists"
    return f"call `{holder}.clear()`" if len(holder) <= _LONGEST else "clear it"


_LONGEST = 20
"""Of names that are shown twice."""


def _half_emptied(module: Module) -> Iterator[Report]:
    """Lists that the hooks of an object fill, and that it does not empty with the others, though it removes hooks."""
    told: set[ast.AST] = set()
    found = set(hooks.registrations(module))
    for call in hooks.all_registrations(module):
        for holder, value, node, other in hooks.left_full(module, call) if call not in found else ():
            if node not in told:
                told.add(node)
                yield Report(
                    node,
                    f"memory grows every forward call: the hook adds `{short(value)}` to `{holder}`; empty it "
                    f"where `{other}` is emptied",
                    notes=((call, "the hook is registered here"),),
                    remedy=f"`{holder}.clear()` wherever `{other}` is emptied",
                )


def _until_next(module: Module) -> Iterator[Report]:
    """One run's activations with their graph, for as long as the object lives."""
    for call, holder, value, node in kept_until_next(module):
        yield Report(
            node,
            f"memory stays in use after a run: `{holder}` keeps `{short(value)}` with its autograd graph; "
            f"{detached(module, 'store', value)}",
            notes=((call, "the hook is registered here"),),
            severity=Severity.NOTE,
            why="the next run frees what this one left",
            remedy=f"{detached(module, 'store', value)}, or call `{holder}.clear()` after use",
        )


def _followed(module: Module, told: set[ast.AST]) -> Iterator[Report]:
    """Hooks that a helper registers in every step, or a loop that no single function shows to be one."""
    for kept in followed(module).kept:
        text = module.source.text if kept.place.is_own else kept.place.text
        if (
            kept.how == "hook"
            and isinstance(kept.node, ast.expr)
            and told.isdisjoint((kept.node, kept.at))
            and not hooks.may_remove(text)
        ):
            told.add(kept.node)
            called = kept.node.func if isinstance(kept.node, ast.Call) else kept.node
            yield Report(kept.node, f"hooks pile up: `{short(called)}` {_BY_CALL}")
