"""Finds proofs and runs them: one child process a variant, as many at once as there are cores."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from tests.proofs.child import Job
from tests.proofs.data import Data
from tests.proofs.measure import unavailable
from tests.proofs.proof import Figures, Proof, Variant
from tests.proofs.sources import ROOT, source

FIXTURES = ROOT / "fixtures"
FILES = {path.parent.name.partition("_")[0]: path for path in sorted(FIXTURES.glob("*/proof.py"))}
"""proof.py by the code of its rule."""


def load(code: str) -> Proof:
    """The proof of a rule; imports nothing but what its proof.py does."""
    spec = importlib.util.spec_from_file_location(f"proof_{code}", FILES[code])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Proof = module.PROOF
    assert found.code == code, FILES[code]
    return found


def missing(proof: Proof) -> str:
    """Why a proof cannot run here; empty where it can."""
    absent = [name for name in ("torch", "numpy", "libcst", *proof.needs) if importlib.util.find_spec(name) is None]
    absent += [f"{proof.cores} cores"] if (os.cpu_count() or 1) < proof.cores else []
    return unavailable() or (f"needs {', '.join(absent)}" if absent else "")


def measure(proof: Proof) -> Data:
    """Run all variants. Raises AssertionError with a variant's output when one fails."""
    results = _results(proof)
    figures: dict[str, dict[str, float]] = {name: each["figures"] for name, each in results.items()}
    if proof.derive is not None:
        for name, more in proof.derive(figures).items():
            figures.setdefault(name, {}).update(more)
    plotted = [(each.measure, name) for each in proof.plots for name in each.lines]
    series = {name: {m: each["series"][m] for m, n in plotted if n == name} for name, each in results.items()}
    return Data(figures, {name: each for name, each in series.items() if each}, environment())


def _results(proof: Proof) -> dict[str, Any]:
    """By variant, what its child wrote."""
    path = FILES[proof.code]
    # Python's own switches and whatever watches the tests (coverage) would count as the variant's memory.
    env = {key: value for key, value in os.environ.items() if not key.startswith(("COV", "PYTHON", "PYTEST"))}
    env |= {"PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory(prefix="proof-") as temporary:
        jobs = [_job(proof, variant, Path(temporary, variant.name)) for variant in proof.variants]
        listing = Path(temporary, "jobs.json")
        listing.write_text(json.dumps([vars(each) for each in jobs]), encoding="utf-8")
        command = [sys.executable, "-m", "tests.proofs.child", str(path), str(listing)]
        limit = 60 + sum(each.seconds for each in proof.variants)
        ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=limit)
        assert ran.returncode == 0, f"{proof.code}:\n{ran.stderr}"
        for each in jobs:
            output = Path(each.output)
            shown = output.read_text(encoding="utf-8") if output.exists() else ""
            assert Path(each.result).exists(), f"{proof.code} {each.variant}:\n{shown}"
        return {each.variant: json.loads(Path(each.result).read_text(encoding="utf-8")) for each in jobs}


def _job(proof: Proof, variant: Variant, folder: Path) -> Job:
    work, sources = folder / "work", folder / "sources"
    work.mkdir(parents=True)
    sources.mkdir()
    linted = source(variant, FILES[proof.code].parent, proof.code, sources)
    return Job(variant.name, str(linted), str(work), str(folder / "output"), str(folder / "result"), variant.seconds)


def environment() -> dict[str, str]:
    """What the figures depend on: versions and cores."""
    installed = {each.metadata["Name"].lower(): each.version for each in distributions()}
    names = ["torch", "numpy", "pyarrow", "opencv-python-headless"]
    return {
        "python": platform.python_version(),
        **{name: installed[name] for name in names if name in installed},
        "system": f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        "cores": str(os.cpu_count()),
        "page": f"{os.sysconf('SC_PAGE_SIZE')} bytes",
    }


def failed(proof: Proof, figures: Figures) -> list[str]:
    """The claims that do not hold, with the figures against them."""
    return [f"{each.text} ({each.shown(figures)})" for each in proof.claims if not each.holds(figures)]
