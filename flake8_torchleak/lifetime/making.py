"""The values that a run makes: results of operations with the history of what they are made of, and parts of values."""

from __future__ import annotations

from collections.abc import Hashable

from flake8_torchleak.lifetime.heap import DEEPEST
from flake8_torchleak.lifetime.libraries import NAMED
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import (
    ELEMENTS,
    LEAF,
    NO_LOOPS,
    NO_PAST,
    NOTHING,
    Atom,
    Graph,
    Kind,
    Mark,
    Site,
    Value,
    few_loops,
    few_past,
    limited,
)
from flake8_torchleak.model import hints

_new = tuple.__new__
"""Makes an atom of all its fields: `Atom(...)` takes twice as long, and most atoms are made here."""


class Making(Part):
    """Makes values."""

    def result(self, site: Site, inputs: list[Value]) -> Value:
        """The result of an operation: a tensor with the history of what it is made of, a number where all are."""
        run = self.run
        graph, since = Graph.NO, 0
        parts, past, via, vary = NOTHING, NO_PAST, NOTHING, NO_LOOPS
        unsure: list[Site] = []
        plain = known = True
        for value in inputs:
            for atom, holder in run.within(value):
                vary |= atom.vary
                if atom.kind is Kind.NUMBER:
                    continue
                plain = False
                known = known and atom.kind is Kind.TENSOR
                if atom.kind is Kind.NETWORK and isinstance(atom.site, tuple):  # a tensor that its last run left in it
                    atom = atom.but(graph=Graph.MAYBE, parts=frozenset({atom.site}), since=run.clock)
                if atom.graph is Graph.NO:
                    continue
                parts |= atom.parts if atom.graph is not Graph.LEAF else {(LEAF, atom.site)}
                past |= atom.past
                via |= atom.via
                if holder is not None and holder.node is not None:
                    via |= {holder.node}
                if atom.graph is Graph.MAYBE:
                    unsure.append(atom.site)
                since = max(since, atom.since if atom.graph is not Graph.LEAF else run.clock)
                graph = max(graph, atom.graph)
        past, vary = few_past(past), few_loops(vary)
        if plain:
            return (_new(Atom, (Kind.NUMBER, site, Graph.NO, Mark.ANY, NOTHING, NO_PAST, NOTHING, vary, 0, 0, None)),)
        born = run.tick()
        if graph is Graph.NO and site in run.seen.proven and not known:
            graph, since = Graph.YES, born  # it was differentiated, whatever it is made of
        if run.grad_off or graph is Graph.NO:
            return (_new(Atom, (Kind.TENSOR, site, Graph.NO, None, NOTHING, NO_PAST, NOTHING, vary, born, born, None)),)
        if graph is Graph.LEAF:
            graph = Graph.YES
        if graph is Graph.MAYBE:
            run.seen.inputs[site] = tuple(unsure)
            if site in run.seen.proven:
                graph = Graph.YES
        parts, via = limited(parts | {site}, site), limited(via)
        return (_new(Atom, (Kind.TENSOR, site, graph, None, parts, past, via, vary, born, since, None)),)

    def unknown(self, site: Site, graph: Graph = Graph.MAYBE, vary: frozenset[int] = NO_LOOPS) -> Value:
        """What nothing is known of but where it came from."""
        born = self.run.tick()
        if self.run.grad_off or site in self.run.seen.whole:
            graph = Graph.NO
        elif graph is Graph.MAYBE and site in self.run.seen.proven:
            graph = Graph.YES
        parts = NOTHING if graph is Graph.NO else frozenset({site})
        return (_new(Atom, (Kind.UNKNOWN, site, graph, None, parts, NO_PAST, NOTHING, vary, born, born, None)),)

    def moved(self, site: Site, atom: Atom) -> Atom:
        """What nothing is known of, known by another place than where it was made."""
        proven = atom.graph is Graph.MAYBE and site in self.run.seen.proven and not self.run.grad_off
        parts = frozenset(site if each == atom.site else each for each in atom.parts)
        return atom.but(site=site, parts=parts, graph=Graph.YES if proven else atom.graph)

    def tensor(self, site: Site, graph: Graph, vary: frozenset[int] = NO_LOOPS) -> Value:
        """A new tensor."""
        born = self.run.tick()
        parts = frozenset({site}) if graph is Graph.YES else NOTHING
        return (_new(Atom, (Kind.TENSOR, site, graph, None, parts, NO_PAST, NOTHING, vary, born, born, None)),)

    @staticmethod
    def view_of(atom: Atom, value: Value) -> Value:
        """A result that shares the memory of what it is made of."""
        if atom.held is None:
            return value
        made = atom.made if isinstance(atom.made, str) else None
        shared = (
            each.but(held=atom.held, since=atom.since, made=made) for each in value if each.kind is not Kind.NUMBER
        )
        return tuple(shared) or value

    def view(self, site: Site, atom: Atom, *others: Value) -> Value:
        """A view of a tensor: the tensor's memory, and its history, even one that is taken without gradients.

        Measured on torch 2.13: of what was made with gradients `with no_grad(): y = x[:2]` requires them, too.
        """
        run = self.run
        off = run.grad_off
        if atom.graph in (Graph.MAYBE, Graph.YES):
            run.grad_off = 0
        try:
            return self.view_of(atom, self.result(site, [(atom,), *others]))
        finally:
            run.grad_off = off

    def part(self, atom: Atom, selector: Hashable) -> Value:
        """A part of what nothing more is known of: an attribute, an entry."""
        run = self.run
        found = self.set_before(atom, selector)
        if found:
            return found
        site: Site = (atom.site, selector) if _depth(atom.site) < DEEPEST else atom.site
        whole = atom.made != NAMED or atom.site in run.seen.roots  # what is differentiated itself is one tensor
        graph = atom.graph if whole else min(atom.graph, Graph.MAYBE)
        if site in run.seen.whole or selector in run.seen.cut.get(atom.site, ()):
            graph = Graph.NO
        elif graph is Graph.MAYBE and site in run.seen.proven and not run.grad_off:
            graph = Graph.YES
        parts = atom.parts | {site} if graph is not Graph.NO else NOTHING
        kind = Kind.NETWORK if site in run.seen.networks else Kind.UNKNOWN
        held = atom.held
        if held is not None and isinstance(selector, str) and selector != ELEMENTS:
            if hints.is_text(selector):
                held = None
            elif hints.is_tensor(selector):
                run.seen.named_tensors.add(site)
        _, _, _, _, _, past, via, vary, born, since, _ = atom
        return (_new(Atom, (kind, site, graph, None, parts, past, via, vary, born, since, held)),)

    def set_before(self, atom: Atom, selector: Hashable) -> Value:
        """What a part was set to; () if nothing in sight has set it."""
        known = self.run.open.get((atom.site, atom.born))
        if known is None:
            return ()
        return known.fields.get(selector) or known.fields.get(ELEMENTS, ())  # set in a loop over all entries

    def set_part(self, atom: Atom, selector: Hashable, value: Value) -> None:
        """Set a part of what nothing more is known of."""
        run = self.run
        key = (atom.site, atom.born)
        if key not in run.open:
            run.open[key] = run.object("open", None, atom.born)
        run.put(run.open[key], selector, value)


def _depth(site: Site) -> int:
    depth = 0
    while isinstance(site, tuple) and depth <= DEEPEST:
        site, depth = site[0], depth + 1
    return depth
