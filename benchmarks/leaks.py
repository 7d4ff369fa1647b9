"""What is told of leaks that readers found in real repositories, without regard to what any linter says.

usage: python benchmarks/leaks.py [--package FOLDER] [--show] TREES

TREES holds checkouts as `owner+name`, at the commits that `field/leaks.jsonl` names. Each line there is a leak that a
reader who wrote no rule and saw no finding would want to be warned of (`worth`: "warning"), or perhaps ("note"). It is
told where a finding, or its evidence, stands within three lines. Printed is how many are told at default severity, as
notes, and not at all, by kind; with --show each leak. Rules that are off by default are selected. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

LEAKS = Path(__file__).with_name("field") / "leaks.jsonl"
SHOWN = ("default", "note", "silent")
NEAR = 3


def told(package: Path, checkout: Path) -> dict[str, list[tuple[int, str]]]:
    """By file: the lines of findings and of their evidence, and how these are shown."""
    words = [sys.executable, "-m", "flake8_torchleak", "check", "--no-cache", "--min-severity=note", "--select=TLK"]
    environment = {**os.environ, "PYTHONPATH": str(package.resolve())}
    command = [*words, "--output-format=json", "."]
    run = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, check=False, text=True)
    lines: dict[str, list[tuple[int, str]]] = defaultdict(list)
    found: list[dict[str, Any]] = json.loads(run.stdout or "[]")
    for each in found:
        how = "note" if each["severity"] == "note" else "default"
        for place in (each, *each["notes"]):
            lines[os.path.normpath(place.get("path") or each["path"])].append((place["line"], how))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--package", type=Path, default=Path(__file__).parents[1], help="holds flake8_torchleak")
    parser.add_argument("--show", action="store_true", help="each leak, and how it is told")
    parser.add_argument("trees", type=Path)
    args = parser.parse_args()
    leaks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in LEAKS.read_text(encoding="utf-8").splitlines():
        leak = json.loads(line)
        leaks[leak["repo"]].append(leak)
    counted: Counter[tuple[str, str, str]] = Counter()
    for repo, there in leaks.items():
        checkout = args.trees / repo.replace("/", "+")
        if not checkout.is_dir():
            print(f"not there: {repo}")
            continue
        lines = told(args.package, checkout)
        for leak in there:
            near = {how for line, how in lines.get(leak["path"], ()) if abs(line - leak["line"]) <= NEAR}
            how = next((each for each in SHOWN if each in near), "silent")
            counted[leak["worth"], leak["kind"], how] += 1
            if args.show:
                print(f"{how}: {leak['worth']}, {leak['kind']}: {repo} {leak['path']}:{leak['line']}")
    for worth in ("warning", "note"):
        kinds = sorted({kind for each, kind, _ in counted if each == worth})
        for kind in kinds:
            print(f"{worth}, {kind}: {', '.join(f'{counted[worth, kind, how]} {how}' for how in SHOWN)}")
        whole = (sum(counted[worth, kind, how] for kind in kinds) for how in SHOWN)
        print(f"{worth}: {', '.join(f'{count} {how}' for count, how in zip(whole, SHOWN, strict=True))}")


if __name__ == "__main__":
    main()
