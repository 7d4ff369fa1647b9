"""The baseline: old findings are silent, new ones are not, and nothing that anybody wrote is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flake8_torchleak.finding import Finding, FixLevel, Severity, Span
from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK, torchleak
from tests.notebooks import notebook, written
from tests.test_files import plant
from tests.test_fix_command import EVALUATION, FIXED

Capture = pytest.CaptureFixture[str]

NAME = ".torchleak-baseline.json"
TWICE = LEAK.replace("        total += loss\n", "        total += loss\n        total += loss\n")
OTHER = LEAK.replace("total", "other").replace("def train(", "def train_other(")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


def listed(file: Path | str = NAME) -> list[tuple[str, str, str, int]]:
    """The entries of a baseline."""
    rows = json.loads(Path(file).read_text())["findings"]
    return [(row["path"], row["code"], row["line"], row["count"]) for row in rows]


def lines(*arguments: str, status: int, capsys: Capture) -> list[str]:
    """What `torchleak` prints to stdout, with the findings cut to their places."""
    assert main([*arguments]) == status
    out, err = capsys.readouterr()
    assert err == ""
    shown = [line for line in out.splitlines() if not line.startswith(" ")]
    return [line.partition(": TLK")[0] for line in shown]


OLD = ("leak.py", "TLK401", "total += loss", 1)


def test_write_and_check(leak: Path) -> None:
    run = torchleak("baseline", "write", cwd=leak)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{NAME} lists 1 finding in 1 file.\n".encode(), b"")
    assert (leak / NAME).read_text() == (
        '{\n  "torchleak-baseline": 1,\n  "findings": [\n'
        '    {"path": "leak.py", "code": "TLK401", "line": "total += loss", "count": 1}\n  ]\n}\n'
    )
    assert sorted(os.listdir(leak)) == [NAME, "leak.py"]
    run = torchleak("check", f"--baseline={NAME}", cwd=leak)
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout == b"Hidden by the baseline: 1 finding.\nNo findings, 1 file checked.\n"
    assert torchleak("check", cwd=leak).returncode == 1
    run = torchleak("check", f"--baseline={NAME}", "--output-format=json", cwd=leak)
    assert (run.returncode, json.loads(run.stdout)) == (0, [])


def test_code_that_moves_is_old_and_new_code_is_new(leak: Path, capsys: Capture) -> None:
    (leak / "pyproject.toml").write_text(f"[tool.torchleak]\nbaseline = '{NAME}'\n")
    assert main(["baseline", "write"]) == 0
    capsys.readouterr()
    moved = "# moved\n\n" + LEAK.replace("total += loss", "total  +=\tloss ")
    (leak / "leak.py").write_text(moved)
    assert lines("check", status=0, capsys=capsys)[0] == "Hidden by the baseline: 1 finding."
    (leak / "leak.py").write_text(moved + OTHER)
    shown = lines("check", status=1, capsys=capsys)
    assert shown[:-1] == ["leak.py:21:9", "Can be fixed: 1 with --fix.", "Hidden by the baseline: 1 finding."]
    # Of lines that are all alike the first ones are taken for the old ones.
    (leak / "leak.py").write_text(TWICE)
    assert lines("check", status=1, capsys=capsys)[0] == "leak.py:10:9"
    assert main(["baseline", "write"]) == 0
    assert listed() == [("leak.py", "TLK401", "total += loss", 2)]
    # The same line in another file is another one.
    (leak / "more.py").write_text(LEAK)
    capsys.readouterr()
    assert lines("check", status=1, capsys=capsys)[0] == "more.py:9:9"
    assert main(["check", "--baseline="]) == 1
    assert "3 findings in 2 files" in capsys.readouterr().out


def test_entries_that_have_vanished(leak: Path, capsys: Capture) -> None:
    for name in ("gone.py", "sub/kept.py", "sub/broken.py"):
        plant(leak, name)
        (leak / name).write_text(LEAK)
    assert main(["baseline", "write"]) == 0
    before = listed()
    assert len(before) == 4
    (leak / "leak.py").write_text(FIXED)
    (leak / "gone.py").unlink()
    (leak / "sub" / "broken.py").write_text("import torch\nloss.backward(DataLoader Dataset\n")
    capsys.readouterr()
    told = "No longer in the code: {} of the baseline; `torchleak baseline prune` removes them."
    use = f"--baseline={NAME}"
    # What is not checked, and what is not asked for, has not vanished.
    assert lines("check", use, "sub/kept.py", status=0, capsys=capsys)[:1] == ["Hidden by the baseline: 1 finding."]
    assert told.format("1 finding") in lines("check", use, "leak.py", status=0, capsys=capsys)
    assert main(["check", use]) == 2
    assert told.format("2 findings") in capsys.readouterr().out
    assert main(["baseline", "prune", "sub/kept.py"]) == 0
    assert listed() == before
    assert main(["baseline", "prune", "leak.py"]) == 0
    assert capsys.readouterr().out.endswith(f"{NAME} lists 3 findings in 3 files.\n")
    assert listed() == [entry for entry in before if entry[0] != "leak.py"]
    assert main(["baseline", "prune"]) == 2
    out, err = capsys.readouterr()
    assert out == f"{NAME} lists 2 findings in 2 files.\n"
    assert err.startswith("torchleak: error: sub/broken.py:2:")
    assert [entry[0] for entry in listed()] == ["sub/broken.py", "sub/kept.py"]
    # A finding that somebody judged since needs no entry, and one that is not selected today still does.
    (leak / "sub" / "kept.py").write_text(LEAK.replace("+= loss", "+= loss  # noqa: TLK401"))
    assert told.format("1 finding") in lines("check", use, "sub/kept.py", status=0, capsys=capsys)
    (leak / "sub" / "kept.py").write_text(LEAK)
    quiet = ["Hidden by the baseline: 0 findings.", "No findings, 1 file checked."]
    assert lines("check", use, "--ignore=TLK4", "sub/kept.py", status=0, capsys=capsys) == quiet
    (leak / "sub" / "broken.py").unlink()
    (leak / "sub" / "kept.py").unlink()
    assert main(["baseline", "prune"]) == 0
    assert (leak / NAME).read_text() == '{\n  "torchleak-baseline": 1,\n  "findings": []\n}\n'


def test_pruning_lowers_counts_and_adds_nothing(leak: Path) -> None:
    (leak / "leak.py").write_text(TWICE)
    assert main(["baseline", "write"]) == 0
    (leak / "leak.py").write_text(LEAK + OTHER)
    assert main(["baseline", "prune"]) == 0
    assert listed() == [OLD]


def test_writing_again_keeps_what_was_not_checked_or_selected(leak: Path) -> None:
    (leak / "more.py").write_text(LEAK + EVALUATION)
    (leak / "gone.py").write_text(LEAK)
    assert main(["baseline", "write"]) == 0
    (leak / "gone.py").unlink()
    before = [entry for entry in listed() if entry[0] != "gone.py"]
    assert [entry[:2] for entry in before] == [("leak.py", "TLK401"), ("more.py", "TLK401"), ("more.py", "TLK501")]
    (leak / "leak.py").write_text(OTHER)
    new = ("leak.py", "TLK401", "other += loss", 1)
    assert main(["baseline", "write", "leak.py"]) == 0
    assert [entry[0] for entry in listed()] == ["gone.py", "leak.py", "more.py", "more.py"]
    assert main(["baseline", "write", "--ignore=TLK4"]) == 0
    assert listed() == [new, *before[1:]]
    (leak / "more.py").write_text(EVALUATION)
    assert main(["baseline", "write", "--select=TLK4"]) == 0
    assert listed() == [new, before[2]]


def test_from_any_folder(tmp_path: Path, capsys: Capture) -> None:
    for name in ("proj/src/a.py", "proj/b.py", "out.py"):
        plant(tmp_path, name)
        (tmp_path / name).write_text(LEAK)
    (tmp_path / "proj" / ".git").mkdir()
    (tmp_path / "link").symlink_to("proj", target_is_directory=True)
    os.chdir("proj/src")
    assert main(["baseline", "write", "..", "../../out.py", "--output=../base.json"]) == 0
    assert capsys.readouterr().out == "../base.json lists 3 findings in 3 files.\n"
    assert [entry[0] for entry in listed("../base.json")] == ["../out.py", "b.py", "src/a.py"]
    (tmp_path / "proj" / "pyproject.toml").write_text("[tool.torchleak]\nbaseline = 'base.json'\n")
    assert main(["check"]) == 0
    os.chdir("..")
    assert main(["check", "src", str(tmp_path / "out.py"), "b.py"]) == 0
    os.chdir("..")
    for use in ("proj/base.json", "link/base.json", str(tmp_path / "link" / "base.json")):
        for paths in (["proj", "out.py"], ["link"], [str(tmp_path / "link" / "src")]):
            assert main(["check", f"--baseline={use}", *paths]) == 0
    capsys.readouterr()
    os.chdir("proj")
    (tmp_path / "proj" / "base.json").unlink()
    assert main(["baseline", "write", "src"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'proj' / 'base.json'} lists 1 finding in 1 file.\n"


def test_stdin(leak: Path) -> None:
    assert main(["baseline", "write"]) == 0
    arguments = ("check", f"--baseline={NAME}", "-")
    old = torchleak(*arguments, "--stdin-filename=leak.py", cwd=leak, stdin=LEAK.encode())
    assert (old.returncode, old.stdout[:33]) == (0, b"Hidden by the baseline: 1 finding")
    new = torchleak(*arguments, "--stdin-filename=leak.py", cwd=leak, stdin=(LEAK + OTHER).encode())
    assert new.stdout.startswith(b"leak.py:19:9: ")
    assert b"\nHidden by the baseline: 1 finding.\n" in new.stdout
    assert torchleak(*arguments, cwd=leak, stdin=LEAK.encode()).stdout.startswith(b"stdin:9:9: ")


# Fixes and comments


def test_fix_leaves_old_findings_alone(leak: Path, capsys: Capture) -> None:
    assert main(["baseline", "write"]) == 0
    capsys.readouterr()
    text = LEAK + OTHER + EVALUATION
    (leak / "leak.py").write_text(text)
    use = f"--baseline={NAME}"
    assert main(["check", use, "--diff"]) == 1
    out, err = capsys.readouterr()
    assert out.count("\n+ ") == 1
    assert err.startswith("Would fix 1 finding in 1 file.\nCan be fixed with --unsafe-fixes: 1.\nHidden by the")
    shown = lines("check", use, "--fix", status=1, capsys=capsys)
    assert shown[1:-1] == [
        "Fixed 1 finding in 1 file.",
        "Can be fixed with --unsafe-fixes: 1.",
        "Hidden by the baseline: 1 finding.",
    ]
    assert (leak / "leak.py").read_text() == LEAK + OTHER.replace("+= loss", "+= loss.detach()") + EVALUATION
    assert main(["check", use, "--fix", "--unsafe-fixes"]) == 0
    assert "total += loss\n" in (leak / "leak.py").read_text()
    capsys.readouterr()
    shown = lines("check", use, "--fix", "--fix-baselined", status=0, capsys=capsys)
    assert shown == [
        "Fixed 1 finding in 1 file.",
        "Hidden by the baseline: 0 findings.",
        "No longer in the code: 1 finding of the baseline; `torchleak baseline prune` removes them.",
        "No findings, 1 file checked.",
    ]
    assert "total += loss\n" not in (leak / "leak.py").read_text()


def test_an_old_finding_whose_line_is_fixed_is_shown_but_not_fixed(leak: Path, capsys: Capture) -> None:
    """Two findings on one line, of which the baseline lists one."""
    text = LEAK.replace("total += loss", "total += loss; other += loss").replace("total = 0", "total = other = 0")
    (leak / "leak.py").write_text(text)
    assert main(["baseline", "write"]) == 0
    (row,) = listed()
    assert row[3] == 2
    (leak / NAME).write_text((leak / NAME).read_text().replace('"count": 2', '"count": 1'))
    capsys.readouterr()
    assert main(["check", f"--baseline={NAME}", "--fix"]) == 1
    assert (leak / "leak.py").read_text() == text.replace("other += loss", "other += loss.detach()")
    shown = capsys.readouterr().out
    assert "    not fixed: it is in the baseline; --fix-baselined fixes those too\n" in shown
    assert (
        "\nFixed 1 finding in 1 file.\nHidden by the baseline: 0 findings.\nNo longer in the code: 1 finding" in shown
    )


def test_add_noqa_leaves_old_findings_alone(leak: Path) -> None:
    assert main(["baseline", "write"]) == 0
    (leak / "leak.py").write_text(LEAK + OTHER)
    assert main(["check", f"--baseline={NAME}", "--add-noqa"]) == 0
    assert (leak / "leak.py").read_text() == LEAK + OTHER.replace("+= loss", "+= loss  # noqa: TLK401")


@pytest.mark.parametrize("arguments", [[], ["--add-noqa"]])
def test_fix_baselined_goes_with_fix(leak: Path, arguments: list[str], capsys: Capture) -> None:
    assert main(["check", "--fix-baselined", *arguments]) == 2
    assert capsys.readouterr().err == "torchleak: error: --fix-baselined goes with --fix or --diff\n"


def test_unused_comments_and_failed_rules_are_not_listed(
    leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (leak / "leak.py").write_text(LEAK + "# noqa: TLK401\n")
    (leak / "pyproject.toml").write_text("[tool.torchleak]\nreport-unused-noqa = true\n")
    assert main(["baseline", "write"]) == 0
    assert listed() == [OLD]
    assert main(["check", f"--baseline={NAME}"]) == 1
    internal = Finding("TLK000", "internal-error", "it broke", Span(1, 0, 1, 0), Severity.ERROR, FixLevel.HINT)
    monkeypatch.setattr("flake8_torchleak.lint.lint", lambda *_, **__: [internal])
    # What a rule that failed would have found is kept, and nothing has vanished.
    for action in ("write", "prune"):
        assert main(["baseline", action]) == 2
        assert listed() == [OLD]
    capsys.readouterr()
    # It fails again for the same text; what the first run found before we broke it is still in the cache.
    assert main(["check", "--no-cache", f"--baseline={NAME}"]) == 2
    assert "Vanished" not in capsys.readouterr().out


def test_a_broken_cell_keeps_what_its_notebook_has(tmp_path: Path, capsys: Capture) -> None:
    Path("nb.ipynb").write_bytes(written(notebook(LEAK, LEAK.replace("total", "summed"))))
    assert main(["baseline", "write"]) == 0
    old = listed()
    assert len(old) == 2
    Path("nb.ipynb").write_bytes(written(notebook(LEAK, LEAK.replace("total", "summed") + "foo((")))
    for action in ("write", "prune"):
        assert main(["baseline", action]) == 2
        assert listed() == old


# What is wrong


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "is not a baseline of torchleak: Expecting value: line 1 column 1 (char 0)"),
        ("<<<<<<< HEAD\n", "is not a baseline of torchleak: Expecting value"),
        ("[" * 100_000, "is not a baseline of torchleak: maximum recursion depth exceeded"),
        ("[]", "is not a baseline of torchleak: it has no torchleak-baseline version"),
        ('{"name": "left-pad"}', "is not a baseline of torchleak: it has no torchleak-baseline version"),
        ('{"torchleak-baseline": 2}', "is not a baseline of torchleak: version 2, and this torchleak knows 1"),
        (
            '{"torchleak-baseline": 1}',
            "is not a baseline of torchleak: what it lists is not path, code, line and count",
        ),
        ('{"torchleak-baseline": 1, "findings": [{"path": "a"}]}', "and count: {'path': 'a'}\n"),
        (
            '{"torchleak-baseline": 1, "findings": [{"path": "a", "code": "TLK401", "line": "x", "count": 0}]}',
            "what it lists is not path, code, line and count: {'path': 'a', ",
        ),
        (b"\xff", "is not a baseline of torchleak: 'utf-"),
    ],
)
def test_a_file_that_is_no_baseline_is_one_line(leak: Path, text: str | bytes, error: str, capsys: Capture) -> None:
    raw = text if isinstance(text, bytes) else text.encode()
    (leak / "base.json").write_bytes(raw)
    for command in (["check"], ["check", "--fix"], ["baseline", "prune"], ["baseline", "write"]):
        assert main([*command, "--baseline=base.json"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("torchleak: error: base.json: ")
        assert error in err
        assert err.count("\n") == 1
        # It may be anything: nothing of it is lost.
        assert (leak / "base.json").read_bytes() == raw
        assert (leak / "leak.py").read_text() == LEAK


def test_a_baseline_that_is_missing_or_cannot_be_read_or_written(leak: Path, capsys: Capture) -> None:
    for command in (["check", "--baseline=gone.json"], ["baseline", "prune", "--baseline=gone.json"]):
        assert main(command) == 2
        told = "torchleak: error: gone.json: there is no such baseline; `torchleak baseline write` makes one\n"
        assert capsys.readouterr() == ("", told)
    for command in (["check", "--baseline=."], ["baseline", "write", "--output=."]):
        assert main(command) == 2
        assert capsys.readouterr() == ("", "torchleak: error: .: Is a directory\n")
    assert main(["baseline", "write", "--output=none/base.json"]) == 2
    assert capsys.readouterr() == ("", "torchleak: error: none/base.json: No such file or directory\n")
    assert main(["baseline", "write"]) == 0
    (leak / NAME).chmod(0o444)
    (leak / "leak.py").write_text(OTHER)
    capsys.readouterr()
    assert main(["baseline", "write"]) == 2
    assert capsys.readouterr() == ("", f"torchleak: error: {NAME}: is read-only\n")
    assert listed() == [OLD]


def test_a_baseline_that_could_not_be_finished_is_not_there(
    leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flake8_torchleak.fixing.write._exchange", full)
    assert main(["baseline", "write"]) == 2
    told = f"torchleak: error: {NAME}: No space left on device\n"
    assert capsys.readouterr() == ("", told)
    assert os.listdir(leak) == ["leak.py"]


def test_the_same_findings_give_the_same_bytes(leak: Path) -> None:
    text = LEAK.replace("total += loss", "'é🙂\u2028'; total += loss")
    (leak / "z.py").write_text(text, encoding="utf-8")
    assert main(["baseline", "write"]) == 0
    before = (leak / NAME).read_bytes()
    assert before.isascii()
    status = (leak / NAME).stat()
    assert main(["baseline", "write", "z.py", "leak.py"]) == 0
    assert (leak / NAME).read_bytes() == before
    assert (leak / NAME).stat().st_ino == status.st_ino
    assert main(["check", f"--baseline={NAME}"]) == 0
