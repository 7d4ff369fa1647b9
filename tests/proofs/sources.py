"""Which file a variant runs: the linted one, or a copy of it that our own fixer has rewritten."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from flake8_torchleak.lint import lint
from tests.proofs.proof import Variant

ROOT = Path(__file__).resolve().parent.parent.parent


def source(variant: Variant, rule_folder: Path, code: str, folder: Path) -> Path:
    """The file to import for `variant` of the rule `code`; a fixed copy is made in `folder`.

    Raises AssertionError where the fixer fixes nothing. What it leaves, by design or not, is for the claims to judge:
    they ask whether the growth of the class or function that is run has gone.
    """
    path = rule_folder / variant.file
    if not variant.fixed:
        return path
    copy = folder / variant.file
    copy.write_text(fixed(path, code), encoding="utf-8")
    return copy


@lru_cache
def fixed(path: Path, code: str) -> str:
    """The text of a file after `torchleak check --fix`, for all rules that are on and this one, notes too."""
    with tempfile.TemporaryDirectory(prefix="proof-") as folder:
        copy = Path(folder, path.name)
        shutil.copyfile(path, copy)
        before = _findings(copy, code)
        command = [sys.executable, "-m", "flake8_torchleak", "check", "--fix", "--unsafe-fixes", str(copy)]
        command += [f"--extend-select={code}", "--min-severity=note"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        said = f"--fix fixed none of {before} findings of {code} in {path.name}:\n{ran.stdout}\n{ran.stderr}"
        assert _findings(copy, code) < before, said
        return copy.read_text(encoding="utf-8")


def _findings(path: Path, code: str) -> int:
    return sum(each.code == code for each in lint(path.read_text(encoding="utf-8")))
