"""Share of one flake8 run that flake8-torchleak takes, measured inside the process.

usage: python benchmarks/share.py [--rounds N] FOLDER [OPTIONS OF FLAKE8]

Runs `flake8 -j1 FOLDER` in this process and sums CPU time per plugin and per stage. Differences of a few percent
between two whole runs drown in the noise of a shared machine; shares inside one run do not. Needs flake8 and this
package installed. Nothing is asserted: the numbers are printed.

Garbage collection is part of whatever part it comes in, and shown beside: what a plugin keeps in memory, every full
collection of the run goes through.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import flake8.checker
from flake8.main import application

WHOLE = "whole run"


def main() -> None:
    """Print a Markdown table: part, CPU seconds, share of the run, slowest file in ms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("folder")
    arguments, options = parser.parse_known_args()
    spent: defaultdict[str, float] = defaultdict(float)
    slowest: defaultdict[str, float] = defaultdict(float)
    instrument(spent, slowest)
    runs = []
    terminal = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # flake8 writes its findings here
    for _ in range(arguments.rounds):
        spent.clear()
        start = time.thread_time()
        application.Application().run([arguments.folder, "-j1", "--exit-zero", *options])
        sys.stdout.flush()
        spent[WHOLE] = time.thread_time() - start
        runs.append(dict(spent))
    os.dup2(terminal, 1)
    print("| part | CPU s | % of the run | slowest file, ms |\n|---|---|---|---|")
    for part in sorted(runs[0], key=lambda part: -runs[0][part]):
        seconds = statistics.median(run.get(part, 0.0) for run in runs)
        share = statistics.median(100 * run.get(part, 0.0) / run[WHOLE] for run in runs)
        print(f"| {part} | {seconds:.3f} | {share:.2f} | {1000 * slowest[part]:.1f} |")


def instrument(spent: defaultdict[str, float], slowest: defaultdict[str, float]) -> None:
    """Make flake8 note the CPU seconds of its stages and of every plugin that takes a tree."""
    checker = flake8.checker.FileChecker

    def run_ast_checks(self: Any) -> None:
        start = time.thread_time()
        tree = self.processor.build_ast()
        spent["building the tree"] += time.thread_time() - start
        for plugin in self.plugins.tree:
            start = time.thread_time()
            found = list(self.run_check(plugin, tree=tree).run())
            took = time.thread_time() - start
            name = f"plugin {plugin.entry_name} ({plugin.plugin.package})"
            spent[name] += took
            slowest[name] = max(slowest[name], took)
            for line, column, text, _ in found:
                self.report(error_code=None, line_number=line, column=column, text=text)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent[name] += time.thread_time() - start

        return wrapper

    started: list[float] = []

    def collecting(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            started.append(time.thread_time())
        else:
            spent["(garbage collection)"] += time.thread_time() - started.pop()

    gc.callbacks.append(collecting)
    checker.run_ast_checks = run_ast_checks
    checker.process_tokens = timed("tokens and pycodestyle", checker.process_tokens)


if __name__ == "__main__":
    main()
