"""Several processes: the same report in the same order, whatever becomes of one of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from flake8_torchleak.shells import ahead, look, pool
from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK
from tests.processes import started

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty files, some of which are broken or no text; other processes begin at once."""
    (tmp_path / "pyproject.toml").write_text('[tool.torchleak]\nper-file-ignores = { "leak3.py" = ["TLK4"] }\n')
    for count in range(16):
        (tmp_path / f"leak{count}.py").write_text(f"from helper import keep{count % 3}\n{LEAK}" + "#" * count)
    helpers = "".join(f"def keep{each}(x):\n    kept.append(x)\n" for each in range(3))
    (tmp_path / "helper.py").write_text(f"import torch\nkept = []\n{helpers}")
    (tmp_path / "evaluation.py").write_text(
        "import torch\n\ndef evaluate(model, loader):\n    model.eval()\n    right = 0\n    for x, y in loader:\n"
        "        right += (model(x).argmax(1) == y).sum().item()\n    return right\n"
    )
    (tmp_path / "evaluating.py").write_text(
        "import torch\nfrom evaluation import evaluate\nwith torch.no_grad():\n    evaluate(model, loader)\n"
    )
    (tmp_path / "broken.py").write_text("import torch\nfor\n")
    (tmp_path / "latin.py").write_bytes(b"import torch  # \xff\n")
    book = {"cells": [], "metadata": {"language_info": {"name": "R"}}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "book.ipynb").write_text(json.dumps(book))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(look, "_LIGHT", 0)
    return tmp_path


def check(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    status = main(["check", *arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


@pytest.mark.parametrize(
    ("start", "arguments"),
    [
        ("fork", ["--output-format=concise"]),
        pytest.param("spawn", ["--output-format=concise"], marks=[pytest.mark.long, pytest.mark.watched]),
        ("fork", ["--output-format=json"]),
        pytest.param("spawn", ["--output-format=json"], marks=[pytest.mark.long, pytest.mark.watched]),
    ],
)
def test_the_same_report(capsys: Capture, monkeypatch: pytest.MonkeyPatch, start: str, arguments: list[str]) -> None:
    monkeypatch.setattr(pool, "_START", start)
    plain = check(capsys, *arguments, "--jobs=1", "--no-cache")
    assert plain[1].count("leak") == 15 or "json" in arguments[0]
    assert plain[2].count("torchleak: error: ") == 2
    assert check(capsys, *arguments, "--jobs=3", "--no-cache") == plain
    assert check(capsys, *arguments, "-j", "3") == plain


def test_what_workers_found_is_kept(capsys: Capture, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    plain = check(capsys, "-j3")
    monkeypatch.setattr("flake8_torchleak.shells.ahead.pool", lambda jobs, *_: pytest.fail(str(jobs)))
    monkeypatch.setattr(look, "_LIGHT", 1000)  # what cannot be read is tried again
    assert check(capsys, "-j3") == plain
    (project / "helper.py").write_text("kept = 1\n")
    (project / "evaluating.py").write_text("import torch\nfrom evaluation import evaluate\nevaluate(model, loader)\n")
    changed = check(capsys, "-j1")
    assert "TLK501" in changed[1]
    assert changed == check(capsys, "-j1", "--no-cache")


def test_standard_input_is_for_the_first_process(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", open("leak0.py"))  # noqa: SIM115
    with sys.stdin:
        status, shown, _ = check(capsys, "-j2", "-", "leak1.py", "--output-format=concise")
    assert status == 1
    assert [line.partition(":")[0] for line in shown.splitlines()[:2]] == ["stdin", "leak1.py"]


@pytest.mark.parametrize("count", ["0", "-1"])
def test_jobs_are_counted(capsys: Capture, count: str) -> None:
    assert check(capsys, f"--jobs={count}")[2] == f"torchleak: error: --jobs takes a number, not {count}\n"


def test_as_many_as_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    from flake8_torchleak.shells.looking import _jobs

    assert _jobs(None) == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert _jobs(None) == 7


# -- A worker that ends ---------------------------------------------------------------------------------------


START = ahead.start


def dying(how: Callable[[], object], *names: str) -> Callable[..., pool.Work]:
    def start(*arguments: object) -> pool.Work:
        work = START(*arguments)  # type: ignore[arg-type]
        return lambda job: how() if job[0] in names else work(job)

    return start


@pytest.mark.parametrize(
    ("how", "why"),
    [(lambda: os.kill(os.getpid(), signal.SIGKILL), "signal 9"), (lambda: os._exit(3), "exit status 3")],
)
def test_one_line_for_the_file_that_ends_a_worker(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, how: Callable[[], object], why: str
) -> None:
    plain = check(capsys, "-j1", "--no-cache", "--output-format=concise")
    monkeypatch.setattr(ahead, "start", dying(how, "leak5.py", "leak9.py"))
    status, shown, said = check(capsys, "-j2", "--output-format=concise")
    assert status == 2
    lines = {f"torchleak: error: leak{each}.py: the process that checked it has ended: {why}" for each in (5, 9)}
    assert {line for line in said.splitlines() if "has ended" in line} == lines
    assert said.count("torchleak: error: ") == plain[2].count("torchleak: error: ") + 2
    assert shown.splitlines() == [line for line in plain[1].splitlines() if not line.startswith(("leak5.", "leak9."))]
    # It is tried again.
    monkeypatch.setattr(ahead, "start", dying(how))
    assert check(capsys, "-j2", "--output-format=concise") == plain


def test_a_worker_that_waits_for_work_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = pool.Pool([("a", ""), *((f"b{count}", "") for count in range(10))], 2, lambda: lambda job: job[0])
    for worker in list(workers._workers.values()):
        while worker.left:
            workers._listen()
        worker.process.kill()
        worker.process.join()
    workers._open.add("c")
    workers._told["c"] = pool.Told(0, "")
    while workers._workers:
        workers._listen()
    assert workers.result("b3") == pool.Told(0, "b3") or workers.result("b3") is None
    assert workers.result("none") is None
    workers.end()


def test_a_worker_that_has_ended_is_given_nothing() -> None:
    def work(job: pool.Job) -> str:
        if job[0] == "b2":
            signal.pause()  # it is killed before it has ended by itself, on a busy machine too
        os._exit(1)

    workers = pool.Pool([(f"b{count}", "") for count in range(20)], 1, lambda: work)
    assert workers.result("b0") == pool.Told(0, None, "exit status 1")
    assert workers.result("b1") == pool.Told(1, None, "exit status 1")
    (worker,) = workers._workers.values()
    worker.process.kill()
    worker.process.join()
    workers._give(worker)
    assert workers.result("b2") == pool.Told(2, None, "signal 9")
    workers.end()


def test_what_a_worker_cannot_tell_is_done_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flake8_torchleak.config import DEFAULT
    from flake8_torchleak.finding import Finding, FixLevel, Severity, Span

    monkeypatch.setattr(ahead, "undisturbed", nullcontext)  # it would be so to the end of the tests
    work = ahead.start(DEFAULT, False)
    told = work(("leak0.py", "TLK401"))
    assert isinstance(told, tuple)
    for path in ("broken.py", "latin.py", "book.ipynb", "none.py"):
        assert work((path, "TLK401")) is None
    finding = Finding("TLK000", "internal-error", "oops", Span(1, 0, 1, 0), Severity.ERROR, FixLevel.HINT)
    monkeypatch.setattr("flake8_torchleak.shells.ahead.found", lambda *_: [finding])
    assert work(("leak0.py", "TLK401")) is None


def test_the_work_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(BaseException):
        pass

    def end(status: int) -> None:
        raise Ended

    monkeypatch.setattr(os, "_exit", end)
    before = [(each, signal.getsignal(each)) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    given = [b"[]", json.dumps([("a", "x"), ("b", "y")]).encode()]
    sent: list[bytes] = []
    closed: list[int] = []

    def gone(data: bytes) -> None:
        raise BrokenPipeError

    class Line:
        send_bytes = staticmethod(sent.append)

        @staticmethod
        def recv_bytes() -> bytes:
            if not given:
                raise EOFError
            return given.pop()

        @staticmethod
        def close() -> None:
            closed.append(1)

    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
        with pytest.raises(Ended):
            pool._serve(Line(), lambda: lambda job: list(job))  # type: ignore[arg-type]
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert [json.loads(each) for each in sent] == [["a", "x"], ["b", "y"]]
        assert not closed
        given = [json.dumps([("a", "x"), ("b", "y")]).encode()]
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        monkeypatch.delattr(signal, "pthread_sigmask")  # as on Windows
        with pool._uninterrupted():
            pass
        Line.send_bytes = staticmethod(gone)
        with pytest.raises(Ended):
            pool._serve(Line(), lambda: lambda job: list(job), [Line(), Line()])  # type: ignore[arg-type, list-item]
        assert (len(sent), closed) == (2, [1, 1])
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        for number, handler in before:
            signal.signal(number, handler)


PROGRAM = """
import os, sys, time
from flake8_torchleak.shells import ahead, cli, look
look._LIGHT = 0
def start(*_):
    open(f"worker-{os.getpid()}", "x").close()
    return lambda job: time.sleep(600)
ahead.start = start
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_all_at_once(project: Path, number: signal.Signals, status: int) -> None:
    command = [sys.executable, "-c", PROGRAM, "check", "-j2"]
    with started(command, cwd=project, stderr=subprocess.PIPE) as run:
        while len(workers := list(project.glob("worker-*"))) < 2:
            assert run.poll() is None, "ended by itself"
            time.sleep(0.05)
        run.send_signal(number)
        assert run.wait() == status
        assert run.stderr is not None
        assert run.stderr.read() == b""
    for each in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(int(each.name.partition("-")[2]), 0)
    assert not (project / ".torchleak_cache").exists()


FORKING = """
import os, signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
fork = os.fork
def interrupted():
    number = fork()
    if number:
        os.kill(os.getpid(), signal.{name})
    return number
os.fork = interrupted
"""


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_an_interrupt_while_a_worker_starts_leaves_none_behind(project: Path, name: str, status: int) -> None:
    """Where the number of the worker has not been noted yet: the worst place for it."""
    busy = PROGRAM.replace("    return lambda job: time.sleep(600)", "    time.sleep(600)")
    command = [sys.executable, "-c", FORKING.format(name=name) + busy, "check", "-j2"]
    with started(command, limit=60, cwd=project, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        assert run.stderr.read() == b""  # a worker that is left has it open
        assert run.wait() == status


def test_a_worker_goes_by_what_was_set_for_a_hangup(project: Path) -> None:
    ignoring = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    telling = PROGRAM.replace("time.sleep(600)", "open(f'told-{signal.getsignal(signal.SIGHUP)!r}', 'a').close()")
    for before, shown in ((ignoring, "SIG_IGN"), (ignoring.replace("IGN", "DFL"), "SIG_DFL")):
        with started([sys.executable, "-c", before + telling, "check", "-j2"], cwd=project) as run:
            run.wait()
        assert [each.name for each in project.glob("told-*")] == [f"told-<Handlers.{shown}: {int(shown == 'SIG_IGN')}>"]
        for each in project.glob("told-*"):
            each.unlink()


def test_workers_end_where_the_process_that_reports_is_killed(project: Path) -> None:
    """As one that has taken too much memory: nothing tells the workers but their lines."""
    command = [sys.executable, "-c", PROGRAM.replace("600", "0.2"), "check", "-j2"]
    with started(command, limit=60, cwd=project, stderr=subprocess.PIPE) as run:
        while len(list(project.glob("worker-*"))) < 2:
            assert run.poll() is None, "ended by itself"
            time.sleep(0.05)
        run.kill()
        assert run.stderr is not None
        assert run.stderr.read() == b"", "it is read to its end when the last of them has ended"
