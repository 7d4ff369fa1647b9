"""How linting time grows with file size, against `ast.parse` of the same text, over generated families.

usage: python benchmarks/growth.py [FAMILY...] [--sizes 1000,2000,...] [--fixes] [--engine] [--seconds-per-1000 1]

For each family (benchmarks/families.py) and size, a process of its own measures CPU seconds: of `ast.parse` and of
the analysis (`lint`; with --fixes the edits are worked out as well; with --engine the fixes are applied, by libcst).
It prints CPU per 1,000 lines, the exponents of growth fitted over the larger sizes, and whether the leaks that are
seeded at the beginning, in the middle and at the end of the largest file are found. A family is left where it takes
longer than the bound. "importers" is one small file that 40 to 2,500 other files of its project import; `ast.parse`
is that of the whole project, which is what grows.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from calling import FOLLOWED
from families import FAMILIES as PLAIN
from families import HEAD, METER, REAL, SEED

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.lint import lint

FAMILIES = (*PLAIN, *FOLLOWED)
SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)
FITTED = 4
"""How many of the largest sizes the exponent is fitted over."""
SLACK = 10
"""Seconds of CPU on top of the bound before a process is ended: start, and what small files cost."""
IMPORTERS = "importers"
_MARK = re.compile(r"# LEAK (TLK\d+)$")


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(name: str, size: int, fixes: bool, engine: bool) -> None:
    """Print one measurement as JSON: runs in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = None
        if name == IMPORTERS:
            path, text = project(Path(folder), size * 2500 // SIZES[-1])
            texts = [each.read_text() for each in Path(folder).glob("*.py")]
        else:
            text = next(each for each in FAMILIES if each.name == name).make(size)
            texts = [text]
        # As the command does: the collector's passes over trees would be half of all that is measured.
        gc.freeze()
        gc.set_threshold(100_000, 20, 20)
        lint(SEED.format(name="warm"))
        parse = min(cpu(lambda: [ast.parse(each) for each in texts]) for _ in range(3 if size < 30_000 else 2))
        found = []
        if engine:
            from flake8_torchleak.fixing.fix import fix

            fix(SEED.format(name="warm"), DEFAULT, unsafe=True, takes=lambda code: True)  # libcst is imported, too
            whole = cpu(lambda: fix(text, DEFAULT, unsafe=True, takes=lambda code: True))
        else:
            whole = cpu(lambda: found.extend(lint(text, path=path, fixes=fixes)))
    marked = {(n, m[1]) for n, line in enumerate(text.splitlines(), 1) if (m := _MARK.search(line))}
    missed = marked - {(each.span.line, each.code) for each in found}
    said = sorted({each.message for each in found if each.code in ("TLK000", "TLK003")})
    lines = text.count("\n")
    print(
        json.dumps(
            {
                "lines": lines,
                "parse": parse,
                "whole": whole,
                "marked": len(marked),
                "missed": sorted(missed),
                "said": said,
            }
        )
    )


def project(folder: Path, importers: int) -> tuple[str, str]:
    """A module with a Dataset, a meter and a training function, and files that import it: its path and its text."""
    (folder / "pyproject.toml").write_text("")
    text = HEAD + REAL.format(n="") + METER.format(n="") + SEED.format(name="first")
    (folder / "shared.py").write_text(text)
    for n in range(importers):
        (folder / f"user{n}.py").write_text(
            "from torch.utils.data import DataLoader\nfrom shared import Photos, Meter, train, evaluate\n\n\n"
            f"def main{n}(root, model, optimizer):\n    loader = DataLoader(Photos(root, None), num_workers={n % 4})\n"
            "    meter = Meter()\n    train(model, loader, None, optimizer)\n"
            "    meter.update(evaluate(model, loader))\n"
        )
    return str(folder / "shared.py"), text


def exponent(points: list[tuple[int, float]]) -> float:
    """The slope of the line through the logarithms of sizes and seconds, by least squares."""
    xs, ys = [math.log(size) for size, _ in points], [math.log(max(seconds, 1e-6)) for _, seconds in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / sum((a - x) ** 2 for a in xs)


def one(name: str, size: int, arguments: argparse.Namespace) -> dict[str, object] | None:
    """A measurement in a process of its own; None if it takes longer than the bound."""
    bound = int(size / 1000 * arguments.bound) + SLACK
    flags = ["--fixes"] * arguments.fixes + ["--engine"] * arguments.engine
    done = subprocess.run(
        [sys.executable, __file__, "--one", str(size), *flags, name],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (bound, bound)),
        cwd=os.getcwd(),
    )
    if done.returncode > 0:
        return {"error": done.stderr.strip().splitlines()[-1][:200]}
    return json.loads(done.stdout) if not done.returncode else None


def row(name: str, hostile: bool, arguments: argparse.Namespace) -> tuple[str, bool]:
    """The row of a family in the table, and whether it is as it should be."""
    points: list[dict[str, object]] = []
    cells, problem = [], ""
    for size in arguments.sizes:
        got = one(name, size, arguments)
        if got is None or "error" in got:
            problem = "does not end" if got is None else str(got["error"])
            cells += ["–"] * (len(arguments.sizes) - len(cells))
            break
        points.append(got)
        cells.append(f"{got['whole'] / size * 1e6:.0f}")
    growth, parse, seeds = "", "", ""
    if len(points) >= 2:
        fitted = points[-FITTED:]
        sizes = arguments.sizes[len(points) - len(fitted) :]
        growth_, parse_ = (exponent([(n, p[k]) for n, p in zip(sizes, fitted)]) for k in ("whole", "parse"))
        growth, parse = f"{growth_:.2f}", f"{parse_:.2f}"
        if not problem and growth_ > parse_ + 0.05:
            problem = "grows"
    if points and not arguments.engine:
        last = points[-1]
        seeds = f"{last['marked'] - len(last['missed'])} of {last['marked']}"
        if last["missed"] and not hostile:
            problem = problem or f"missed {last['missed'][:3]}"
        seeds += "".join(f"; says: {each}" for each in last["said"])[:200]
    title = name + " (hostile)" * hostile
    return f"| {title} | {' | '.join(cells)} | {growth} | {parse} | {seeds} | {problem} |", not problem


def main() -> int:
    """Print a Markdown table; the exit status says whether every family is as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("families", nargs="*")
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=SIZES)
    parser.add_argument("--fixes", action="store_true", help="work out the fixes as well")
    parser.add_argument("--engine", action="store_true", help="apply them, by libcst")
    parser.add_argument("--bound", type=float, default=1.0, metavar="SECONDS", help="CPU per 1,000 lines (default: 1)")
    parser.add_argument("--one", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.families[0], arguments.one, arguments.fixes, arguments.engine)
        return 0
    print("CPU milliseconds per 1,000 lines, by size\n")
    print(f"| family | {' | '.join(map(str, arguments.sizes))} | exponent | of parse | leaks found | |")
    print("|---" * (len(arguments.sizes) + 5) + "|", flush=True)
    good = True
    known = [(each.name, each.hostile) for each in FAMILIES] + [(IMPORTERS, False)]
    for name, hostile in known:
        if not arguments.families or name in arguments.families:
            line, fine = row(name, hostile, arguments)
            good = good and fine
            print(line, flush=True)
    return not good


if __name__ == "__main__":
    sys.exit(main())
