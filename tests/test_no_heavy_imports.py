"""Users pay for every import on every run: linting loads no library of the linted code and none of ours for fixing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import LEAK, python

HEAVY = {
    "torch",
    "numpy",
    "pandas",
    "cv2",
    "libcst",
    "pygls",
    "rich",
    "psutil",
    "matplotlib",
    "pathspec",
    "multiprocessing",
    "shtab",
    "watchfiles",
    "distributed",
    "ray",
    "pyarrow",
}

LINT = f"from flake8_torchleak.lint import lint; assert lint({LEAK!r})"
CHECK = "from flake8_torchleak.shells.cli import main; assert main(['check', 'leak.py']) == 1"
PLUGIN = "import flake8_torchleak.shells.flake8_plugin"
SHOW = "; import sys; sys.stderr.write(' '.join(sys.modules))"


def modules(code: str, folder: Path) -> set[str]:
    """The modules loaded in a fresh Python that ran `code`."""
    # Measuring coverage in that process would load what we are looking for.
    run = python("-c", code + SHOW, cwd=folder, COVERAGE_PROCESS_CONFIG="", COVERAGE_PROCESS_START="")
    assert run.returncode == 0, run.stderr
    return set(run.stderr.decode().split())


@pytest.mark.parametrize("code", [LINT, CHECK, PLUGIN], ids=["lint", "check", "plugin"])
def test_nothing_heavy_is_loaded(leak: Path, code: str) -> None:
    loaded = modules(code, leak)
    assert "flake8_torchleak.config" in loaded
    assert not loaded & HEAVY
    assert not any(name.startswith("flake8_torchleak.recorder") for name in loaded)


def test_what_few_runs_need_is_not_loaded_by_others(leak: Path) -> None:
    loaded = modules(CHECK, leak)
    ours = {f"flake8_torchleak.shells.{name}" for name in ("baseline", "comments", "placing", "repair", "silence")}
    assert not loaded & {"difflib", "json", "tomllib", "tomli", *ours}


def test_the_plugin_loads_no_rule_until_the_first_file(tmp_path: Path) -> None:
    ours = {name for name in modules(PLUGIN, tmp_path) if name.startswith("flake8_torchleak")}
    assert ours == {
        "flake8_torchleak",
        "flake8_torchleak.config",
        "flake8_torchleak.shells",
        "flake8_torchleak.shells.flake8_plugin",
    }


def test_a_report_loads_its_own_format_alone(leak: Path) -> None:
    ours = {"flake8_torchleak.shells.formats", "flake8_torchleak.shells.formats.text"}
    loaded = modules(CHECK, leak)
    assert {name for name in loaded if name.startswith("flake8_torchleak.shells.formats")} == ours
    assert not loaded & {"json", "hashlib", "flake8_torchleak.shells.outfile"}
