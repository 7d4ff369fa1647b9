"""The figures that have bounds, in one run: ours and ruff's in turn, and our part of a flake8 run.

usage: python benchmarks/speed.py [--rounds N] FOLDER

FOLDER is copied into a temporary project first: some files are changed, and findings are kept there. Medians of user
and system time of child processes; nothing is asserted. Each command writes bytecode: without it, importing is half of
a short run (`PYTHONDONTWRITEBYTECODE` is not handed on).
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

BIN = Path(sys.executable).parent
SETTLED = 2.5
"""Seconds after which a file system's times tell whether a file was changed again."""
NOTHING = "def f(x):\n    return x\n"
"""A file without torch: what a flake8 run takes with it is its start."""


class Bench:
    """A copy of a folder, and the commands over it."""

    def __init__(self, folder: str, place: Path) -> None:
        self.place = place
        shutil.copytree(folder, place / "src", symlinks=True)
        (place / "pyproject.toml").write_text("")
        (place / "nothing.py").write_text(NOTHING)
        self._environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self.changed = sorted((place / "src").rglob("*.py"), key=lambda path: -path.stat().st_size)[20]

    def seconds(self, *command: str) -> float:
        """User and system time of one run."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            cwd=self.place,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def change(self) -> None:
        """Change one file, and wait until that shows."""
        with self.changed.open("a") as file:
            file.write("\n# changed\n")
        time.sleep(SETTLED)

    def memory(self) -> float:
        """MB that a run took at most, in one process."""
        code = (
            "import os, resource, sys; from flake8_torchleak.shells.cli import main; "
            "sys.stdout = open(os.devnull, 'w'); main(['check', '--no-cache', '-j1', 'src']); "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        run = subprocess.run([sys.executable, "-c", code], cwd=self.place, capture_output=True, text=True, check=False)
        found = re.findall(r"^\d+$", run.stderr, re.MULTILINE)
        return int(found[-1]) / 1024 if found else float("nan")

    def start(self) -> float:
        """Milliseconds that our plugin takes for its import and a first file that has nothing to do with torch."""
        code = (
            "import ast, time, flake8.main.application; text = open('nothing.py').read(); start = time.thread_time(); "
            "from flake8_torchleak.shells.flake8_plugin import TorchLeak; "
            "list(TorchLeak(ast.parse(text), text.splitlines(True), 'nothing.py').run()); "
            "print(1000 * (time.thread_time() - start))"
        )
        command = [sys.executable, "-c", code]
        runs = [
            subprocess.run(
                command, cwd=self.place, env=self._environment, capture_output=True, text=True, check=True
            ).stdout
            for _ in range(9)
        ]
        return statistics.median(map(float, runs))

    def shares(self, *options: str) -> tuple[float, float]:
        """Our part of a flake8 run in percent, and the milliseconds of the slowest file (`share.py`)."""
        run = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("share.py")), "--rounds", "1", "src", *options],
            cwd=self.place,
            capture_output=True,
            text=True,
            check=False,
        )
        row = re.search(r"^\| plugin TLK[^|]*\|[^|]*\| ([\d.]+) \| ([\d.]+) \|", run.stdout, re.MULTILINE)
        return (float(row[1]), float(row[2])) if row else (float("nan"), float("nan"))


def main() -> None:
    """Print a Markdown table: figure, value, bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(arguments.folder, Path(place))
        print("| figure | value | bound |\n|---|---|---|")
        for name, value, bound in rows(bench, arguments.rounds):
            print(f"| {name} | {value} | {bound} |", flush=True)


def rows(bench: Bench, rounds: int) -> Iterator[tuple[str, str, str]]:
    """Each figure with its bound. Commands that are compared run in turn."""
    own = ("torchleak", "check", "-j1")
    bench.seconds(*own, "nothing.py")  # bytecode
    ours, ruff = in_turn(
        rounds,
        lambda: bench.seconds(*own, "--no-cache", "src"),
        lambda: bench.seconds("ruff", "check", "--no-cache", "--isolated", "--quiet", "src"),
    )
    yield "cold, over ruff's default rules", f"{ours / ruff:.1f} ({ours:.2f} s, {ruff:.2f} s)", "3"
    time.sleep(SETTLED)
    bench.seconds(*own, "src")
    bench.seconds(*own, "src")  # what was noted of files that were new is settled now
    same, again = in_turn(
        max(rounds, 5), lambda: bench.seconds(*own, "src"), lambda: bench.seconds("ruff", "check", "--quiet", "src")
    )
    yield "nothing changed", f"{same:.2f} s (ruff {again:.2f} s)", "0.25 s"
    changed = []
    for _ in range(rounds):
        bench.change()
        changed.append(bench.seconds(*own, "src"))
    yield "one file changed", f"{statistics.median(changed):.2f} s", "0.4 s"
    yield "added to a flake8 run without torch", f"{bench.start():.1f} ms", "8 ms"
    yield "memory of the command", f"{bench.memory():.0f} MB", "150 MB"
    for name, bound, options in (
        ("share of a flake8 run, other files followed", "2.5 %", ()),
        ("the same, `--follow-imports=no`", "1.5 %", ("--follow-imports=no",)),
    ):
        share, slowest = bench.shares(*options)
        yield name, f"{share:.1f} %, slowest file {slowest:.0f} ms", bound


def in_turn(rounds: int, one: Callable[[], float], two: Callable[[], float]) -> tuple[float, float]:
    """The medians of two measures that are taken in turn."""
    found = [(one(), two()) for _ in range(rounds)]
    return statistics.median(first for first, _ in found), statistics.median(second for _, second in found)


if __name__ == "__main__":
    main()
