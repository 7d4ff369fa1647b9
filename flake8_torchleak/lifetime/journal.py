"""Changes to what is followed, written down so that they can be taken back: for branches and for loops."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable
from enum import Enum

from flake8_torchleak.lifetime.values import NOTHING, Atom, Graph, Obj, Site, Value, join, may_be_limited, may_matter
from flake8_torchleak.model.members import by_name

Fields = dict[Hashable, Value]
Changes = dict[tuple[int, Hashable], tuple[Fields, Hashable, Value]]
"""What was set, where: by the fields' identity and the name."""
Histories = dict[tuple[int, Site], frozenset[Site]]
"""What went into what was made in the iterations of a loop: by the loop, and by what made it."""


class Certain(dict[Hashable, Value]):
    """Fields that loops set for certain: who goes over networks to freeze them has some."""


@by_name
class Flow(Enum):
    """How a block ends: it goes on, or leaves the iteration, the loop or the function for certain."""

    NEXT = "next"
    CONTINUE = "continue"
    BREAK = "break"
    RETURN = "return"
    RAISE = "raise"


class Journal:
    """The one place where fields are set."""

    def __init__(self) -> None:
        self._log: list[tuple[Fields, Hashable, Value | None]] = []

    def put(self, fields: Fields, name: Hashable, value: Value) -> None:
        """Set a field."""
        self._log.append((fields, name, fields.get(name)))
        fields[name] = value

    def remove(self, fields: Fields, name: Hashable) -> None:
        """Take a field away."""
        if name in fields:
            self.put(fields, name, ())

    def clear(self) -> None:
        """Nothing of what was set so far will be taken back."""
        self._log.clear()

    def leave(self, mark: int, fields: Fields) -> None:
        """What was set of some fields since then will not be asked about any more: a call is over, and these with it.

        Of a step that calls many helpers that is most of what is written.
        """
        self._log[mark:] = [each for each in self._log[mark:] if each[0] is not fields]

    @property
    def mark(self) -> int:
        """How much was written so far."""
        return len(self._log)

    def since(self, mark: int) -> list[tuple[Fields, Hashable, Value | None]]:
        """What was set since then, each with what was there before."""
        return self._log[mark:]

    def changes(self, mark: int) -> Changes:
        """What was set since then and holds now."""
        found: Changes = {}
        for fields, name, _ in self._log[mark:]:
            found[id(fields), name] = (fields, name, fields.get(name, ()))
        return found

    def before(self, mark: int) -> Changes:
        """What held then of what was set since."""
        found: Changes = {}
        for fields, name, old in self._log[mark:]:
            key = id(fields), name
            if key not in found:
                found[key] = fields, name, old if old is not None else ()
        return found

    def undo(self, mark: int) -> None:
        """Take back what was set since then."""
        log = self._log
        while len(log) > mark:
            fields, name, old = log.pop()
            if old is None:
                fields.pop(name, None)
            else:
                fields[name] = old

    def add(self, changes: Iterable[Changes]) -> None:
        """What may have been set on another way to here."""
        for each in changes:
            for fields, name, value in each.values():
                now = fields.get(name, ())
                if now is not value:
                    self.put(fields, name, join([now, value]))

    def alternatives(self, arms: list[Callable[[], Flow]], may_skip: bool) -> list[tuple[Flow, Changes]]:
        """Run each arm from the state as it is, and go on with what those that come out below leave.

        may_skip: none of them may be run. How each one ended, and what it set, is given back.
        """
        mark, ended = self.mark, []
        for arm in arms:
            flow = arm()
            changes = self.changes(mark)
            self.undo(mark)
            ended.append((flow, changes))
        through = [changes for flow, changes in ended if flow is Flow.NEXT]
        if may_skip:
            through.append({})
        self._meet(through)
        return ended

    def _meet(self, through: list[Changes]) -> None:
        if len(through) == 1:
            for fields, name, value in through[0].values():
                self.put(fields, name, value)
            return
        if len(through) == 2:  # most are: a branch, and what is without it
            one, other = through
            for key, (fields, name, value) in one.items():
                beside = other[key][2] if key in other else fields.get(name, ())
                self.put(fields, name, value if beside is value else join([value, beside]))
            for key, (fields, name, value) in other.items():
                if key not in one:
                    self.put(fields, name, join([value, fields.get(name, ())]))
            return
        counted: dict[tuple[int, Hashable], list[tuple[Fields, Hashable, Value]]] = {}
        for changes in through:
            for key, change in changes.items():
                counted.setdefault(key, []).append(change)
        for found in counted.values():
            fields, name, _ = found[0]
            values = [value for _, _, value in found]
            if len(values) < len(through):
                values.append(fields.get(name, ()))
            self.put(fields, name, join(values))

    def age(self, mark: int, start: int, loop: int, histories: Histories) -> Changes:
        """An iteration is over: what it set is what the next one finds.

        start: when the iteration began; loop: which loop it is one of. The history of what is set is the past now, and
        stands in histories by the loop and by what made it: the loop of a helper is another one in each call of that.
        What held before the iteration is given back.
        """
        before = self.before(mark)
        for fields, name, _ in before.values():
            now = fields.get(name, ())
            for atom in now:
                if atom.born >= start and _ages(atom):
                    break
            else:
                continue  # nearly all that is set
            self.put(fields, name, tuple(_aged(atom, start, loop) for atom in now))
            for atom in now:
                here = loop, atom.site
                if atom.parts and not atom.parts <= histories.get(here, NOTHING):
                    histories[here] = histories.get(here, NOTHING) | atom.parts
        return before

    def came_round(self, mark: int, loop: int) -> dict[Site, set[Hashable]]:
        """What stands where an iteration found what the one before left, and what that is made of: its names there.

        What was made of such a thing and stands nowhere like that is gone with the iteration. Under None: where more
        went into what stands there than is remembered.
        """
        found: dict[Site, set[Hashable]] = {}
        for fields, name, old in self.before(mark).values():
            if any(ident == loop for atom in old for ident, _ in atom.past):
                for atom in fields.get(name, ()):
                    limited = (None,) if may_be_limited(atom.parts) else ()
                    for site in (atom.site, *atom.parts, *limited):
                        found.setdefault(site, set()).add(name)
        return found

    def beside(self, before: Changes, certain: Container[int] = ()) -> None:
        """What was set may not have been: what held before may hold still. certain: fields, by identity, all set."""
        for fields, name, old in before.values():
            now = fields.get(name, ())
            if old and old is not now and not isinstance(fields, Certain) and id(fields) not in certain:
                self.put(fields, name, join([old, now]))


def _ages(atom: Atom) -> bool:
    """Whether what an atom is made of belongs to the iteration in which it was made."""
    return atom.graph is not Graph.LEAF and not isinstance(atom.made, Obj) and may_matter(atom)


def _aged(atom: Atom, start: int, loop: int) -> Atom:
    if atom.born < start or not _ages(atom):
        return atom
    return atom.but(past=atom.past | {(loop, atom.site)}, parts=frozenset())
