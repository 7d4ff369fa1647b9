"""The plugin under other versions of flake8 and Python: `nox`, or one of `nox --list`.

A Python that is not installed is skipped, and named.
"""

from __future__ import annotations

import nox

nox.options.default_venv_backend = "virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["plugin", "own"]

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
FLAKE8S = ("7.0.0", "7.3.0", "7.5.0")

TESTS = [
    f"tests/test_{name}.py"
    for name in ("flake8", "same_columns", "suppress", "cli", "fix_command", "source", "files", "no_heavy_imports")
]
"""The tests that meet flake8 or the interpreter, and need no PyTorch."""


@nox.session
@nox.parametrize(
    "python, flake8",
    # flake8 7.5 needs Python 3.11.
    [(python, flake8) for python in PYTHONS for flake8 in FLAKE8S if (python, flake8) != ("3.10", "7.5.0")],
)
def plugin(session: nox.Session, flake8: str) -> None:
    """The tests that need no PyTorch, or those named behind `--`, with one flake8."""
    # The newest that each Python has: it is flake8 that counts here.
    session.install(f"flake8=={flake8}", ".[fix]", "pytest", "hypothesis")
    session.run("python", "-m", "pytest", *(session.posargs or TESTS))


@nox.session
def own(session: nox.Session) -> None:
    """Our own code has none of the leaks."""
    session.install(".")
    session.run("torchleak", "check", "flake8_torchleak", "tests", "noxfile.py")
