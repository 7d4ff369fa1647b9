"""carried-hidden-state: recurrent state goes into the next step with the graph of all steps before.

Leaks
-----
    lstm = nn.LSTM(32, 64)
    for x, y in loader:
        out, state = lstm(x, state)
        loss = criterion(head(out), y)
        loss.backward(retain_graph=True)

Instead
-------
    for x, y in loader:
        out, state = lstm(x, state)
        state = tuple(part.detach() for part in state)
        loss = criterion(head(out), y)
        loss.backward()

Why
---
The state that a step gives out carries that step's graph; as the next step's input it chains the graphs of all
steps so far. Without backward, memory grows with every step. `backward()` goes through freed graphs and fails; with
`retain_graph=True` it fails at the parameters that the optimizer has changed since, or, while gradients are only
accumulated, memory and time grow with every step. Truncated backpropagation cuts the chain between batches. Source:
the PyTorch FAQ, "Don't use RNNs on sequences that are too large".
A method `detach` of the state that is empty, or that drops what the tensors' `detach()` gives, cuts nothing:
only `detach_()` works in place.

Measured
--------
A GRU cell 64 wide, fed a stream without `backward()`: 18 KB more in each step, fixed 0.0 KB; where the new
state has a name of its own first (`new = cell(x, h)`, `h = new`), 18 KB, fixed 0.0 KB. With `backward()`, GRU
and LSTM alike, the second step fails ("Trying to backward through the graph a second time"); fixed, all 20 are
done. With `retain_graph=True` it fails as soon as the optimizer has changed a parameter ("modified by an
inplace operation"); without an optimizer step in between, an LSTM on 4 sequences of 8 keeps 174 KB more in
each. Of three tensors in states whose `detach` is empty or drops its results 3 still carry their graphs.

Run by `fixtures/TLK406_carried_hidden_state/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu,
Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- The loop gives the state another value: `detach`, `repackage_hidden`, a new start.
- The loop goes along one sequence.
- Gradients are off.
- What is called is not seen to be a recurrent layer.

How to fix it
-------------
By hand, at the end of each batch: there the state is never None, as it may be before the first one, and the loss may
still be made of it. Unsafe: detach the state below the call. Gradients no longer flow back into earlier batches.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.following import FOLLOWED, Said, reports
from flake8_torchleak.gate import Subject
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.recurrence import Carried, carried_states, idle_detaches
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import is_long, released, short


def _may_carry(outline: Outline) -> bool:
    """Whether a state may be carried from step to step, or a method be there to detach it."""
    return outline.may_step or any(name.startswith("detach") for name in outline.names)


@rule(
    "TLK406",
    "carried-hidden-state",
    fix=FixLevel.UNSAFE,
    severity=Severity.ERROR,
    subject=Subject.TORCH,
    words=("LSTM", "GRU", "RNN", "def detach"),
    shape=_may_carry,
)
def check(module: Module) -> Iterator[Report]:
    carried: dict[ast.AST, Carried] = {each.call: each for each in carried_states(module)}

    def said(kept: Kept) -> Said | None:
        state = carried.get(kept.at)
        if state is None:
            return None
        return Said(
            f"memory grows with every batch: `{short(state.target)}` brings all earlier graphs into "
            f"`{short(state.call.func)}`; {_detached(state)}",
            state,
        )

    yield from reports(module, "TLK406", said)
    for facts, method, evidence in idle_detaches(module):
        yield Report(
            method,
            f"memory grows with every batch: `{facts.node.name}.{method.name}` leaves the state its autograd graph; "
            f"{_assigned(module, evidence)}",
            notes=((evidence, "this has to be detached"),),
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`h = h.detach()` below the call; part by part for an LSTM's pair."""
    state = report.target
    if isinstance(state, Kept):
        raise Unfixable(FOLLOWED)
    if not isinstance(state, Carried):
        raise Unfixable("what the state is made of is not known")
    name = short(state.target)
    if state.pair is None:
        raise Unfixable(f"`{name}` may be a tensor or a pair of tensors")
    yield Fix(FixLevel.UNSAFE, f"detach `{name}` after the call", build.after(state.last, _cut_off(state)))


def _assigned(module: Module, evidence: ast.AST) -> str:
    """What to write in the place of a `detach()` whose result is dropped; in words where the method does nothing."""
    if not isinstance(evidence, ast.Call) or not isinstance(evidence.func, ast.Attribute):
        return "in it write `self.h = self.h.detach()` for each tensor"
    part = evidence.func.value
    loop = module.tree.parents[module.tree.parents[evidence]]
    if isinstance(loop, ast.For) and is_long(loop.iter):
        return "assign what `.detach()` gives"
    if isinstance(loop, ast.For) and not isinstance(loop.iter, (ast.Name, ast.Attribute)):
        return f"write `{short(part)}.detach_()`"  # what is gone over is no variable: `self.state.values()`
    if isinstance(loop, ast.For):
        whole, each = short(loop.iter), short(loop.target)
        return f"write `{whole} = tuple({each}.detach() for {each} in {whole})`"
    return f"write `{short(part)} = {released(part)}`"


def _detached(state: Carried) -> str:
    """What to write; in words where it is not known whether the state is a pair, as an LSTM's."""
    if state.pair is not None:
        return f"end each batch with `{_cut_off(state)}`"
    parts = "or each tensor of it"
    if not is_long(state.target):
        parts = f"a tuple by `tuple(s.detach() for s in {short(state.target)})`"
    return f"end each batch by detaching it, {parts}"


def _cut_off(state: Carried) -> str:
    """The statement that cuts a state off from the last step's graph."""
    name = short(state.target)
    if isinstance(state.target, ast.Tuple):
        return f"{', '.join(state.keys)} = {', '.join(f'{key}.detach()' for key in state.keys)}"
    return f"{name} = tuple(part.detach() for part in {name})" if state.pair else f"{name} = {name}.detach()"
