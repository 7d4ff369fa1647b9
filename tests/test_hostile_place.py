"""Where we are run, and how it ends: a current folder that is gone, signals, a checkout with programs in it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK, torchleak

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("never_hang")


def test_a_current_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "leak.py").write_text(LEAK)
    (tmp_path / "gone").mkdir()
    script = 'cd gone; rmdir ../gone; "$0" -m flake8_torchleak "$@"'
    for command, status in (("check", 2), ("check ../leak.py", 2), ("config", 2), ("rules", 0)):
        run = subprocess.run(
            ["sh", "-c", script, sys.executable, *command.split()],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            timeout=600,
        )
        assert run.returncode == status
        if status:
            assert run.stderr == b"torchleak: error: the current folder: No such file or directory\n"
        (tmp_path / "gone").mkdir()


def test_a_current_folder_that_cannot_be_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr("os.getcwd", gone)
    assert main(["check", "--isolated"]) == 2
    assert capsys.readouterr().err == "torchleak: error: the current folder: No such file or directory\n"


STOPPED = """
import os, sys
from flake8_torchleak.shells import cli
def stop(old, new):
    assert any(name.startswith(".torchleak-") for name in os.listdir())
    for _ in range(2):
        os.kill(os.getpid(), {signal})
os.replace = stop
sys.exit(cli.main(sys.argv[1:]))
"""


SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
WRITING = [["check", "--fix"], ["check", "--output-file=report"], ["baseline", "write"]]
LATER = [pytest.mark.long, pytest.mark.watched]
"""A process each: in short runs each signal once, and each way to write."""


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        pytest.param(arguments, number, id=f"{' '.join(arguments)}-{number}", marks=LATER * (at != by))
        for at, arguments in enumerate(WRITING)
        for by, number in enumerate(SIGNALS)
    ],
)
def test_a_signal_leaves_nothing_half_done(arguments: list[str], number: signal.Signals) -> None:
    Path("leak.py").write_text(LEAK)
    program = STOPPED.format(signal=int(number)).replace(
        "range(2)", "range(1)" if number == signal.SIGINT else "range(2)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        check=False,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        timeout=600,  # the tests may run under nohup
    )
    assert (run.returncode, run.stderr) == (128 + number, b"")
    assert os.listdir() == ["leak.py"]
    assert Path("leak.py").read_text() == LEAK


def test_signals_that_are_ignored_stay_so() -> None:
    """As under `nohup`; and after the run all is as it was."""
    program = (
        "import signal; from flake8_torchleak.shells import cli;"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN); cli.main(['rules']);"
        "assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN;"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL;"
        "import threading; each = threading.Thread(target=cli.main, args=(['rules'],)); each.start(); each.join()"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=600)
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.long
@pytest.mark.watched
def test_nothing_of_a_checkout_is_run() -> None:
    """Its modules have the names of all that is imported on the way, and say so if they are."""
    loud = "open('RUN', 'a').write(__file__ + '\\n')\n"
    names = ["json", "tomllib", "tomli", "libcst", "difflib", "ast", "tokenize", "torch", "numpy", "helper", "conftest"]
    names += ["setup", "sitecustomize", "usercustomize", "encodings", "rot13", "readline", "signal", "flake8", "mccabe"]
    for name in names:
        Path(f"{name}.py").write_text(loud + "from helper import anything\n" + LEAK)
    Path("pyproject.toml").write_text("[tool.torchleak]\nextend-select = ['TLK9']\n")
    Path("torch.pth").write_text(f"import os; {loud}")
    for start in (
        ["-m", "flake8_torchleak"],
        ["-c", "import sys; sys.path.remove('')\nfrom flake8_torchleak.shells.cli import main; main()"],
    ):
        subprocess.run(
            [
                sys.executable,
                *start,
                "check",
                "--diff",
                "--min-severity=note",
                "--output-format=json",
                "--output-file=report",
            ],
            capture_output=True,
            check=False,
            timeout=600,
        )
        assert Path("report").read_text().count('"code": "TLK401"') == len(names)
        assert not Path("RUN").exists()
        Path("report").unlink()


def test_without_the_current_folder_none_is_taken_away() -> None:
    run = subprocess.run(
        [sys.executable, "-I", "-m", "flake8_torchleak", "rules"], capture_output=True, check=False, timeout=600
    )
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.parametrize(
    "option",
    [
        [],
        pytest.param(["-P"], marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="an option of Python 3.11")),
    ],
)
def test_folders_of_ones_own_stay_in_the_path(option: list[str]) -> None:
    Path("own").mkdir()
    Path("own/sitecustomize.py").write_text(
        "import atexit, os, sys; atexit.register(lambda: os.write(2, sys.path[0].encode()))"
    )
    path = os.pathsep.join([os.path.abspath("own"), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(
        [sys.executable, *option, "-m", "flake8_torchleak", "rules"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
        timeout=600,
    )
    assert (run.returncode, run.stderr.decode()) == (0, os.path.abspath("own"))


def test_a_module_named_on_the_command_line_is_not_run() -> None:
    Path("leak.py").write_text("open('RUN', 'w')\n" + LEAK)
    assert torchleak("check", "--fix", "leak.py", cwd=Path()).returncode == 0
    assert not Path("RUN").exists()
