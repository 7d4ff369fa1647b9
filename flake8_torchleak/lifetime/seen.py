"""What the uses of values show about them, by the site that made them."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from flake8_torchleak.lifetime.sites import (
    ARITHMETIC,
    is_called_loss,
    is_part_of_loss,
    is_reduced,
    names_loss,
    results_of_calls,
    root_of,
)
from flake8_torchleak.lifetime.values import (
    BY_CALL,
    BY_NAME,
    LEAF,
    NOTHING,
    Atom,
    Graph,
    Kind,
    Site,
    Value,
    is_marked,
)

if TYPE_CHECKING:
    from flake8_torchleak.lifetime.frames import Evaluated
    from flake8_torchleak.lifetime.journal import Histories


class Seen:
    """What was seen of values so far: nothing of it is taken back."""

    def __init__(self) -> None:
        self.proven: set[Site] = set()
        """Sites whose value was differentiated, and so carries history."""
        self.whole: set[Site] = set()
        """Sites whose value was used as only whole numbers are, and so carries none."""
        self.named: set[Site] = set()
        """Sites of what is taken for a network by its name."""
        self.networks: set[Site] = set()
        """Sites whose value was used as only networks are."""
        self.inputs: dict[Site, tuple[Site, ...]] = {}
        """Of a result that may carry history: the sites that it could have it from."""
        self.histories: Histories = {}
        """What an earlier iteration made -> what was in its history then."""
        self.roots: set[Site] = set()
        """Sites of what was differentiated itself."""
        self.spent: set[Site] = set()
        """Sites of what was differentiated, and of what that was made of."""
        self.spent_in: dict[Site, set[ast.AST]] = {}
        """The same -> the functions that were being followed then."""
        self.trained: set[ast.AST] = set()
        """Loops in which something was differentiated."""
        self.giving: set[ast.AST] = set()
        """Functions that were seen to return or yield what carries history, or to leave it in an object."""
        self.freed: set[Site] = set()
        """The same, where `backward()` does not retain the graph: what was saved for it is gone."""
        self.perhaps_kept: set[Site] = set()
        """Of what was differentiated what keeps its graph all the same, or may: a condition decides over either."""
        self.fed_back: set[Site] = set()
        """Calls of networks that are given what earlier iterations made, with its history."""
        self.of_project: set[Site] = set()
        """Calls of networks of the project's classes."""
        self.of_any_class: set[Site] = set()
        """Calls of networks whose class nothing shows."""
        self.decoding: dict[ast.AST, bool] = {}
        """Loops in evaluation mode -> whether they only go on with what they made themselves: of one sample."""
        self.read_back: set[Site] = set()
        """Containers whose content was differentiated."""
        self.read_later: set[Site] = set()
        """The same, those left out whose content was differentiated in the iteration that made them."""
        self.named_terms: set[Site] = set()
        """Terms of what was differentiated that are losses by their names alone."""
        self.of_losses: set[Site] = set()
        """Calls that are losses by their names, and that were given what has history."""
        self.learning: set[Site] = set()
        """Calls that nobody can see which were given a network or an optimizer: what they make may train it."""
        self.stepping: set[Site] = set()
        """The same, of an optimizer, or of what may be one: what they make may step it."""
        self.may_train: set[ast.AST] = set()
        """Loops in which such a thing is called with what has history, or such code is given an optimizer with it."""
        self.needing: set[ast.AST] = set()
        """Calls of networks, and those around, that differentiate in their forward pass."""
        self.operands: dict[ast.AST, tuple[Value, Value]] = {}
        """Operators in loops -> what was on their left and right the last time; what gradients are scaled for."""
        self.callees: dict[Site, Site] = {}
        """Calls of what is a network by its name alone -> what is called."""
        self.surprises = 0
        """How often something was differentiated that was not known to have history."""
        self.loaders: set[Site] = set()
        """DataLoaders that the program makes, with workers and the usual way to put batches together."""
        self.pinned: set[Site] = set()
        """Of the loaders those that pin memory, or may: with CUDA, their batches are copied there."""
        self.plain: set[Site] = set()
        """Containers that numpy was handed, which refuses what carries history."""
        self.refused: set[Site] = set()
        """Sites of what `.numpy()` is called on, which raises for what carries history."""
        self.tensors: set[Site] = set()
        """Sites of what is used as only tensors are: handed to a network or a function of torch."""
        self.named_tensors: set[Site] = set()
        """Sites of parts of batches that are taken for tensors by a name."""
        self.entries: set[Site] = set()
        """Subscripts of an array by one index: of one dimension it gives a number, which is a copy."""
        self.escaped: set[Site] = set()
        """Containers that code nobody can see was handed."""
        self.placed: set[Site] = set()
        """Containers, and values with history, that were put into something else, or handed to code nobody can see."""
        self.given_back: set[Site] = set()
        """Values with history, and containers, that functions return which nobody was seen to call."""
        self.drawn: set[Site] = set()
        """Calls of what nobody can see, but for methods that tensors have: each may give something else."""

        self.recording: dict[ast.expr, bool] = {}
        """Calls of networks, and those around -> whether a graph is ever recorded: gradients on, not frozen."""
        self.of_trained: set[ast.expr] = set()
        """The same, where the network, or one of those that are run behind it, has parameters that need gradients."""
        self.behind: dict[ast.expr, set[tuple[Site, ast.AST | None]]] = {}
        """Calls in loops -> the networks that are run behind them, each with the function that has the loop."""
        self.cut: dict[Site, frozenset[Hashable]] = {}
        """Calls of networks -> the parts of what they give that carry no history."""
        self.outputs: dict[ast.AST, set[Site]] = {}
        """Such calls -> what is in the history of what they give."""
        self.evaluated: dict[tuple[ast.expr, ast.AST], Evaluated] = {}
        """Networks that are run in evaluation mode with gradients on, by where that shows and the loop around."""
        self.unhooked: set[Site] = set()
        """Calls that register a hook whose handle removes it, or goes where it may."""
        self.lent = False
        """Whether code that is not followed was handed a network, or an optimizer, of a program that is whole."""
        self.failing: set[ast.expr] = set()
        """Calls that raise for the number or the names of what they are given, or end in what does; and the names that
        something is taken apart into which has not that many parts.
        """
        self.fitting: set[ast.expr] = set()
        """The others, or the same another time."""
        self.supposed: set[Site] = set()
        """Calls that give a network by their names alone."""

    def is_known(self, network: Site) -> bool:
        """Whether more than its name, or its use, says what a network is."""
        while isinstance(network, tuple) and network:
            network = network[0]
        return not isinstance(network, (str, ast.arg)) and network not in self.supposed | self.named | self.networks

    def history(self, atom: Atom) -> frozenset[Site]:
        """What is in the history of something: of this iteration, or, of what is older, of the one that made it."""
        if not atom.past:
            return atom.parts
        return atom.parts.union(*(self.histories.get(each, NOTHING) for each in atom.past))

    def spend(self, made: frozenset[Site], within: Iterable[ast.AST]) -> None:
        """These were differentiated. within: the functions that are being followed."""
        self.spent |= made
        around = {*within}
        for site in made:
            self.spent_in.setdefault(site, set()).update(around)

    def prove_network(self, history: Iterable[Site]) -> None:
        """Something was differentiated: where one call alone may have given it its history, a network was called."""
        begun = [site for site in history if is_marked(site, LEAF, BY_CALL, BY_NAME)]
        if len(begun) == 1 and isinstance(begun[0], tuple) and begun[0][1] in self.callees:
            self.networks.add(self.callees[begun[0][1]])

    def tensors_in(self, values: Iterable[Value]) -> None:
        """What these are is used as only tensors are."""
        self.tensors.update(atom.site for value in values for atom in value if atom.held is not None)

    def whole_in(self, value: Value) -> None:
        """What these are is used as only whole numbers are, which have no history: lengths, indices, masks."""
        found = {atom.site for atom in value if atom.kind is Kind.UNKNOWN} - self.whole
        self.surprises += len(found)
        self.whole |= found

    def prove(self, site: Site) -> None:
        """What this site makes was differentiated, and so was what alone it may have its history from.

        Of several, so was each that may have it from all that the whole may have it from; else, of the terms of a sum
        and of the factors of one, those that are losses by their names, and reduced tensors.
        """
        stack = [site]
        while stack:
            each = stack.pop()
            if each in self.proven:
                continue
            self.proven.add(each)
            below = set(self.inputs.get(each, ()))
            if len(below) == 1:
                stack += below
                continue
            begun = {part: self._begins_with(part) for part in below}
            whole = NOTHING.union(*begun.values())
            if made := results_of_calls(whole):
                begun, whole = {part: made & frozenset(map(root_of, own)) for part, own in begun.items()}, made
            certain = {part for part, own in begun.items() if own == whole}
            stack += certain
            if isinstance(each, _SUMS) and isinstance(each.op, ARITHMETIC):
                stack += [part for part in below if self._is_made_of_loss(part) or is_reduced(part)]
                stack += self._named_terms(each, certain)
                stack += self._parts_of_losses(each)

    def _named_terms(self, node: ast.BinOp | ast.AugAssign, certain: set[Site]) -> list[Site]:
        """Of the operands whose variables are losses by their names: what may have history, and sums with such.

        certain: what has it anyway.
        """
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        found: list[Site] = []
        for side, value in zip(sides, self.operands.get(node, ((), ())), strict=True):
            for atom in value if names_loss(side) else ():
                if atom.graph is Graph.MAYBE and atom.site not in certain:
                    self.surprises += atom.site not in self.proven
                    self.named_terms.add(atom.site)
                    found.append(atom.site)
                elif isinstance(atom.site, _SUMS):
                    found.append(atom.site)
        return found

    def _parts_of_losses(self, node: ast.BinOp | ast.AugAssign) -> list[Site]:
        """Of what is added up for what is differentiated: what may have history, of what a loss by its name gives.

        Of what it is weighed with, too, if the loss was given what has history.
        """
        if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            return []
        terms = [atom for side in self.operands.get(node, ()) for atom in side]
        found = [atom.site for atom in terms if atom.graph is Graph.MAYBE and is_part_of_loss(atom.site)]
        if isinstance(node.op, ast.Mult):
            found = [site for atom in terms for site in self.inputs.get(atom.site, ()) if self._is_of_loss(site)]
        self.surprises += not self.proven.issuperset(found)
        self.named_terms.update(found)
        return found

    def _is_of_loss(self, site: Site) -> bool:
        return isinstance(site, tuple) and site[0] in self.of_losses

    def _begins_with(self, site: Site) -> frozenset[Site]:
        """What a value's history may begin with, as far as is looked at."""
        found, stack = {site}, [site]
        begun: set[Site] = set()
        while stack and len(found) < _MOST_WAYS:
            each = stack.pop()
            if each not in self.inputs:
                begun.add(each)
            new = set(self.inputs.get(each, ())) - found
            found |= new
            stack += new
        return frozenset(begun)

    def _is_made_of_loss(self, site: Site) -> bool:
        """Whether a value is a loss by a name, or what alone it may have its history from."""
        seen: set[Site] = set()
        while site not in seen and not is_called_loss(site):
            seen.add(site)
            below = set(self.inputs.get(site, ()))
            if len(below) != 1:
                return False
            (site,) = below
        return site not in seen


_MOST_WAYS = 200
"""Sites between what is differentiated and what it begins with that are looked at."""
_SUMS = (ast.BinOp, ast.AugAssign)
