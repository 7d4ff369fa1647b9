"""What seems to be kept while the run goes on: what stores and rebindings add to what outlives a step."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flake8_torchleak.lifetime.frames import Loop
from flake8_torchleak.lifetime.journal import Flow
from flake8_torchleak.lifetime.kept import Kept, is_other, owner_of
from flake8_torchleak.lifetime.outliving import (
    gets_one_pass,
    is_bounded,
    is_lasting,
    is_made_anew,
    is_of_file_called,
    is_renewed,
    is_within_step,
    may_hold,
    outlived,
)
from flake8_torchleak.lifetime.placing import place_of
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.showing import is_of_update
from flake8_torchleak.lifetime.values import CAUGHT, NOTHING, Atom, Graph, Kind, Obj, Site, Value


class Keeper(Part):
    """Collects what is kept."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.found: list[Kept] = []
        self._passed: dict[Loop, list[ast.AST]] = {}
        """For each loop, the statements in it that put something into a holder."""
        self.contained: dict[ast.AST, bool] = {}
        """Statements that put something into a container -> whether it was bounded or anew, or done once, each time."""
        self.renewed: set[ast.AST] = set()
        """Statements that add to what starts anew now and then."""
        self.moved: set[ast.AST] = set()
        """Statements that keep memory of a batch, if a condition did not let it be moved to a device."""
        self.weighed: dict[ast.AST, list[Atom]] = {}
        """Statements, and calls around them, that put something into a holder in a step -> what of it had history."""

    @property
    def mark(self) -> int:
        """How many there are so far."""
        return len(self.found)

    def forget(self, mark: int) -> None:
        """Take back what was found since then."""
        del self.found[mark:]

    def passed_once(self, loop: Loop) -> None:
        """A loop turned out to be left in its first iteration: what is stored there is stored once."""
        for node in self._passed.get(loop, ()):
            self.contain(node)

    def contain(self, node: ast.AST, is_contained: bool = True) -> None:
        """Whether what a statement puts into a container does not pile up there, this time."""
        self.contained[node] = is_contained and self.contained.get(node, True)

    def once(self, start: int, end: int, flow: Flow) -> None:
        """What was found between two marks happens at most once: the way there leaves the loop, or the function.

        Who returns leaves no loop of who called the function.
        """
        inside = self.run.loops[self.run.frame.loops :]
        left = inside if flow is Flow.RETURN else self.run.loops[-1:] + (inside if flow is Flow.RAISE else [])
        for each in self.found[start:end]:
            if each.loop in left:
                each.dead = True

    def close(self, loop: Loop, start: int) -> None:
        """A loop is over: what it empties does not grow."""
        for each in self.found[start:]:
            # How far a training loop goes is the length of the training; of what is looked at, a few are, as a rule.
            is_left = loop.cut_short or (loop.counts and not loop.optimizes)
            few = loop.small or not loop.step or (is_left and each.how != "sum")
            replaced = each.lasting and each.ids & loop.replaced
            if each.loop is loop and (each.ids & loop.emptied or replaced or few or self._is_gone(loop, each)):
                each.dead = True
            elif each.loop is loop and each.how == "sum" and self._is_set_back(loop, each):
                self.renewed.add(each.at)

    @staticmethod
    def _is_gone(loop: Loop, kept: Kept) -> bool:
        """Whether what goes on with an earlier value is not put back where that was read, and is gone with the step."""
        if loop.came_round is None or not kept.is_graph or kept.ids:
            return False
        stands = (loop.came_round.get(site, ()) for site in (kept.value.site, None))
        kept.places = frozenset().union(*stands)
        return not kept.places

    def _is_set_back(self, loop: Loop, kept: Kept) -> bool:
        """Whether a loop that is over set a sum to a number now and then, perhaps not in its first iteration."""
        run, target = self.run, kept.target
        if kept.holders or len(kept.calls) != len(run.frames) - 1 or not isinstance(target, ast.Name):
            return False
        return any(atom.kind is Kind.NUMBER and atom.born >= loop.start for atom in run.names.value(target))

    def weigh(self, node: ast.AST, value: Iterable[Atom]) -> None:
        """What of something that a statement may keep has history: with it, how much is told."""
        found = [atom for atom in value if atom.graph is Graph.YES]
        for each in (node, *self._calls()) if found else ():
            self.weighed.setdefault(each, []).extend(found)

    def _calls(self) -> tuple[ast.AST, ...]:
        """The calls around, from outside."""
        return tuple(each.call for each in self.run.frames[1:] if each.call is not None)

    def stored(
        self,
        holder: Value,
        value: Value,
        node: ast.AST,
        target: ast.expr | None,
        vary: frozenset[int] | None,
        summed: bool = False,
    ) -> None:
        """A container, or a tensor in place, gets something more. vary: the loops that change its key, if any."""
        run = self.run
        run.place(value)
        rebinds = isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Subscript)
        if not run.loops or (rebinds and not any(isinstance(a.made, Obj) for a in holder)):
            return
        self._passed.setdefault(run.loops[-1], []).append(node)
        if not any(loop.again for loop in run.loops):
            return
        holders = [atom for atom in holder if may_hold(atom)]
        filled = [each for loop in run.loops if not loop.trains for each in loop.fills]
        bounded = any(isinstance(each.made, Obj) and (each.made.bounded or each.made in filled) for each in holder)
        if bounded or not holders:
            self.contain(node, bounded)
            return
        loop = outlived(run, holders, chained=False, vary=vary)
        if loop is None:
            self.contain(node, is_bounded(run) or is_renewed(run, holders) or is_within_step(run, holders))
            return
        self.contain(node, is_contained=False)
        found = list(run.within(value))
        inside = [atom for atom, _ in found]
        inner = frozenset(each.node for _, each in found if each is not None and each.node is not None)
        graph = next((atom for atom in inside if atom.graph is Graph.YES), None)
        self.weigh(node, inside)
        if graph is not None:
            own = frozenset({node}) if summed else NOTHING
            self.add("sum" if summed else "store", node, target, loop, holders, graph, own, inner)
        if not summed:
            self.keep_memory(inside, value, node, target, loop, holders)
        error = next((atom for atom in inside if atom.made == CAUGHT), None)
        if error is not None:
            self.add("error", node, target, loop, holders, error)

    def keep_memory(
        self, inside: list[Atom], value: Value, node: ast.AST, target: ast.expr | None, loop: Loop, holders: list[Atom]
    ) -> None:
        """A holder that outlives a step gets something that lies in the memory of a batch, if it does."""
        batch = next((atom for atom in inside if atom.held is not None), None)
        if batch is not None:
            if any(each.held is None and each.kind in (Kind.TENSOR, Kind.UNKNOWN) for each in value):
                self.moved.add(node)
            self.add("batch", node, target, loop, holders, batch)

    def gathered(self, holder: Value, value: Value, node: ast.AST) -> None:
        """A container gets all that a generator makes step by step."""
        inside = [atom for atom, _ in self.run.within(value)]
        graph = next((atom for atom in inside if atom.graph is Graph.YES), None)
        if graph is not None:
            self.collected("store", holder, graph, node)
        batch = next((atom for atom in inside if atom.held is not None), None)
        if batch is not None:
            self.collected("batch", holder, batch, node)

    def collected(self, how: str, holder: Value, atom: Atom, node: ast.AST) -> None:
        """What a generator makes step by step is added up, or put into a container, all at once."""
        run = self.run
        run.loop_count += 1
        loop = Loop(run.loop_count, node, run.clock, step="one iteration per step of what it goes over")
        atom = atom.but(parts=atom.parts | {site for _, site in atom.past})  # its steps are past
        self.add(how, node, None, loop, list(holder), atom)

    def add(
        self,
        how: str,
        node: ast.AST,
        target: ast.expr | None,
        loop: Loop,
        holders: list[Atom],
        atom: Atom,
        parts: frozenset[Site] = NOTHING,
        inner: frozenset[Site] = NOTHING,
    ) -> None:
        """Something is kept. parts: the sites in its history that matter, if not all; inner: records that hold it."""
        run = self.run
        table = list(run.evaluate(target.value)) if how == "sum" and isinstance(target, ast.Subscript) else []
        frames = run.frames
        at = place_of(run, atom)
        if at is None or is_of_file_called(run, at, loop, [*holders, atom]):
            return
        calls = self._calls()
        where = node if at == len(frames) - 1 else frames[at + 1].call
        assert where is not None  # the module alone is in no call
        made = [a.made for a in holders if isinstance(a.made, Obj)]
        local = (
            bool(made) and len(made) == len(holders) and all(m.node is not None and m.kind != "instance" for m in made)
        )
        self.found.append(
            Kept(
                how,
                where,
                node,
                target,
                loop,
                frozenset(m.node for m in made if m.node is not None),
                frozenset(id(a.made) if isinstance(a.made, Obj) else a.site for a in holders),
                parts if parts else atom.parts | {atom.site} if how != "sum" else frozenset({atom.site}),
                calls,
                frames[-1].place,
                local,
                run.evaluating,
                any(is_other(frames[at], each) for each in frames[at + 1 :]),
                inner,
                atom,
                owner_of(frames[-1]),
                is_lasting(loop, holders) or not run.lasting.isdisjoint(map(id, made)),
                gets_one_pass(run, loop, holders or table),
                frozenset(a.made.node for a in table if isinstance(a.made, Obj) and a.made.node is not None),
                (bool(holders or table) or isinstance(target, ast.Name)) and is_of_update(run, loop, holders or table),
                conditional=run.is_conditional,
                anew=local and is_made_anew(run, loop, holders),
            )
        )
