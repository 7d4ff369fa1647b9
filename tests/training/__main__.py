"""`python -m tests.training --count 1000 --seed 1 [--construct gan] [--unsafe] [--shrink 10]`: the harness at length.

Prints the counts by construct, the failures by what they are, and the smallest programs of the commonest failures.
With `--unsafe`: in how many programs each rule's unsafe fixes change what is computed, and how.
"""

from __future__ import annotations

import argparse
import sys

from tests.training import unsafe
from tests.training.generate import CONSTRUCTS, program
from tests.training.judge import judge
from tests.training.run import warm
from tests.training.small import small
from tests.training.table import Table


def main() -> int:
    """The exit status: 1 when a safe fix broke a program."""
    parser = argparse.ArgumentParser(prog="python -m tests.training", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="NUMBER", type=int, help="make, print and judge this program alone")
    parser.add_argument("--construct", choices=CONSTRUCTS, default="", help="programs of this construct alone")
    parser.add_argument("--unsafe", action="store_true", help="apply unsafe fixes, one rule at a time")
    parser.add_argument("--shrink", type=int, default=0, metavar="COUNT", help="print so many failing programs, small")
    options = parser.parse_args()
    warm()
    numbers = range(options.count) if options.only is None else [options.only]
    if options.unsafe:
        for line in unsafe.lines(program(options.seed, number, options.construct) for number in numbers):
            print(line)
        return 0
    table = Table()
    for number in numbers:
        made = program(options.seed, number, options.construct)
        table.add(judge(made))
        if options.only is not None:
            print(made.text)
    for line in table.lines():
        print(line)
    commonest = sorted(table.programs, key=lambda key: -table.failures[key])[: options.shrink]
    for key in commonest:
        failure, rules, escape = key
        print(f"\n== {table.failures[key]} x {failure}; fixed {rules}; escape: {escape or 'none'}\n")
        print(small(table.programs[key]).text)
        sys.stdout.flush()
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
