"""`python -m tests.fuzz --minutes 30 [--seed 1]`: make programs until the time is up, and print those that break a law.

Nine of ten are mutants; the others come from hypothesmith, put into a mutant. A failure is printed once, made small,
with the seed and number that make its program again: `python -m tests.fuzz --seed 1 --only 123`.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from functools import partial

from flake8_torchleak.config import Config
from tests.fuzz.corpus import corpus
from tests.fuzz.generated import generated
from tests.fuzz.laws import CONFIGS, Tally, check, failure
from tests.fuzz.mutate import mutant
from tests.fuzz.shrink import shrunk

_BATCH = 20
"""Programs that hypothesmith makes at a time: the first of each batch are small."""


def main() -> int:
    """The exit status: 1 when a law was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="NUMBER", type=int, help="make and check this program alone")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    tally, failures, number = Tally(), dict[str, int](), 0
    while time.monotonic() < end and (options.only is None or number == 0):
        number = number + 1 if options.only is None else options.only
        rng = random.Random(f"{options.seed}:{number}")
        texts = [mutant(rng, corpus())] if number % (10 * _BATCH) else generated(rng, corpus(), _BATCH)
        for text in texts:
            config = rng.choice(CONFIGS)
            failed = failure(text, config)
            if not failed:
                tally.add(check(text, config))
            elif failed not in failures:
                print(f"== {failed}: --seed {options.seed} --only {number}, {config}\n")
                print(shrunk(text, partial(_fails, config, failed)))
                sys.stdout.flush()
            if failed:
                failures[failed] = failures.get(failed, 0) + 1
    print(f"{tally.programs} programs, {tally.findings} findings, {tally.fixes} fixes applied")
    for failed, count in failures.items():
        print(f"{count} x {failed}")
    return 1 if failures else 0


def _fails(config: Config, failed: str, text: str) -> bool:
    """Whether a text fails in the way that is asked for."""
    return failure(text, config) == failed


if __name__ == "__main__":
    sys.exit(main())
