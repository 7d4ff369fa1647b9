"""Findings are told before they are certain, where they are likely: what is certain is shown behind them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding
from flake8_torchleak.lint import Early, lint
from flake8_torchleak.server.checking import Checked, Checker
from flake8_torchleak.server.documents import View
from flake8_torchleak.server.known import Found, give
from flake8_torchleak.stopping import pause
from tests.conftest import LEAK
from tests.server.client import Editor
from tests.server.conftest import Opened
from tests.server.test_diagnostics import MEND, METER, TRAINING

PATIENCE = 20
TWO = TRAINING.replace("import torch\n", "import torch\nfrom counter import Counter\n")
TWO = TWO.replace("    meter = Meter()\n", "    meter, counter = Meter(), Counter()\n")
TWO = TWO.replace("meter.update(loss)\n", "meter.update(loss)\n        counter.update(loss)\n")
DEFAULT_ONES = ("TLK40", "TLK5")


class Project:
    """A file that is linted again and again, and those that it imports."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "training.py"
        (folder / "meter.py").write_text(METER)
        (folder / "counter.py").write_text(METER.replace("Meter", "Counter"))
        self.told: list[list[Finding]] = []
        self.early = Early(self.told.append)

    def lint(self, text: str, wanted: Callable[[str], bool] | None = lambda code: code.startswith(DEFAULT_ONES)) -> int:
        """How often something was told; the findings are those that are found without it."""
        self.told.clear()
        found = lint(text, path=str(self.path), wanted=wanted, early=self.early)
        assert found == lint(text, path=str(self.path), wanted=wanted)
        assert all(each == found for each in self.told)
        return len(self.told)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_what_asks_as_before_is_told_early(project: Project) -> None:
    assert project.lint(TWO) == 0
    assert list(project.early.wanted) == ["meter.Meter", "counter.Counter"]
    assert project.lint(TWO + "\n\nx = 1\n") == 1
    assert project.told[0]


def test_what_asks_for_more_is_told_the_next_time(project: Project) -> None:
    project.lint(TRAINING)
    assert list(project.early.wanted) == ["meter.Meter"]
    assert project.lint(TWO) == 0
    assert project.lint(TWO) == 1


def test_what_asks_for_less_is_told_and_looked_at_anew(project: Project) -> None:
    project.lint(TWO)
    assert project.lint(TRAINING) == 1
    assert list(project.early.wanted) == ["meter.Meter"]


def test_what_is_not_there_any_more_is_not_told(project: Project) -> None:
    project.early.wanted = {"gone.Meter": None}
    assert project.lint(TRAINING.replace("from meter", "from gone")) == 0


def test_with_rules_that_ask_for_themselves_nothing_is_told(project: Project) -> None:
    project.lint(TWO, None)
    assert project.lint(TWO, None) == 0


def test_what_was_told_in_vain_is_told_once() -> None:
    loop = asyncio.new_event_loop()
    future: asyncio.Future[Found] = loop.create_future()
    view = View("file:///leak.py", "", "utf-16")
    give(future, Found(view, [], (), {}))
    give(future, Found(view, None, (), {}))
    assert future.result().findings == []
    loop.close()


# -- The server --------------------------------------------------------------------------------------------------


class Telling:
    """Checks of one text that tell the findings of another one first, and are not done before they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, text: str, guess: list[Finding]) -> None:
        self.goes_on, self.told = threading.Event(), threading.Event()
        check = Checker.check

        def telling(checker: Checker, view: View, tell: Callable[[list[Finding]], None]) -> Checked:
            if view.text != text:
                return check(checker, view, tell)
            tell(guess)
            self.told.set()
            while not self.goes_on.is_set():
                pause()
            return check(checker, view, tell)

        monkeypatch.setattr(Checker, "check", telling)


@pytest.fixture
def found() -> list[Finding]:
    return lint(LEAK)


def test_what_is_likely_is_shown_before_it_is_certain(
    editor: Editor, monkeypatch: pytest.MonkeyPatch, found: list[Finding]
) -> None:
    telling = Telling(monkeypatch, LEAK, found)
    editor.open("leak.py", LEAK)
    assert len(editor.shown()) == 1
    telling.goes_on.set()
    assert editor.idle(0.3) == []  # the same again is not shown
    editor.change("leak.py", MEND, 2)
    assert editor.shown() == []


def test_what_turns_out_otherwise_is_shown_then(
    editor: Editor, monkeypatch: pytest.MonkeyPatch, found: list[Finding]
) -> None:
    telling = Telling(monkeypatch, LEAK, [replace(found[0], message="guessed"), *found])
    editor.open("leak.py", LEAK)
    assert len(editor.shown()) == 2
    telling.goes_on.set()
    assert len(editor.shown()) == 1


def test_what_is_likely_is_not_shown_of_a_text_that_is_gone(
    started: Opened, monkeypatch: pytest.MonkeyPatch, found: list[Finding]
) -> None:
    editor = started(None, {"debounce": 0, "run": "save"})
    telling = Telling(monkeypatch, LEAK, found)
    editor.open("leak.py", LEAK)
    editor.change("leak.py", MEND, 2)
    assert telling.told.wait(PATIENCE)
    assert editor.idle(0.1) == []
    telling.goes_on.set()
    assert editor.idle(0.3) == []
    editor.save("leak.py")
    assert editor.shown() == []


def test_the_next_keystroke_stops_what_would_make_certain(
    editor: Editor, monkeypatch: pytest.MonkeyPatch, found: list[Finding]
) -> None:
    Telling(monkeypatch, LEAK, found)
    editor.open("leak.py", LEAK)
    assert len(editor.shown()) == 1
    editor.change("leak.py", MEND, 2)
    assert editor.shown() == []
