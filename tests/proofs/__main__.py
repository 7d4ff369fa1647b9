"""`python -m tests.proofs [--only TLK401] [--write]`: run the proofs, print what came out, write it into the pages.

`--pages` runs nothing: it writes the pages anew from the data file, after a change of a proof's words.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.proofs import data, pages
from tests.proofs.proof import Proof
from tests.proofs.run import FILES, failed, load, measure, missing


def main() -> int:
    """The exit status: 1 when a claim does not hold, 2 when a proof cannot be run here."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs", description=__doc__)
    parser.add_argument("--only", metavar="CODE", action="append", choices=sorted(FILES), help="this rule's proof")
    parser.add_argument("--write", action="store_true", help="write the data file, and what is generated from it")
    parser.add_argument("--pages", action="store_true", help="measure nothing; generate from the data file")
    options = parser.parse_args()
    proofs = {code: load(code) for code in FILES}
    written = data.read() if options.pages or options.write and options.only else {}
    wrong = 0
    for code in () if options.pages else options.only or FILES:
        reason = missing(proofs[code])
        if reason:
            print(f"{code}: not run: {reason}", file=sys.stderr)
            return 2
        start = time.monotonic()
        written[code] = measure(proofs[code])
        print(f"{code}: {len(proofs[code].variants)} variants, {time.monotonic() - start:.0f} s")
        wrong += _shown(proofs[code], written[code])
    if options.pages or options.write and not wrong:
        data.write({code: each for code, each in written.items() if code in FILES})
        # Read back, so that pages show the very figures that the file holds.
        pages.write(data.read(), proofs)
    return 1 if wrong else 0


def _shown(proof: Proof, measured: data.Data) -> int:
    """Print the figures; the number of claims that do not hold."""
    for name, figures in measured.figures.items():
        print(f"  {name:<24}", ", ".join(f"{figure} {value:.4g}" for figure, value in figures.items()))
    broken = failed(proof, measured.figures)
    for each in broken:
        print(f"  DOES NOT HOLD: {each}")
    return len(broken)


if __name__ == "__main__":
    sys.exit(main())
