"""Which of the fixes of one pass hold: all at once where that is clean, else as many as can be told from the bad ones.

To see whether a text is clean is to lint it, whatever the number of fixes in it. So they are told apart by where the
trouble stands: in each function that has some, one half of its fixes is tried next, in all of them at the same time.
What is kept was clean together.
"""

from __future__ import annotations

from collections.abc import Iterable

from flake8_torchleak.fixing.edits import Batch, Edited, Replacement
from flake8_torchleak.fixing.linted import Chosen, Linted
from flake8_torchleak.model.tree import FUNCTIONS

_MOST_ALONE = 8
"""Fixes that are tried one by one where none of all holds together with the others."""
_NOWHERE = -1


class Holding:
    """The fixes of one pass over a text.

    looks: how many texts may still be linted; after: the text with those that hold, None where none does. The numbers
    of fixes are those of their order in `fixes`: those of the `wanted` that fit together.
    """

    def __init__(self, before: Linted, wanted: Iterable[Chosen], looks: int) -> None:
        self._before, self.looks = before, looks
        batch = Batch(before.offsets)
        self.fixes = [pair for pair in wanted if batch.add(pair[1])]
        self._seen: dict[tuple[int, ...], set[int]] = {}
        self.after: Linted | None = None
        self.done: list[int] = []
        """What was applied."""
        self.bad: list[int] = []
        """What does not hold."""
        self.untried: list[int] = []
        """What could not be told from that, for there were too few looks. All else is for the next pass."""
        whole = self._whole(list(range(len(self.fixes))))
        sure = len(self.bad)
        self._together(self._side_by_side(whole))
        if self.after is None and 1 < len(self.bad) - sure <= _MOST_ALONE:
            again = self.bad[sure:]
            del self.bad[sure:]
            self._together(again)

    def _batch(self, numbers: Iterable[int]) -> list[Replacement]:
        """The edits of some of the fixes, in order of place."""
        batch = Batch(self._before.offsets)
        for each in numbers:
            batch.add(self.fixes[each][1])
        return list(batch)

    def _whole(self, numbers: list[int]) -> list[int]:
        """Those with which libcst finds every statement whole; of such as do it alone, not together, the first half."""
        witness, ends = self._before.witness, self._before.offsets.ends
        while True:
            dropped: set[int] = set()
            broken = witness.broken(self._batch(numbers))
            touching: dict[tuple[int, int], list[int]] = {}
            for each in numbers if broken else ():
                for edit in self.fixes[each][1].edits:
                    touching.setdefault(ends(edit), []).append(each)
            for edits in broken:
                mine = sorted({each for edit in edits for each in touching[edit.start, edit.end]})
                alone = [each for each in mine if witness.broken(self._batch([each]))]
                dropped.update(alone or mine[len(mine) // 2 :])
                self.bad += [each for each in alone if each not in self.bad]
            if not dropped:
                return numbers
            numbers = [each for each in numbers if each not in dropped]

    def _look(self, numbers: list[int]) -> set[int]:
        """Lint the text with these fixes; if it is clean, they are done. Gives where it is not, in the old text."""
        key = tuple(numbers)
        if key not in self._seen:
            self._seen[key] = self._trouble(numbers)
        return self._seen[key]

    def _trouble(self, numbers: list[int]) -> set[int]:
        before = self._before
        edits = self._batch(numbers)
        broken = before.witness.broken(edits)
        if broken:
            return {edit.start for part in broken for edit in part}
        self.looks -= 1
        edited = Edited(before.text, edits)
        try:
            after = Linted(edited.text, before.terms)
        except SyntaxError:
            return {_NOWHERE}
        ended = {before.place(self.fixes[each][0]) for each in numbers}
        stay = {
            (code, moved)
            for code, at in map(before.place, before.findings)
            for moved in edited.moved(at)
            if (code, at) not in ended
        }
        takes = before.terms.takes
        places = [after.place(each) for each in after.findings if takes(each.code)]
        trouble = {edited.was(at) for code, at in places if (code, at) not in stay}
        if not trouble:
            after.spared = {(code, moved) for code, at in before.spared for moved in edited.moved(at)}
            self.after, self.done = after, numbers
        return trouble

    def _side_by_side(self, numbers: list[int]) -> list[int]:
        """Settle fixes function by function, all at the same time; gives those of which that could not be done."""
        stacks = [(places, [group]) for places, group in self._groups(numbers)]
        kept: list[int] = []
        while any(stack for _, stack in stacks):
            active = [(places, stack) for places, stack in stacks if stack]
            tried = [*self.done, *kept, *(each for _, stack in active for each in stack[-1])]
            if not self.looks:
                break
            trouble = {self._place(at) for at in self._look(sorted(tried))}
            if not trouble:
                kept = []
            elif not trouble <= {place for places, _ in active for place in places}:
                break
            for places, stack in active:
                group = stack.pop()
                if trouble.isdisjoint(places):
                    kept += group * bool(trouble)
                elif len(group) == 1:
                    self.bad += group
                else:
                    stack += _halves(group)
        left = [*kept, *(each for _, stack in stacks for group in stack for each in group)]
        if left and left == kept and self.looks and not self._look(sorted([*self.done, *kept])):
            return []
        return sorted(left)

    def _together(self, numbers: list[int]) -> None:
        """Settle fixes of which only this is known: whether a text with some of them is clean."""
        stack = _halves(numbers)
        while stack:
            group = stack.pop()
            if not self.looks:
                self.untried += group
            elif self._look(sorted([*self.done, *group])):
                if len(group) == 1:
                    self.bad += group
                else:
                    stack += _halves(group)

    def _groups(self, numbers: list[int]) -> list[tuple[set[int], list[int]]]:
        """The fixes that stand in the same functions, with the places of these: no place is of two groups."""
        groups: dict[int, tuple[set[int], list[int]]] = {}
        for each in numbers:
            finding, how = self.fixes[each]
            spots = [edit for edit in how.edits if not edit.text.endswith(("\n", "\r"))]
            places = {self._place(self._before.offsets.ends(edit)[0]) for edit in spots}
            places.add(self._place(self._before.place(finding)[1]))
            known = {id(group): group for place in places if (group := groups.get(place)) is not None}
            mine, *others = sorted(known.values(), key=_size) or [(set(), [])]
            mine[1].append(each)
            for group in others:
                mine[0].update(group[0])
                mine[1].extend(group[1])
            mine[0].update(places)
            groups.update(dict.fromkeys(mine[0] if others else places, mine))
        return [(places, sorted(group)) for places, group in {id(each): each for each in groups.values()}.values()]

    def _place(self, offset: int) -> int:
        """The first line of the function (or of another statement of the module) that an offset of the text is in."""
        if offset == _NOWHERE:
            return _NOWHERE
        around = self._before.witness.around(self._before.offsets.line(offset))
        functions = [each for each in around if isinstance(each, FUNCTIONS)]
        return (functions or around)[0].lineno if around else _NOWHERE


def _halves(numbers: list[int]) -> list[list[int]]:
    """Both halves, none of them empty, the first one last: as a stack gives them."""
    middle = (len(numbers) + 1) // 2
    return [each for each in (numbers[middle:], numbers[:middle]) if each]


def _size(group: tuple[set[int], list[int]]) -> int:
    """For sorting: the largest group first."""
    return -len(group[1])
