"""`python -m tests.truth --count N --seed S [--only N] [--cell KIND HOLDER FORM] [--jobs 1] [--out FILE]`.

Makes programs, labels each by running it, lints it, and prints rates of false alarms and missed leaks. With `--out`,
every program is a line of JSON in a file, and a run that was ended goes on where it stopped; `--start` begins at a
later number, for runs in several parts; `--table FILE ...` prints the table of such files.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

from tests.training.run import warm
from tests.truth.census import label
from tests.truth.compare import Outcome, compare
from tests.truth.generate import CELLS, program
from tests.truth.independent import COMPARED, retained
from tests.truth.small import small
from tests.truth.table import LEAST, Row, Table

Cell = tuple[str, str, str]


def judged(seed: int, number: int, cell: Cell | None = None) -> Outcome:
    """The outcome of one program."""
    made = program(seed, number, cell)
    return compare(made, label(made))


def row(outcome: Outcome) -> Row:
    """The outcome as plain data."""
    families = " ".join(sorted(outcome.label.growth))
    return Row(
        outcome.case.number,
        outcome.case.cell,
        outcome.result,
        outcome.exact,
        outcome.codes,
        families,
        outcome.label.error,
    )


def rows(seed: int, numbers: Sequence[int], cell: Cell | None = None) -> list[Row]:
    """Several programs, in one process."""
    warm()
    return [row(judged(seed, number, cell)) for number in numbers]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--start", type=int, default=0, metavar="NUMBER")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="NUMBER", type=int, help="make, print and judge this program alone")
    parser.add_argument("--cell", nargs=3, metavar=("KIND", "HOLDER", "FORM"), help="programs of this cell alone")
    parser.add_argument("--least", type=int, default=LEAST, help="programs of a cell that counts, at least")
    parser.add_argument(
        "--cells", nargs=2, type=int, metavar=("FROM", "TO"), help="of these cells, by their order, alone"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="FILE")
    parser.add_argument("--table", nargs="+", type=Path, metavar="FILE", help="print the table of these files")
    parser.add_argument("--shrink", type=int, default=0, metavar="COUNT", help="print so many disagreements, small")
    parser.add_argument("--check", action="store_true", help="compare labels with an independent measure instead")
    options = parser.parse_args()
    cell = tuple(options.cell) if options.cell else None
    if options.table:
        _print(Table((each for path in options.table for each in read(path)), options.least))
        return 0
    if options.check:
        check(options.seed, range(options.start, options.start + options.count))
        return 0
    if options.only is not None:
        warm()
        show(judged(options.seed, options.only, cell))
        return 0
    table = Table(_made(options, cell), options.least)
    _print(table)
    for result, number in table.disagreements(options.shrink):
        print(f"\n== {result}, program {number}\n")
        print(small(judged(options.seed, number, cell)).text)
    return 0


def _made(options: argparse.Namespace, cell: Cell | None) -> Iterator[Row]:
    done = list(read(options.out)) if options.out and options.out.exists() else []
    yield from done
    first = max((each.number for each in done), default=options.start - 1) + 1
    numbers = [*range(first, options.start + options.count)]
    if options.cells:
        numbers = [each for each in numbers if options.cells[0] <= each % len(CELLS) < options.cells[1]]
    parts = [numbers[at : at + 50] for at in range(0, len(numbers), 50)]
    if options.jobs == 1:
        for part in parts:
            yield from _written(rows(options.seed, part, cell), options.out)
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(rows, [options.seed] * len(parts), parts, [cell] * len(parts)):
            yield from _written(found, options.out)


def _written(found: list[Row], out: Path | None) -> list[Row]:
    if out is not None:
        with out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(each)) + "\n" for each in found)
    return found


def read(path: Path) -> Iterator[Row]:
    """The rows of a file."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield Row(**json.loads(line))


def check(seed: int, numbers: range) -> None:
    """Labels beside the independent measure, by kind; each disagreement by its number."""
    warm()
    counts: dict[str, Counter[str]] = {}
    for number in numbers:
        made = program(seed, number)
        found, other = label(made), retained(made)
        if found.error or other is None:
            continue
        kind = made.cell["kind"]
        agree = other == (COMPARED[kind] in found.growth)
        counts.setdefault(kind, Counter())["agree" if agree else "differ"] += 1
        if not agree:
            print(f"program {number}: {kind}, label {sorted(found.growth)}, independent measure {other}")
    for kind, each in [*sorted(counts.items()), ("all", sum(counts.values(), Counter[str]()))]:
        print(f"{kind}: {each['agree']} agree, {each['differ']} differ")


def show(outcome: Outcome) -> None:
    """A program, its label, and what was said of it."""
    print(outcome.case.text)
    print("--", dict(outcome.case.cell))
    print("-- label:", outcome.label)
    print("-- marks:", {name: sorted(places) for name, places in outcome.case.marks.items()})
    for each in outcome.claims:
        print("--", each)
    print("--", outcome.result)


def _print(table: Table) -> None:
    for line in table.lines():
        print(line)
    print()
    for line in table.worst():
        print(line)


if __name__ == "__main__":
    sys.exit(main())
