"""What names and sources may do to a terminal or to the log of a continuous integration: nothing."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flake8_torchleak import lint as linting
from flake8_torchleak.finding import Finding
from flake8_torchleak.lint import lint
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.formats import FORMATS
from flake8_torchleak.wording import leading, printable
from tests.conftest import LEAK, torchleak
from tests.processes import started

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_folder(leak: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(leak)


NAMES = [
    "::stop-commands::x.py",
    " ::add-mask::x.py",
    "\u200d::error::x.py",
    "##[error]x.py",
    "a##[group]x.py",
    "##vso[task.setvariable]x.py",
    "line\n::error::x.py",
    "line\r##[error]x.py",
    "esc\x1b[2Jx.py",
    "csi\x9b2Jx.py",
    "bidi\u202ex.py",
    "isolate\u2066x.py",
    "mark\u200f\u061c\u200ex.py",
    "bom\ufeffx.py",
    "line\u2028x\u2029.py",
    "tag\U000e0041x.py",
    os.fsdecode(b"\xff\xfex.py"),
]
BAD = "\x1b\x9b\x00\u202e\u2066\u2069\u200e\u200f\u061c\ufeff\u2028\u2029\U000e0041"
NASTY = (
    LEAK.replace(
        "    total = 0\n",
        '    """\n::add-mask::x\n ::error::y\n##[error]z \x1b[2J\u202e\u2066\n    """\n    total = 0\n',
    )
    .replace("total += loss", "'\x1b]0;\x9b\u202e\u2028\ufeff##[error]'; total += loss")
    .replace("x, y in loader:", "x, y in loader:  # \u202e\x1b[8m ##vso[a]b")
)


def is_tame(shown: str) -> None:
    """Nothing in it steers a terminal or commands a log."""
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", shown)
    assert not re.search("[\ud800-\udfff]", shown)
    assert not re.search(r"##\w*\[", shown)
    assert not [line for line in shown.split("\n") if re.match(r"[^!-~]*::", line)]


def without_commands_of_ours(shown: str) -> str:
    """A report for GitHub or Azure without its own commands; what they say is looked at all the same."""
    return re.sub(r"(?m)^(?:::(?:error|warning|notice)|##vso\[task\.logissue) ", "", shown)


LINTED: dict[tuple[str, bool], list[Finding]] = {}


@pytest.fixture
def _linted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All these files hold one text, again and again: what is found in it is worked out once, and shown in all ways."""
    linted = linting._linted

    def once(
        source: str, config: Any, tree: Any, path: Any, fixes: bool, wanted: Any, parsing: Any, early: Any, least: Any
    ) -> list[Finding]:
        known = source, wanted is None
        if known not in LINTED:
            LINTED[known] = linted(source, config, tree, path, fixes, wanted, parsing, early, least)
        return list(LINTED[known])

    monkeypatch.setattr(linting, "_linted", once)


@pytest.mark.usefixtures("_linted_once")
@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize(
    "more",
    [
        [],
        pytest.param(["--statistics"], marks=[pytest.mark.long, pytest.mark.watched]),
        ["--output-file=report"],
        ["--color=never", "--add-noqa", "--diff"],
    ],
)
def test_names_and_sources_in_every_report(
    output_format: str, more: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "1")
    for name in NAMES:
        Path(name).write_text(NASTY, encoding="utf-8", newline="")
    Path("::broken::.py").write_text("import torch\nloss.backward(DataLoader\n")
    Path("##[error].py").write_bytes(b"\xff")
    if "--diff" in more and output_format not in ("text", "concise"):
        more = [*more, "--output-file=report"]
    assert main(["check", f"--output-format={output_format}", *more]) == 2
    out, err = capsys.readouterr()
    if Path("report").exists():
        is_tame(without_commands_of_ours(Path("report").read_text(encoding="utf-8")))
    is_tame(without_commands_of_ours(out))
    is_tame(err)
    assert err.count("torchleak: error: ") == 2


def test_json_says_the_very_names(capsys: Capture) -> None:
    for name in NAMES:
        Path(name).write_text(NASTY, encoding="utf-8", newline="")
    assert main(["check", "--output-format=json"]) == 1
    assert {row["path"] for row in json.loads(capsys.readouterr().out)} == {"leak.py", *NAMES}


@pytest.mark.long
@pytest.mark.watched
def test_names_in_errors_settings_and_baselines(capsys: Capture) -> None:
    for name in NAMES:
        base = name.replace(".py", ".json")
        assert main(["baseline", "write", f"--output={base}"]) == 0
        assert main(["baseline", "prune", f"--baseline={base}"]) == 0
        for wrong in (
            ["check", name],
            ["check", f"--baseline={name}"],
            ["check", f"--config={name}"],
            ["check", f"--output-file={name}/x"],
            ["check", f"--select={name}"],
            ["check", f"--{name}"],
            ["check", f"--color={name}"],
            ["check", f"--min-literal={name}"],
            ["explain", name],
            [name],
        ):
            with contextlib.suppress(SystemExit):
                assert main(wrong) == 2
        for output_format in ("text", "json"):
            # Some are comments, or two lines, and no pattern.
            command = ["config", f"--output-format={output_format}", f"--extend-exclude={name}"]
            assert main(command) in (0, 2)
        assert main(["check", "-", f"--stdin-filename={name}"]) in (0, 2)
    out, err = capsys.readouterr()
    is_tame(out)
    is_tame(err)
    assert all(line.startswith("torchleak: error: ") or "files checked" in line for line in err.splitlines())


def test_settings_with_such_names(capsys: Capture) -> None:
    folder = Path("esc\x1b\n::error::\u202e")
    folder.mkdir()
    os.chdir(folder)
    Path("pyproject.toml").write_text('[tool.torchleak]\nextend-exclude = ["\\u202e\\u001b##[x]"]\n', encoding="utf-8")
    assert main(["config"]) == 0
    shown = capsys.readouterr().out
    is_tame(shown)
    assert r'extend-exclude = ["\u202e\u001b#\u0023[x]"]' in shown
    Path("pyproject.toml").write_text('[tool.torchleak]\n"\\u202e" = 1\n', encoding="utf-8")
    assert main(["config"]) == 2
    is_tame(capsys.readouterr().err)


def test_messages_of_flake8() -> None:
    """flake8 prints them as they come."""
    text = LEAK.replace("total += loss", "total += f(loss, f'\x1b[2J\u202e##[error]{x}', '\u2066')")
    for each in lint(text.replace("criterion(model(x), y)", "criterion(model(x), y, '\u202e')")):
        is_tame(each.message)


@pytest.mark.long
@pytest.mark.watched
def test_a_diff_that_goes_on_can_be_applied() -> None:
    for name in [name for name in NAMES if "\udcff" not in name]:
        Path(name).write_text(NASTY, encoding="utf-8", newline="")
    run = torchleak("check", "--diff", cwd=Path())
    # One `diff` in a file's name or text must not become another one's.
    assert run.stdout.count(b"\n--- ") + 1 == len(NAMES)
    Path("patch").write_bytes(run.stdout)
    done = subprocess.run(["git", "apply", "patch"], capture_output=True, check=False, timeout=600)
    assert (done.returncode, done.stderr.decode().count("error")) == (0, 0)
    assert torchleak("check", cwd=Path()).returncode == 0
    # So does one in a log, but for the lines that the log would take for commands.
    logged = torchleak("check", "--diff", "--isolated", "leak.py", cwd=Path(), CI="1")
    assert logged.stdout == b""


def test_a_diff_on_a_terminal_is_tame() -> None:
    Path("leak.py").write_text(NASTY, encoding="utf-8", newline="")
    Path("latin.py").write_bytes(b"# coding: latin-1\n# \x9b \xe9\n" + LEAK.encode())
    master, slave = pty.openpty()
    with started(
        [sys.executable, "-m", "flake8_torchleak", "check", "--diff"], stdout=slave, stderr=subprocess.DEVNULL
    ) as run:
        os.close(slave)
        shown = b"".join(iter(lambda: _chunk(master), b""))
        os.close(master)
        assert run.wait() == 1
    text = shown.decode().replace("\r\n", "\n")
    is_tame(text)
    assert "+        '" in text
    assert ".detach()" in text


def _chunk(master: int) -> bytes:
    with contextlib.suppress(OSError):  # Linux reports the end so
        return os.read(master, 1 << 16)
    return b""


@pytest.mark.long
@pytest.mark.watched
@pytest.mark.parametrize(
    ("names", "exact"),
    [
        ({}, True),
        ({"CI": "true"}, False),
        pytest.param({"GITHUB_ACTIONS": "true"}, False, marks=pytest.mark.long),
        pytest.param({"CI": "false"}, True, marks=pytest.mark.long),
    ],
)
def test_a_pipe_in_continuous_integration_is_a_log(names: dict[str, str], exact: bool) -> None:
    Path("leak.py").write_text(NASTY, encoding="utf-8", newline="")
    run = torchleak("check", "--diff", cwd=Path(), stdin=b"", **names)
    assert (b"\x1b" in run.stdout) is exact
    with open("patch", "wb") as file:
        subprocess.run(
            [sys.executable, "-m", "flake8_torchleak", "check", "--diff"],
            stdout=file,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **names},
            check=False,
            timeout=600,
        )
    assert b"\x1b" in Path("patch").read_bytes()


@given(st.text())
def test_what_is_printable_stays_so(text: str) -> None:
    is_tame(leading(text).replace("\t", ""))
    assert printable(printable(text)) == printable(text)
    assert leading(leading(text)) == leading(text)
    if text.isascii() and text.isprintable() and "##" not in text:
        assert printable(text) == text


def test_what_people_write_stays_as_it_is() -> None:
    for text in ("naïve 日本語 العربية עברית\t", "👩‍👩‍👧 می‌خواهم", "x[::2]", "# ## heading", "a::b"):
        assert printable(text) == text
    assert leading("a::b") == "a::b"
    assert leading("::b") == r"\u003a:b"
