"""`python -m tests.laws.spelling [--show WORD] [--jobs 2]`: the share of spellings with the same findings, by fact.

With `--show`: every spelling of a fact or way with this word in its name that has other findings, with its program.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.laws.spelling.table import Spelt, cases, rates, spelt


def one(number: int) -> Spelt:
    return spelt(*cases_once()[number])


def cases_once() -> list:  # type: ignore[type-arg]
    global _CASES
    if not _CASES:
        _CASES = cases()
    return _CASES


_CASES: list = []  # type: ignore[type-arg]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.laws.spelling", description=__doc__)
    parser.add_argument("--show", metavar="WORD")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    numbers = list(range(len(cases_once())))
    if options.show:
        numbers = [n for n in numbers if options.show in " ".join(cases_once()[n][1:3])]
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            results = list(pool.map(one, numbers, chunksize=16))
    else:
        results = [one(number) for number in numbers]
    for each in results if options.show or options.brief else ():
        if not each.same:
            print(f"== {each.name} | {each.fact}: {each.spelling!r}")
            for kind, seen in (("lost", each.lost), ("new", each.new)):
                for finding in seen:
                    print(f"   {kind} {finding.code} {finding.severity.name} at line {finding.line}: {finding.text}")
            if not options.brief:
                print(each.text)
    print("| fact | same | new | lost |\n|---|---|---|---|")
    for key, (same, count) in rates(results).items():
        these = [each for each in results if key in (each.fact, f"{each.fact} {each.spelling}")]
        counts = [sum(bool(e.new) for e in these), sum(bool(e.lost) for e in these)]
        print(f"| {key} | {same}/{count} = {same / count:.2f} | {counts[0]} | {counts[1]} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
