"""What is told of findings that somebody judged, in repositories that are at hand: right, dull and false ones.

usage: python benchmarks/field.py [--package FOLDER]... [--unjudged] TREES

TREES holds checkouts as `owner+name`, at the commits that `field/verdicts.jsonl` names, or near them. Each line there
is a finding that a reader who wrote no rule has judged: `right` (the claim holds, and a maintainer would take the fix),
`dull` (it holds, and nobody would mind), `false`. Printed is how many of each are told at default severity, as notes,
and not at all; with several packages (folders that hold `flake8_torchleak`), for each, and what differs. --unjudged
prints what the last package tells at default severity beside these: a change that adds some is to be read before it is
taken. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

VERDICTS = Path(__file__).with_name("field") / "verdicts.jsonl"
ORDER = ("right", "dull", "false")
SHOWN = ("default", "note", "silent")
Place = tuple[str, str, int, str]


def told(package: Path, checkout: Path) -> dict[Place, str]:
    """The findings in one repository, by place -> how they are shown."""
    words = [sys.executable, "-m", "flake8_torchleak", "check", "--no-cache", "--min-severity=note"]
    run = subprocess.run(
        [*words, "--output-format=json", "."],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(package.resolve())},
        capture_output=True,
        check=False,
        text=True,
    )
    found: list[dict[str, Any]] = json.loads(run.stdout or "[]")
    repo = checkout.name.replace("+", "/", 1)
    places = sorted(found, key=lambda each: str(each["severity"] != "note"))  # of two in one line the louder counts
    return {
        (repo, os.path.normpath(each["path"]), each["line"], each["code"]): "note"
        if each["severity"] == "note"
        else "default"
        for each in places
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--package", action="append", type=Path, help="folders that hold flake8_torchleak")
    parser.add_argument("--unjudged", action="store_true", help="also what nobody judged")
    parser.add_argument("trees", type=Path)
    args = parser.parse_args()
    judged = [json.loads(line) for line in VERDICTS.read_text(encoding="utf-8").splitlines()]
    verdicts: dict[Place, str] = {
        (each["repo"], each["path"], each["line"], each["code"]): each["verdict"] for each in judged
    }
    repos = sorted({repo for repo, *_ in verdicts})
    checkouts = [path for repo in repos if (path := args.trees / repo.replace("/", "+")).is_dir()]
    here = {path.name.replace("+", "/", 1) for path in checkouts}
    packages = args.package or [Path(__file__).parents[1]]
    print(f"{len(checkouts)} of {len(repos)} repositories are there")
    found: list[dict[Place, str]] = []
    for package in packages:
        found.append({place: how for path in checkouts for place, how in told(package, path).items()})
        counted = Counter(
            (verdict, found[-1].get(place, "silent")) for place, verdict in verdicts.items() if place[0] in here
        )
        rows = (f"{each}: {', '.join(f'{counted[each, how]} {how}' for how in SHOWN)}" for each in ORDER)
        print(package, *rows, sep=" | ")
    for place, verdict in sorted(verdicts.items()):
        shown = [each.get(place, "silent") for each in found]
        if len(set(shown)) > 1:
            print(f"{' -> '.join(shown)}: {verdict}: {place[0]} {place[1]}:{place[2]} {place[3]}")
    for place, how in sorted(found[-1].items()) if args.unjudged else ():
        if how == "default" and place not in verdicts:
            print(f"not judged: {place[0]} {place[1]}:{place[2]} {place[3]}")


if __name__ == "__main__":
    main()
