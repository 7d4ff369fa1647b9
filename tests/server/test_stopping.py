"""Whoever types is not kept waiting: what he does not see any more is stopped, and what nobody looks at waits."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path

import pytest

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.finding import Finding
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Obj
from flake8_torchleak.lint import lint
from flake8_torchleak.model.reading import Reader, reading
from flake8_torchleak.server import collecting, session
from flake8_torchleak.server.checking import Checked, Checker
from flake8_torchleak.server.documents import View
from flake8_torchleak.server.worker import Urgency, Worker
from flake8_torchleak.stopping import Stopped, pause, stopped_if
from tests.conftest import LEAK
from tests.server.client import Editor
from tests.server.conftest import Opened
from tests.server.test_diagnostics import MEND, METER, TRAINING

FIXTURES = Path(__file__).parents[2] / "fixtures"
PATIENCE = 20


class Watched:
    """Checks, as they begin and end. stays: of which texts a check goes on until it is stopped."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stays: Callable[[View], bool] = lambda _: False) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.there = threading.Event()
        check = Checker.check

        def watched(checker: Checker, view: View, tell: Callable[[list[Finding]], None]) -> Checked:
            self.begun.append(view.text)
            self.there.set()
            while stays(view):
                pause()
            found = check(checker, view, tell)
            self.ended.append(view.text)
            return found

        monkeypatch.setattr(Checker, "check", watched)


def test_twenty_keystrokes_lead_to_one_check_of_the_last_text(started: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = started(None, {"debounce": 700})
    editor.open("leak.py", MEND)
    assert editor.shown() == []
    checks = Watched(monkeypatch)
    for number in range(20):
        editor.change("leak.py", LEAK + "#" * number, number + 2)
        editor.idle(0.03)
    assert len(editor.shown()) == 1
    assert checks.begun[-1] == checks.ended[-1] == LEAK + "#" * 19
    assert len(checks.begun) <= 2


def test_a_check_is_stopped_by_the_next_keystroke(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = Watched(monkeypatch, lambda view: view.text == MEND)
    editor.open("leak.py", MEND)
    editor.idle(0)
    assert checks.there.wait(PATIENCE)
    editor.change("leak.py", LEAK, 2)
    assert len(editor.shown()) == 1
    assert (checks.begun, checks.ended) == ([MEND, LEAK], [LEAK])


def test_what_is_found_ahead_is_shown_when_it_is_due(started: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = started(None, {"debounce": 400})
    editor.open("leak.py", MEND)
    assert editor.shown() == []
    checks = Watched(monkeypatch)
    monkeypatch.setattr(session, "_AHEAD", 60.0)
    loop = editor.server.session._loop
    sent = loop.time()
    editor.change("leak.py", LEAK, 2)
    assert len(editor.shown()) == 1
    assert loop.time() - sent >= 0.4
    monkeypatch.setattr(session, "_AHEAD", 0.0)
    assert checks.ended == [LEAK]


def test_what_is_found_ahead_is_not_shown_when_more_is_typed(started: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = started(None, {"debounce": 1000})
    editor.open("leak.py", MEND)
    assert editor.shown() == []
    checks = Watched(monkeypatch)
    monkeypatch.setattr(session, "_AHEAD", 60.0)
    editor.change("leak.py", LEAK, 2)
    while not checks.ended:
        assert editor.idle(0.01) == []
    editor.change("leak.py", MEND + "# more\n", 3)
    assert editor.shown() == []
    assert checks.ended == [LEAK, MEND + "# more\n"]


def test_what_takes_long_is_begun_as_early_as_that(started: Opened) -> None:
    editor = started(None, {"debounce": 1000})
    editor.open("leak.py", MEND)
    assert editor.shown() == []
    (uri,) = editor.server.session.known
    of_session = editor.server.session
    assert 0 < of_session.known[uri].took < PATIENCE
    of_session.known[uri].took = 0.01
    assert of_session._ahead(uri) == session._AHEAD
    of_session.known[uri].took = 0.4
    assert of_session._ahead(uri) == pytest.approx(0.6)
    editor.change("leak.py", LEAK + "def f(:\n", 2)
    editor.shown()
    assert of_session.known[uri].took == 0.4  # that it does not parse takes no time


def test_files_that_follow_wait_until_nobody_types(started: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = started(None, {"debounce": 300})
    (editor.folder / "meter.py").write_text(METER)
    editor.open("training.py", TRAINING)
    assert len(editor.shown("training.py")) == 1
    editor.open("meter.py", METER)
    assert editor.shown("meter.py") == []
    checks = Watched(monkeypatch)
    released = METER.replace("(value)\n", "(value.item())\n")
    for number in range(4):
        editor.change("meter.py", released + "#" * number, number + 2)
        editor.idle(0.02)
    assert editor.shown("meter.py") == []
    assert editor.shown("training.py") == []
    while checks.ended[-1] != TRAINING:  # it is shown as soon as it is likely
        editor.idle(0.01)
    assert checks.ended.count(TRAINING) == 1


# -- The worker --------------------------------------------------------------------------------------------------


@pytest.fixture
def worker() -> Worker:
    return Worker(lambda idle: None)


class Long:
    """Work that goes on until it is stopped, the first time."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.times = 0

    def __call__(self) -> int:
        self.times += 1
        self.begun.set()
        while self.times == 1:
            pause()
        return self.times


@pytest.mark.parametrize("urgency", [Urgency.FOLLOWS, Urgency.ALL])
def test_what_nobody_looks_at_makes_room_and_is_done_later(worker: Worker, urgency: Urgency) -> None:
    work = Long()
    later = worker.submit(urgency, work)
    assert work.begun.wait(PATIENCE)
    assert worker.submit(Urgency.TYPED, lambda: "typed").result(PATIENCE) == "typed"
    assert later.result(PATIENCE) == 2
    worker.end()


def test_what_was_to_make_room_and_is_not_wanted_any_more_is_not_done_later(worker: Worker) -> None:
    work, held = Long(), threading.Event()
    later = worker.submit(Urgency.ALL, work)
    assert work.begun.wait(PATIENCE)
    worker.submit(Urgency.TYPED, lambda: held.wait(PATIENCE))
    while not worker._jobs:  # it is put back
        pass
    later.cancel()
    held.set()
    with pytest.raises(CancelledError):
        later.result(PATIENCE)
    assert work.times == 1
    worker.end()


@pytest.mark.parametrize("other", [Urgency.TYPED, Urgency.ALL, Urgency.FOLLOWS])
def test_what_is_as_urgent_or_cancelled_stops_nothing(worker: Worker, other: Urgency) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        assert goes_on.wait(PATIENCE)
        pause()
        return "done"

    job = worker.submit(Urgency.FOLLOWS, work)
    assert begun.wait(PATIENCE)
    waiting = worker.submit(other, lambda: None)
    waiting.cancel()
    goes_on.set()
    assert job.result(PATIENCE) == "done"
    worker.end()


@pytest.mark.parametrize("urgency", list(Urgency))
def test_the_end_stops_what_is_done(worker: Worker, urgency: Urgency) -> None:
    work = Long()
    job = worker.submit(urgency, work)
    assert work.begun.wait(PATIENCE)
    job.cancel()
    worker.end()
    assert work.times == 1
    assert job.cancelled() or isinstance(job.exception(0), CancelledError)


def test_the_end_stops_what_somebody_waits_for(worker: Worker) -> None:
    work = Long()
    worker.submit(Urgency.ASKED, work)
    assert work.begun.wait(PATIENCE)
    worker.end()
    assert not worker._thread.is_alive()


def test_it_is_told_when_there_is_nothing_to_do() -> None:
    told: list[bool] = []
    idle = threading.Event()

    def tidy(is_idle: bool) -> None:
        told.append(is_idle)
        if is_idle:
            idle.set()

    worker = Worker(tidy)
    worker.submit(Urgency.ALL, lambda: None)
    assert idle.wait(PATIENCE)
    worker.end()
    assert told == [False, True]


# -- The collector -----------------------------------------------------------------------------------------------


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the collector is told to do; nobody else runs it."""
    told: list[str] = []
    for name in ("collect", "freeze", "unfreeze", "disable"):
        monkeypatch.setattr(gc, name, lambda name=name: told.append(name))
    monkeypatch.setattr(gc, "isenabled", lambda: False)
    return told


@pytest.mark.parametrize(
    ("new", "idle", "done"), [(49_999, True, 0), (50_000, True, 1), (249_999, False, 0), (250_000, False, 1)]
)
def test_garbage_is_collected_where_nobody_waits_or_there_is_much(
    collected: list[str], monkeypatch: pytest.MonkeyPatch, new: int, idle: bool, done: int
) -> None:
    monkeypatch.setattr(gc, "get_count", lambda: (new, 0, 0))
    collecting.Tidier().tidy(idle)
    assert collected == ["collect", "freeze"] * done


def test_now_and_then_all_is_looked_at(collected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_count", lambda: (10**6, 0, 0))
    tidier = collecting.Tidier()
    for _ in range(100):
        tidier.tidy(True)
    assert collected.count("collect") == collected.count("freeze") == 100
    assert [at for at, each in enumerate(collected) if each == "unfreeze"] == [98, 199]


def test_where_the_collector_runs_by_itself_it_is_left_alone(
    collected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "isenabled", lambda: True)
    monkeypatch.setattr(gc, "get_count", lambda: (10**6, 0, 0))
    collecting.Tidier().tidy(True)
    assert collected == []


def test_the_process_of_the_server_has_no_collector_of_its_own(
    collected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []
    monkeypatch.setattr(sys, "setswitchinterval", told.append)
    collecting.take_over()
    assert collected == ["disable"]
    assert told == [0.001]


# -- What is stopped leaves nothing behind -----------------------------------------------------------------------


def found(text: str, path: Path) -> list[Finding]:
    return lint(text, DEFAULT, path=str(path), fixes=True)


@pytest.mark.parametrize("name", ["TLK403_metered_graph/bad_average_meter.py", "TLK101_refcounted_state", "other file"])
def test_wherever_it_is_stopped_the_next_look_finds_the_same(name: str, tmp_path: Path) -> None:
    if name == "other file":
        (tmp_path / "meter.py").write_text(METER)
        path = tmp_path / "training.py"
        path.write_text(TRAINING)
    else:
        path = FIXTURES / name
        path = path if path.is_file() else sorted(path.glob("bad_*.py"))[0]
    text = path.read_text()
    with reading(Reader(notes=True)):
        expected = found(text, path)
    assert expected
    with reading(Reader(notes=True)):
        stops = 0
        while True:
            asked = 0

            def is_stopped(at: int = stops) -> bool:
                nonlocal asked
                asked += 1
                return asked > at

            try:
                with stopped_if(is_stopped):
                    assert found(text, path) == expected
                break
            except Stopped:
                stops += 1
            if stops % 7 == 0:
                assert found(text, path) == expected
    assert stops > 5


def rubbish(path: Path, stops: int) -> int:
    """How many objects of a run only the collector frees, which is stopped after so many questions."""
    left = iter(range(stops))
    gc.collect()
    with reading(Reader(notes=True)), suppress(Stopped), stopped_if(lambda: next(left, None) is None):
        found(path.read_text(), path)
    return sum(isinstance(each, (Obj, Run)) for each in gc.get_objects())


@pytest.mark.parametrize("name", ["bad_gan", "bad_nested_function", "bad_stats_dict"])
def test_what_was_followed_is_not_left_to_the_collector(name: str) -> None:
    path = FIXTURES / "TLK401_accumulated_graph" / f"{name}.py"
    gc.disable()
    try:
        assert [rubbish(path, stops) for stops in (*range(40), 10**9)] == [0] * 41
    finally:
        gc.enable()
