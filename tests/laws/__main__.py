"""`python -m tests.laws [FOLDER] [--only LAW,...] [--codes TLK4,...] [--show LAW] [--jobs 2]`.

Writes every fixture another way, by each law, and prints the share of the findings that are kept, by family of rules;
how many are new, and how many are told less loudly (an error as a warning, a warning as a note). `by names`: of those
that renaming loses, how many said themselves that they rest on a name. `quiet, new`: findings in look-alikes
(`good_*.py`, `fixed_*.py`) that were not there before. With `--show`: the reshaped text of every file that loses a
finding or gets a new one, each marked at its line.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.laws.table import FAMILIES, FIXTURES, LAWS, Rate, Reshaped, baseline, fixtures, rate, results


def measured(folder: Path, law: str) -> tuple[str, Rate, Rate]:
    """Rates over what leaks, and over what does not."""
    quiet = {**fixtures(folder, "good_"), **fixtures(folder, "fixed_")}
    return law, rate(results(fixtures(folder), law)), rate(results(quiet, law))


def rows(folder: Path, laws: list[str], jobs: int = 1) -> Iterator[tuple[str, Rate, Rate]]:
    """Each law's rates."""
    if jobs == 1:
        yield from (measured(folder, law) for law in laws)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(measured, [folder] * len(laws), laws)


def table(found: list[tuple[str, Rate, Rate]]) -> Iterator[str]:
    """Markdown."""
    head = [*FAMILIES, "files", "by names", "new", "quieter", "quiet, new"]
    yield f"| law | {' | '.join(head)} |\n|{'---|' * (len(head) + 1)}"
    for law, bad, good in found:
        shares = [cell(*bad.of(family)) for family in FAMILIES]
        counts = [bad.files, sum(bad.explained.values()), sum(bad.new.values()), bad.quieter, sum(good.new.values())]
        yield f"| {law} | {' | '.join([*shares, *map(str, counts)])} |"


def cell(kept: int, before: int) -> str:
    return f"{kept}/{before} = {kept / before:.2f}" if before else "-"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.laws", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FIXTURES)
    parser.add_argument("--only", default="", metavar="LAW,...", help="these laws alone")
    parser.add_argument("--show", metavar="LAW", choices=LAWS, help="print what this law loses")
    parser.add_argument("--codes", default="TLK", metavar="CODE,...", help="with --show: findings of these codes alone")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.show:
        for one in results(fixtures(options.folder), options.show):
            for line in shown(one, tuple(options.codes.split(","))):
                print(line)
        return 0
    laws = options.only.split(",") if options.only else [*LAWS]
    texts = fixtures(options.folder)
    print(f"{len(texts)} files, {sum(len(baseline(each)) for each in texts.values())} findings as they are\n")
    for line in table([*rows(options.folder, laws, options.jobs)]):
        print(line)
    return 0


def shown(one: Reshaped, codes: tuple[str, ...] = ("TLK",)) -> Iterator[str]:
    """A file with what is lost and new in it, if anything is."""
    lost = [each for each in one.lost if each.code.startswith(codes)]
    new = [each for each in one.new if each.code.startswith(codes)]
    if not lost and not new:
        return
    yield f"== {one.path} under {one.law}"
    for each in lost:
        yield f"-- lost {each.code} (line {min(each.origins, default=0)} of the file): {each.text}"
    marks: dict[int, list[str]] = {}
    for each in one.after:
        marks.setdefault(each.line, []).append(f"{'NEW ' if each in new else ''}{each.code}")
    for number, line in enumerate(one.text.split("\n"), 1):
        yield f"{number:4} {line}" + (f"  # <<< {', '.join(marks[number])}" if number in marks else "")


if __name__ == "__main__":
    sys.exit(main())
