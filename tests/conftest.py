"""What the tests share: a rule's exception fails the test that met it, and one leak that every shell must show."""

from __future__ import annotations

import faulthandler
import functools
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import settings

import flake8_torchleak.lint
from flake8_torchleak.shells import arguments
from tests.warm import Warm

flake8_torchleak.lint.reraise = True

# The command makes its parser once in a process, and a thousand tests run the command in this one.
arguments._parser = functools.cache(arguments._parser)

# The machine that runs the tests may be busy: a slow example is no failure, and the same examples every time.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# Some hundred processes of Python are started: they compile the package once, and not each time, whoever asks for that.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The tests say the same at a desk and in a continuous integration: what the package asks of either is unset. Here, and
# not before each test: for eleven thousand of them that took seconds.
for _name in ("CI", "GITHUB_ACTIONS", "NO_COLOR", "FORCE_COLOR"):
    os.environ.pop(_name, None)

# A shell's job in the background ignores Ctrl-C, and so would what the tests start there and end in that way.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent

LEAK = """\
import torch
def train(model, loader, criterion, optimizer):
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""
"""TLK401 on line 9, and nothing else that is on by default."""


def plain(**environment: str) -> dict[str, str]:
    """The environment of a user, and what is added to it."""
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    return {**env, "PYTHONIOENCODING": "utf-8", **environment}


def python(*arguments: str, cwd: Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run this Python in a process of its own, as a user would: without our settings, warnings shown."""
    env = plain(**environment)
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, input=stdin, capture_output=True, env=env, timeout=600, check=False
    )


def flake8(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the real flake8, with our codes alone unless told otherwise."""
    return WARM.run("flake8", "--jobs=1", *arguments, cwd=cwd, stdin=stdin, environment=plain())


WARM = Warm()


@pytest.fixture(scope="session", autouse=True)
def _warm() -> Iterator[None]:
    """Behind the last test, and before coverage is put together, what forks ends."""
    yield
    WARM.end()


def torchleak(*arguments: str, cwd: Path, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command."""
    if env:  # Python asks for some of it as it starts
        return python("-m", "flake8_torchleak", *arguments, cwd=cwd, stdin=stdin, **env)
    return WARM.run("flake8_torchleak", *arguments, cwd=cwd, stdin=stdin, environment=plain())


LONGEST, AGAIN = 1800, 60
"""Seconds. A test that hangs ends its process, with all tracebacks: the last resort behind tests/processes.py. The
clock is set anew now and then: pytest's own is a thread for each test, and takes half as long as a short test."""
_clock = {"set": -float("inf")}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the process end if no other test begins for long."""
    if time.monotonic() - _clock["set"] > AGAIN:
        _clock["set"] = time.monotonic()
        faulthandler.dump_traceback_later(LONGEST, file=item.config.stash[fault_handler_stderr_fd_key], exit=True)


def pytest_exception_interact() -> None:
    """Pytest has stopped the clock: the next test sets it."""
    _clock["set"] = -float("inf")


def pytest_sessionfinish() -> None:
    """Nothing more can hang."""
    faulthandler.cancel_dump_traceback_later()


def pytest_collection_finish() -> None:
    """What thousands of tests are made of stays to the end: the collector need not go through it again and again.

    And it comes as seldom as the command lets it come: trees and facts took it a twelfth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.fixture
def leak(tmp_path: Path) -> Path:
    """A folder with the one file leak.py."""
    (tmp_path / "leak.py").write_text(LEAK)
    return tmp_path


@pytest.fixture
def never_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In an empty folder; what opens a pipe is interrupted, for it would wait for ever."""

    def waiting(*_: object) -> None:
        raise AssertionError("something waits for ever")

    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    before = signal.signal(signal.SIGALRM, waiting)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
