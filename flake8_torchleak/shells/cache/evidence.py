"""What findings rest on: questions about other files and folders, and whether their answers are still the same.

A question belongs to a version of a file or folder, known by the digest of its content. While that is the same, so is
the answer. After that the question is asked again: few questions depend on all that stands in a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from flake8_torchleak.model.reading import Question, Reader
from flake8_torchleak.model.signs import Seen, sign, status
from flake8_torchleak.shells.cache.answers import ALONE, OF_FILES, OF_FOLDERS, is_of_place, mark_of, row_of

Row = list[Any]
"""[kind, number of the place (of a table, for one of its rows), the answer in short, further arguments]."""

_MANY = 100
"""Files after which a run is taken for one over most of what is known."""


class Known:
    """The numbers here of what another process numbers from 0 on."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.tables: list[int] = []
        self.questions: list[int] = []


class Details:
    """What is only looked at where something has changed, or a few files are looked up: written as one text.

    tables, questions: as `Evidence` has them; asked: by file, the numbers of the questions that its findings rest on.
    """

    def __init__(self, text: str) -> None:
        import json

        tables, questions, asked = json.loads(text)
        if {type(tables), type(questions)} != {list}:
            raise ValueError("no rows")
        self.tables: list[Row] = tables
        self.questions: list[Row] = questions
        self.asked: dict[str, list[int]] = dict(asked)


_NOTHING = "[[],[],{}]"


class Evidence:
    """Questions, each under a number. What is handed in may be of any form: whatever does not fit raises or is false.

    places: [path, sign, digest] each; tables: [name, arguments, numbers of the questions that it is made of] each.
    watched: the numbers of the files and of the folders that something is asked about, and the questions that cost no
    more than to see whether those are as they were: while all of that holds, so do all questions.
    details: the tables and questions as a text, which is read when one of them is needed.
    """

    def __init__(self, reader: Reader, places: list[Row], watched: Sequence[list[Any]], details: str) -> None:
        self.reader = reader
        self.places = places
        self._watched, self._text = watched, details
        self._answers: dict[int, bool] = {}
        self._is_many = False
        self._same: dict[int, bool] = {}
        self._tables: dict[int, bool] = {}
        self.is_new = False
        """Whether something was added, or learnt that saves work the next time."""
        self._told = [0, 0, 0]
        self._numbers: dict[tuple[Any, ...], int] = {}
        """The numbers of what was added, by all that it is."""

    @classmethod
    def empty(cls, reader: Reader) -> Evidence:
        """That of a run before which there was none."""
        return cls(reader, [], ([], [], []), _NOTHING)

    @cached_property
    def _details(self) -> Details:
        try:
            return Details(self._text)
        except (ValueError, TypeError, RecursionError, MemoryError):  # as if there were none
            return Details(_NOTHING)

    @property
    def tables(self) -> list[Row]:
        """[name, arguments, numbers of questions] each."""
        return self._details.tables

    @property
    def questions(self) -> list[Row]:
        """[kind, number of the place or table, the answer in short, further arguments] each."""
        return self._details.questions

    @property
    def asked(self) -> dict[str, list[int]]:
        """The numbers of the questions that a file's findings rest on, by its path, where there are any."""
        return self._details.asked

    def holds(self, number: int) -> bool:
        """Whether a question has the answer that it had."""
        found = self._answers.get(number)
        if found is None:
            self._answers[number] = False  # a table that is made of itself never holds
            found = self._answers[number] = self._holds(self.questions[number])
        return found

    def all_hold(self, path: str) -> bool:
        """Whether what a file's findings rest on is as it was.

        Most files ask the same: where many are looked up everything is asked once, and then only whether it all held.
        """
        return (self._is_many and self._is_whole) or all(map(self.holds, self.asked[path]))

    def expect(self, count: int) -> None:
        """So many files are going to be looked up."""
        self._is_many = count > _MANY

    @cached_property
    def _is_whole(self) -> bool:
        """Whether all that there was has its answers."""
        files, folders, alone = self._watched
        return (
            all(self._is_same(at, False) for at in files)
            and all(self._is_same(at, True) for at in folders)
            and all(map(self._holds, alone))
        )

    def _holds(self, question: Row) -> bool:
        kind, at, mark, rest = question
        if kind in ALONE:
            path = self.places[at][0]
            return mark_of(self.reader, kind, path, rest) == str(mark)
        if kind in OF_FILES or kind in OF_FOLDERS:
            is_folder = kind in OF_FOLDERS
            if self._is_same(at, is_folder):
                return True
            path = self.places[at][0]
            if mark_of(self.reader, kind, path, rest) != str(mark):
                return False
            # From now on it belongs to what is there now, so that it need not be asked again.
            question[1], self.is_new = self._place(path, self._seen(path, is_folder)), True
            return True
        name, arguments, made_of = self.tables[at]
        if at not in self._tables:
            self._tables[at] = all(self.holds(each) for each in made_of)
        if self._tables[at]:
            return True
        if row_of(self.reader, name, arguments, rest) != str(mark):
            return False
        question[1], self.is_new = self._table(name, arguments), True
        return True

    def _is_same(self, at: int, is_folder: bool) -> bool:
        """Whether a file or folder is as it was. By what the file system says, if that tells; else by its content."""
        found = self._same.get(at)
        if found is None:
            place = self.places[at]
            path, known, content = place
            state = status(path) if is_folder else self.reader.state(path)
            found = bool(known) and sign(state) == known
            if not found:
                seen = self._seen(path, is_folder)
                found = seen.digest == content
                if found and seen.sign:
                    place[1], self.is_new = seen.sign, True
            self._same[at] = found
        return found

    def _seen(self, path: str, is_folder: bool) -> Seen:
        if is_folder:
            self.reader.names(path)
            return self.reader.folders[path]
        if path not in self.reader.files:
            self.reader.text(path)
        return self.reader.files[path]

    # -- What is added ----------------------------------------------------------------------------------------

    def added(self, asked: Iterable[Question]) -> list[int]:
        """The numbers of these questions, which the reader has just answered. Raises ValueError for a torn answer."""
        return [self._number(each) for each in asked]

    def _number(self, asked: Question) -> int:
        known = self._numbers.get(asked)
        if known is not None:
            return known
        kind, path, *rest = asked
        if kind in OF_FILES or kind in OF_FOLDERS:
            at = self._place(path, self._seen(path, kind in OF_FOLDERS))
            question = [kind, at, mark_of(self.reader, kind, path, rest), rest]
        elif kind in ALONE:
            question = [kind, self._place(path, Seen("", "")), mark_of(self.reader, kind, path, rest), rest]
        else:
            arguments, key = [path, *rest[:-1]], rest[-1:]
            question = [kind, self._table(kind, arguments), row_of(self.reader, kind, arguments, key), key]
        number = self._numbers[asked] = len(self.questions)
        self.questions.append(question)
        self._answers[number] = self.is_new = True
        return number

    def _place(self, path: str, seen: Seen) -> int:
        if seen.digest == "?":
            raise ValueError(f"{path} was changed while it was read")
        key = ("place", path, seen)
        if key not in self._numbers:
            self._numbers[key] = len(self.places)
            self.places.append([path, *seen])
        return self._numbers[key]

    def fresh(self) -> list[list[Row]]:
        """What was added since this was asked last: places, tables, questions."""
        rows = [self.places, self.tables, self.questions]
        found = [each[start:] for each, start in zip(rows, self._told)]
        self._told = [len(each) for each in rows]
        return found

    def merge(self, known: Known, rows: list[list[Row]]) -> None:
        """Add what is fresh in evidence that another process gathers. known: our numbers of what came from there."""
        places, tables, questions = rows
        known.places += [self._once(self.places, "place", *each) for each in places]
        # Tables and questions name each other; a table is told of once all that it is made of is.
        first = len(known.questions)
        waiting = {first + at: each for at, each in enumerate(questions)}
        known.questions += [-1] * len(questions)
        starts = len(known.tables)
        known.tables += [-1] * len(tables)

        def number(at: int) -> int:
            if known.questions[at] < 0:
                kind, place, mark, rest = waiting[at]
                home = known.places[place] if is_of_place(kind) else table(place)
                known.questions[at] = self._once(self.questions, "question", kind, home, mark, rest)
            return known.questions[at]

        def table(at: int) -> int:
            if known.tables[at] < 0:
                name, arguments, made_of = tables[at - starts]
                known.tables[at] = self._once(self.tables, "made", name, arguments, [number(each) for each in made_of])
            return known.tables[at]

        for at in waiting:
            number(at)

    def _once(self, rows: list[Row], *row: Any) -> int:
        """The number of a row, which is added if it is not there. It holds."""
        kind, *parts = row
        key = (kind, *(tuple(each) if isinstance(each, list) else each for each in parts))
        if key not in self._numbers:
            self._numbers[key] = len(rows)
            rows.append(parts)
            self.is_new = True
            if rows is self.questions:
                self._answers[len(rows) - 1] = True
        return self._numbers[key]

    def _table(self, name: str, arguments: Sequence[str]) -> int:
        key = ("table", name, *arguments)
        if key not in self._numbers:
            made_of = self.added(self.reader.tables[(name, *arguments)])
            self._numbers[key] = len(self.tables)
            self.tables.append([name, list(arguments), made_of])
        return self._numbers[key]

    def only(self, asked: Mapping[str, Iterable[int]]) -> tuple[list[Row], list[list[Any]], str]:
        """What these files need, by the numbers of the questions that they ask, as the constructor takes it."""
        import json

        places: dict[int, int] = {}
        tables: dict[int, Row] = {}
        renumbered: dict[int, int] = {}
        kept: list[Row] = []
        order: dict[int, int] = {}
        files: dict[int, None] = {}
        folders: dict[int, None] = {}
        alone: list[Row] = []
        waiting = [number for each in asked.values() for number in each][::-1]
        while waiting:
            number = waiting.pop()
            if number in renumbered:
                continue
            kind, at, mark, rest = self.questions[number]
            renumbered[number] = len(kept)
            if is_of_place(kind):
                home = places.setdefault(at, len(places))
                kept.append([kind, home, mark, rest])
                if kind in ALONE:
                    alone.append(kept[-1])
                else:
                    (folders if kind in OF_FOLDERS else files)[home] = None
            else:
                if at not in order:
                    order[at] = len(order)
                    tables[at] = self.tables[at]
                    waiting += self.tables[at][2]
                kept.append([kind, order[at], mark, rest])
        whole = [[name, arguments, [renumbered[each] for each in made]] for name, arguments, made in tables.values()]
        numbers = {path: [renumbered[each] for each in found] for path, found in asked.items()}
        text = json.dumps([whole, kept, numbers], ensure_ascii=False, separators=(",", ":"))
        return [self.places[at] for at in places], [list(files), list(folders), alone], text
