"""CPU seconds of whole commands over one folder, in turn: torchleak, flake8 with and without it, and rivals at hand.

usage: python benchmarks/commands.py [--rounds N] FOLDER

Medians of user and system time of the child processes, as ratios to `torchleak check`. Commands that are not
installed beside this interpreter are skipped and named. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def commands(folder: str) -> dict[str, list[str]]:
    """Name -> command line, of the programs that lie beside this interpreter."""
    found = {
        "torchleak check": [str(BIN / "torchleak"), "check", folder],
        "flake8 (without plugins of ours)": [
            str(BIN / "flake8"),
            "-j1",
            "--isolated",
            "--exit-zero",
            "--select=E,W,F,C90",
            folder,
        ],
        "ruff check (default rules, no cache)": [
            str(BIN / "ruff"),
            "check",
            "--no-cache",
            "--isolated",
            "--quiet",
            folder,
        ],
        "torchfix": [str(BIN / "torchfix"), folder],
        "torch-preflight": [str(BIN / "torch-preflight"), folder],
    }
    for name in [name for name, command in found.items() if not Path(command[0]).exists()]:
        print(f"skipped, not installed: {name}")
        del found[name]
    return found


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one run of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a Markdown table: command, CPU seconds, ratio to torchleak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    lines = commands(arguments.folder)
    seconds: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(arguments.rounds):
        for name, command in lines.items():
            seconds[name].append(cpu_seconds(command))
    base = statistics.median(seconds["torchleak check"])
    print("| command | CPU s | ratio |\n|---|---|---|")
    for name, values in sorted(seconds.items(), key=lambda item: statistics.median(item[1])):
        print(f"| {name} | {statistics.median(values):.2f} | {statistics.median(values) / base:.2f} |")


if __name__ == "__main__":
    main()
