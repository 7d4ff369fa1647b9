"""What is kept by binding a variable, an attribute or an entry anew: what it held before goes on in what it gets."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.carriers import Carriers
from flake8_torchleak.lifetime.frames import EVALUATING, FORWARD
from flake8_torchleak.lifetime.history import adds, is_in, is_same_again, joins
from flake8_torchleak.lifetime.kept import how_of
from flake8_torchleak.lifetime.nodes import walk
from flake8_torchleak.lifetime.outliving import born_of, carried, is_cut, is_of_network, is_renewed, outlived
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import Graph, Kind, Obj, Site, Value

_REGROWN = frozenset({"list", "tuple", "dict", "set", "instance"})


class Rebinding(Part):
    """Tells what goes on from one step to the next in what is bound anew."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._told: dict[tuple[Site, int], ast.AST] = {}
        """What holds what was there before, by what made it and when -> the statement that bound it first."""
        self._carriers = Carriers(run)
        self._bound: dict[str, set[Site]] = {}
        """Names, and attributes by theirs -> what they were bound to in loops, by what made it."""
        self._made: dict[str, set[Site]] = {}
        """The same, of what the binding statement itself made."""
        self._bindings: dict[str, list[tuple[ast.AST, Value]]] = {}
        """What is not yet in either: few names are ever asked about."""
        self._states: set[ast.AST] = set()
        """Calls of recurrent networks that are handed what earlier steps made."""
        self.of_layers: set[ast.AST] = set()
        """Of these, calls of layers of torch itself, which cut nothing off."""

    def slot(self, old: Value, new: Value, node: ast.AST, target: ast.expr) -> None:
        """A variable, attribute or entry is bound anew: it keeps what is made of what it held before."""
        run = self.run
        if not run.loops:
            return
        self._carriers.bound(new, node, target)
        key = _key(target)
        self._bindings.setdefault(key, []).append((node, new))
        for around in run.loops:
            if around.again:
                run.keeper.weigh(node, new)
                break
        before = {atom.site for atom in old if atom.graph is Graph.YES and atom.past}
        if not before or is_same_again(node, target):
            return
        if is_of_network(run, target) and not any(loop.step == FORWARD for loop in run.loops):
            return  # a state that goes on through the calls of a network: another question
        bound, made = self._sites(key)
        others = self._read_beside(node, target)
        for atom in new:
            if atom.kind is not Kind.TENSOR or atom.graph is not Graph.YES or not atom.parts:
                continue
            earlier = before - (others - made - {atom.site})
            chained = {loop for loop, site in atom.past if site in earlier}
            started = [each for each in old if each.kind is not Kind.UNKNOWN]
            adding = chained and adds(atom, old, node, run.loops[-1].ident, run.seen.proven)
            if not adding and self._adds_again(node, old, atom.site):
                again = atom.past.intersection(*(each.past for each in old))
                adding = chained = {loop for loop, site in again if site in bound}
            if not adding or not self._states.isdisjoint(atom.parts):
                continue
            if self._told.setdefault((atom.site, atom.born), node) is not node:
                continue  # what was bound there goes on under another name
            loop = outlived(run, started, chained=True)
            if loop is None:
                steps = [each for each in run.loops if each.again and each.ident in chained]
                if steps and is_renewed(run, started):
                    run.keeper.renewed.add(node)
                    run.keeper.add("sum", node, target, steps[-1], [], atom)
            elif loop.ident in chained:
                run.keeper.add("store" if joins(atom.site) else "sum", node, target, loop, [], atom)
                return

    def _sites(self, key: str) -> tuple[set[Site], set[Site]]:
        """What a name was bound to in loops, by what made it: all of it, and what its own statements made."""
        bound, made = self._bound.setdefault(key, set()), self._made.setdefault(key, set())
        for node, value in self._bindings.pop(key):
            bound.update(each.site for each in value)
            made.update(each.site for each in value if is_in(each.site, node))
        return bound, made

    def _read_beside(self, node: ast.AST, target: ast.expr) -> set[Site]:
        """What made the values of the other variables that a binding reads: `kept = g[mask]`, where it was `g` before.

        That is no earlier value of what is bound, though it was called the same for a while.
        """
        value = node.value if isinstance(node, ast.Assign) else None
        fields = self.run.frame.variables.fields
        names = {each.id for each in walk(value) if isinstance(each, ast.Name)} if value is not None else set()
        return {atom.site for name in names - {getattr(target, "id", "")} for atom in fields.get(name, ()) if atom.past}

    def _adds_again(self, node: ast.AST, old: Value, made: Site) -> bool:
        """Whether a statement adds what is in the sum already, from an earlier addition, but is not made of the sum."""
        adding = node.value if isinstance(node, ast.Assign) else node
        if not isinstance(getattr(adding, "op", None), (ast.Add, ast.Sub)):
            return False
        terms = [atom for side in self.run.seen.operands.get(adding, ()) for atom in side]
        own = {(each.site, each.born) for each in old}
        return any((each.site, each.born) in own for each in terms) and any(
            each.graph is Graph.YES
            and (each.site, each.born) not in own
            and not any(site == made for _, site in each.past)
            for each in terms
        )

    def state(self, state: Value, node: ast.AST, of_layer: bool) -> None:
        """A recurrent network is handed a state: what earlier steps made of it comes along, if nothing cut it off."""
        run = self.run
        self._carriers.wanted = True
        handed = [atom for atom, _ in run.within(state) if not isinstance(atom.made, Obj)]
        for atom in handed:
            if atom.graph is not Graph.YES or run.grad_off:
                continue
            loops = [loop for loop in run.loops if loop.again and any(loop.ident == past for past, _ in atom.past)]
            over_batches = [loop for loop in loops if loop.step != EVALUATING]
            if over_batches and not any(each.born >= over_batches[-1].start and not each.past for each in handed):
                self._states.add(node)
                if of_layer:
                    self.of_layers.add(node)
                run.keeper.add("state", node, None, over_batches[-1], [], atom.but(since=run.clock))
                if run.keeper.found and run.keeper.found[-1].at is node:
                    run.keeper.found[-1].node = self._carriers.at(atom.site, node) or run.keeper.found[-1].node
                return

    def regrown(self, old: Value, new: Value, node: ast.AST, target: ast.expr) -> bool:
        """A holder is bound anew: whether to one with the old one, or what that held, in it: `[*kept, x]`.

        Then that is kept for as long as the new one.
        """
        run, goes_on = self.run, False
        if not run.loops:
            return goes_on
        for atom in new:
            made = atom.made
            if not isinstance(made, Obj) or made.bounded or made.kind not in _REGROWN:
                continue
            if any(each.made is made for each in old):
                continue
            holders = [a for a in old if isinstance(a.made, Obj)]
            grown = [(a, inner) for a, inner in run.within((atom,)) if how_of(a)]
            if not any(a.past for a, _ in grown):
                continue
            before = set(run.objects_in(old))
            nodes = {each.node for each in before}
            came = [each for each in grown if each[1] in before or not each[0].via.isdisjoint(nodes)]
            goes_on = goes_on or bool(came)
            loop = carried(run, came) if not any(map(is_cut, came)) else None
            if loop is None or all(a.born < loop.iteration for a, _ in grown):
                continue  # nothing came to it in this step
            if holders and all(born_of(a) >= loop.iteration for a in holders) and all(a.via <= nodes for a, _ in came):
                continue  # nor from an earlier one: the old one was made anew in this, of a variable's value
            if self._told.setdefault((made.node, made.born), node) is not node:
                continue
            if any(born_of(a) >= loop.start and isinstance(a.made, Obj) and not a.made.fields for a in holders):
                run.keeper.contain(node)  # it starts anew now and then
                break
            run.keeper.add(how_of(grown[-1][0]), node, target, loop, [*holders, atom], grown[-1][0])
            break
        return goes_on


def _key(target: ast.expr) -> str:
    """A name for what is bound: that of a variable or an attribute, or of what an entry is set of."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
