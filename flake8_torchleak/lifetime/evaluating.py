"""Networks that are run in evaluation mode, in a loop, with gradients on: where, as far as the linted file shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.lifetime.frames import Evaluated, Frame, Function, Loop
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import BY_CALL, BY_NAME, Atom, Graph, Site, Value
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.tree import LOOPS

_ROUNDS = (*LOOPS, ast.comprehension)


def record(run: Run, node: ast.expr, atom: Atom, named: bool, assumed: bool) -> None:
    """Remember that a network is run here. What runs within another network's method is a part of that one's run.

    named: whether only a name says that it is a network: it is one as a part of one. assumed: whether a method is
    called that nobody can see, which may run the network, and may turn gradients off.
    """
    frames = run.frames
    within, network = _outermost(run, atom)
    if named and within == len(frames):
        return
    switched = run.modes.evaluating(network)
    at, call = within - 1, node if within == len(frames) else frames[within].call
    while at and not _loops_in(run, at):
        at, call = at - 1, frames[at].call
    loops = _loops_in(run, at) if frames[at].place.is_own else []  # where that is another file, it is told there
    if not loops or not isinstance(call, ast.Call):
        return
    function = frames[at].function
    inside = function.node if function is not None else None
    if call is not node:
        run.seen.behind.setdefault(call, set()).add((node, inside))
    if switched is not None:
        loop = next((each for each in reversed(loops) if isinstance(each.node, LOOPS)), loops[-1])
        run.seen.evaluated[call, loop.node] = Evaluated(call, loop, node, switched, inside, assumed)


def note_outputs(run: Run, call: ast.AST, result: Value) -> None:
    """Remember what a call gives behind which networks are run: what is differentiated of it was made for training.

    Code that nobody can see may stand between what a network makes there and this.
    """
    made = run.seen.outputs.setdefault(call, set())
    for atom, _ in run.within(result):
        if atom.graph is not Graph.NO:
            made.update(run.seen.history(atom), (atom.site,))


def _loops_in(run: Run, at: int) -> list[Loop]:
    """The loops and comprehensions around of more than a few rounds, of those in the function of one frame."""
    end = run.frames[at + 1].loops if at + 1 < len(run.frames) else len(run.loops)
    return [each for each in run.loops[run.frames[at].loops : end] if isinstance(each.node, _ROUNDS) and not each.small]


def since(run: Run, atom: Atom) -> ast.AST | None:
    """What put the network in evaluation mode that is run, or the one in whose method it is; None if it may train."""
    return run.modes.evaluating(_outermost(run, atom)[1])


def _outermost(run: Run, atom: Atom) -> tuple[int, Atom]:
    """The first frame that is a network's method, and that network; behind all frames, the one that is run.

    A method that is followed as if somebody called it may evaluate its network itself.
    """
    for at, each in enumerate(run.frames):
        whole = _network_of(each.function)
        if whole is not None and not _is_entered(each):
            return at, whole
    return len(run.frames), atom


def _is_entered(frame: Frame) -> bool:
    """Whether a method is followed as if somebody called it, and is no forward pass."""
    node = frame.function.node if frame.function is not None else None
    return frame.call is node and getattr(node, "name", "forward") != "forward"


def _network_of(function: Function | None) -> Atom | None:
    """The network whose method a function is."""
    if function is None or not isinstance(function.owner, ClassInfo) or not function.owner.is_network:
        return None
    return next(iter(function.receiver), None)


def in_vain(run: Run) -> Iterator[Evaluated]:
    """Those whose outputs nothing differentiates, in loops that train nothing."""
    for each in run.seen.evaluated.values():
        trains = each.loop.trains or each.loop.node in run.seen.may_train
        if not trains and not each.loop.of_networks and not _is_spent(run, each.call, each.made, each.within):
            yield each


def is_for_training(run: Run, call: ast.expr, loop: ast.AST | None, within: ast.AST | None) -> bool:
    """Whether something differentiates what the call of a network gives, or anything else in the loop around it.

    within: the function that the call stands in; None if it stands in none.

    What the call of a helper gives is what a network gives that is run behind it: if no other call in the function
    runs it as well, which may be the one for training.
    """
    rounds = getattr(loop, "generators", [loop])
    trained = run.seen.trained | run.seen.may_train
    if _is_spent(run, call, call, within) or not trained.isdisjoint(rounds):
        return True
    behind = run.seen.behind.get(call, set())
    others = {each for other, ran in run.seen.behind.items() if other is not call for each in ran} if behind else ()
    return any(each not in others and _is_spent(run, call, *each) for each in behind)


def _is_spent(run: Run, call: ast.AST, made: Site, within: ast.AST | None) -> bool:
    """Whether what a network gives in a loop is differentiated: in its function, or by who gets what that returns.

    call: where the linted file shows that it is run. made: the call that stands for what it gives.

    What another function does with what the same helper gives is no matter.
    """
    spent = (marks(made) | _own_outputs(run, call)) & run.seen.spent
    if not spent or within is None or within in run.seen.giving:
        return bool(spent)
    return any(within in run.seen.spent_in[site] for site in spent)


def _own_outputs(run: Run, call: ast.AST) -> set[Site]:
    """What is in the history of what a call gives, and of no other call's: that one may be for training."""
    made = run.seen.outputs.get(call, set())
    return made.difference(*(each for other, each in run.seen.outputs.items() if other is not call)) if made else made


def marks(made: Site) -> set[Site]:
    """What stands for a call of a network in histories."""
    return {made, (BY_CALL, made), (BY_NAME, made)}
