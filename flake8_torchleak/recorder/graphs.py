"""The autograd graph below a tensor: how many of its nodes are old, and what memory they hold.

Nodes carry the number of their creation (`_sequence_nr`, one count a thread), and a node is younger than those below
it: "older than two steps" needs no registry, and below an old node all is old and was weighed before. A node's saved
tensors raise where `backward` has freed them; those that other hooks packed (checkpoints, offloading) are not touched,
since to unpack is to compute them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import torch

CAP = 50_000
"""Nodes after which a graph is no further followed: what is counted is then a lower bound."""
NODE_BYTES = 760
"""What a node takes of itself, without saved tensors: the mean of eight common operations (565 to 1,500 bytes)."""

_LEAF = (1 << 64) - 1
"""The number of the nodes that stand for parameters: they belong to nobody's step."""

_TELLS = hasattr(torch._C._autograd.SavedTensor, "data")
"""Whether what a node has saved can be had without asking for it: to ask what backward has freed raises, and takes
fifteen times as long."""
_PREFIX = "_raw_saved_" if _TELLS else ("_saved_", "saved_tensors")

_saved_names: dict[type, tuple[str, ...]] = {}
"""The attributes of a type of nodes that tell what it has saved."""


def created() -> int:
    """How many nodes have been made so far in this thread: the number that the next one gets."""
    return int(torch._C._autograd._get_sequence_nr())


def node_of(tensor: torch.Tensor) -> Any:
    """The node that made a tensor; None if it has no history.

    torch refuses to tell it for a view that was made without gradients and whose base was then written with them.
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def number_of(node: Any) -> int:
    """The number of a node's creation."""
    return int(node._sequence_nr())


class Graphs:
    """Graphs met in one census after the other. What is below an old node is followed once, and remembered."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._places: dict[int, int] = {}
        """Storages that saved tensors have, by address, with the number of the node that is charged with each: the
        weights of a network are saved by every step, and kept once."""
        self._below: dict[int, frozenset[int]] = {}
        self._used: set[int] = set()

    def below(self, root: Any, weigh: bool) -> frozenset[int]:
        """The numbers of the nodes of the graph that ends in the old node `root`, its own among them."""
        return self._all_below(root, number_of(root), weigh)

    def around(self, root: Any, before: int, weigh: bool) -> tuple[set[int], set[int]]:
        """The numbers of the old nodes of the graph that ends in the node `root`, and those of the others.

        before: nodes with a smaller number are old; weigh: look at the tensors that old ones have saved as well.
        """
        old: set[int] = set()
        young: set[int] = set()
        stack = [root]
        while stack and len(young) < CAP:
            node = stack.pop()
            number = number_of(node)
            if number == _LEAF or number in young or number in old:
                continue
            if number < before:
                old |= self._all_below(node, number, weigh)
                continue
            young.add(number)
            stack.extend(each for each, _ in node.next_functions if each is not None)
        return old, young

    def _all_below(self, root: Any, top: int, weigh: bool) -> frozenset[int]:
        self._used.add(top)
        known = self._below.get(top)
        if known is not None:
            return known
        numbers = {top}
        stack = [root]
        while stack and len(numbers) < CAP:
            node = stack.pop()
            if weigh and (number := number_of(node)) not in self._sizes:
                self._sizes[number] = self._saved(node, number)
            for each, _ in node.next_functions:
                # Half of them are leaves, or were met before: those are not to be had again from the stack.
                if each is None or (number := each._sequence_nr()) == _LEAF or number in numbers:
                    continue
                known = self._below.get(number)
                if known is not None:
                    numbers |= known
                    continue
                numbers.add(number)
                stack.append(each)
        found = self._below[top] = frozenset(numbers)
        return found

    def size(self, numbers: Collection[int]) -> int:
        """Bytes of some old nodes and of the tensors that they saved."""
        saved = sum(self._sizes.get(each, 0) for each in numbers) if self._sizes else 0
        return saved + NODE_BYTES * len(numbers)

    def end(self, held: Iterable[int]) -> None:
        """A census is over: what was neither met in it nor is among `held` is forgotten."""
        live = self._used.union(held)
        self._used = set()
        if len(live) < len(self._below):
            self._below = {number: below for number, below in self._below.items() if number in live}
            kept = frozenset[int]().union(*self._below.values())
            self._sizes = {number: size for number, size in self._sizes.items() if number in kept}
            self._places = {place: number for place, number in self._places.items() if number in kept}

    def weight(self, tensor: torch.Tensor, storages: set[int]) -> int:
        """Bytes that a tensor holds beside old nodes; 0 where its storage is among `storages`, which it then is."""
        place, size = _storage(tensor)
        if not place or place in storages or place in self._places:
            return 0
        storages.add(place)
        return size

    def _saved(self, node: Any, number: int) -> int:
        """Bytes of the tensors that a node has saved and that no other one is charged with."""
        kind = type(node)
        names = _saved_names.get(kind)
        if names is None:
            names = _saved_names[kind] = tuple(name for name in dir(kind) if name.startswith(_PREFIX))
        total = 0
        for name in names:
            try:
                value = getattr(node, name)
            except RuntimeError:
                # Freed by backward (then all are), or changed since.
                break
            for each in value if isinstance(value, (tuple, list)) else (value,):
                tensor = each.data if _TELLS and each is not None else each
                if isinstance(tensor, torch.Tensor):
                    place, size = _storage(tensor)
                    if place and place not in self._places:
                        self._places[place] = number
                        total += size
        return total


def _storage(tensor: torch.Tensor) -> tuple[int, int]:
    """Address and bytes of a tensor's storage; nothing for parameters and their views, and for what has none."""
    base = tensor if tensor._base is None else tensor._base
    if base.is_leaf and base.requires_grad:
        return 0, 0
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    except (RuntimeError, NotImplementedError):
        # Sparse, meta and wrapped tensors.
        return 0, 0
