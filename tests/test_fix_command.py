"""`torchleak check --fix` and `--diff`: what is written, what is shown, and the exit status."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK

Capture = pytest.CaptureFixture[str]

HELD = """
import json
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, path):
        self.rows = json.load(open(path))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]["x"]


loader = DataLoader(Rows('rows.json'), num_workers=2)
"""
"""A finding that cannot be fixed."""

FIXED = LEAK.replace("+= loss", "+= loss.detach()")
SHOWN = LEAK.replace("return total", "print(total)")
"""As LEAK, and the sum may as well be a number."""
NUMBER = SHOWN.replace("+= loss", "+= loss.item()")
EVALUATION = """\
import torch
def validate(model, loader):
    model.eval()
    for x, y in loader:
        print((model(x).argmax(1) == y).sum().item())
"""
UNPROVEN = LEAK.replace("+= loss", "+= criterion(model(x), y)")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


def test_fix(leak: Path, capsys: Capture) -> None:
    assert main(["check", "--fix"]) == 0
    assert (leak / "leak.py").read_text() == FIXED
    assert capsys.readouterr() == ("Fixed 1 finding in 1 file.\nNo findings, 1 file checked.\n", "")
    assert main(["check", "--fix"]) == 0
    assert (leak / "leak.py").read_text() == FIXED
    assert capsys.readouterr().out == "Fixed 0 findings in 0 files.\nNo findings, 1 file checked.\n"
    assert os.listdir(leak) == ["leak.py"]


def test_unsafe_fixes(tmp_path: Path, capsys: Capture) -> None:
    for arguments, after in (([], SHOWN.replace("+= loss", "+= loss.detach()")), (["--unsafe-fixes"], NUMBER)):
        (tmp_path / "a.py").write_text(SHOWN)
        assert main(["check", "--fix", *arguments]) == 0
        assert (tmp_path / "a.py").read_text() == after
    capsys.readouterr()
    (tmp_path / "a.py").write_text(EVALUATION)
    assert main(["check", "--fix"]) == 1
    assert (tmp_path / "a.py").read_text() == EVALUATION
    shown = capsys.readouterr().out
    assert "    fix (unsafe): decorate `validate` with `@torch.no_grad()`\n" in shown
    assert "    not fixed: it needs --unsafe-fixes\n" in shown
    assert "Fixed 0 findings in 0 files.\nCan be fixed with --unsafe-fixes: 1.\n1 finding in 1 file" in shown
    assert main(["check", "--fix", "--unsafe-fixes"]) == 0
    assert "@torch.no_grad()\n" in (tmp_path / "a.py").read_text()


def test_without_fix_nothing_is_written_and_offers_are_counted(leak: Path, capsys: Capture) -> None:
    (leak / "more.py").write_text(EVALUATION + LEAK)
    assert main(["check"]) == 1
    assert "Can be fixed: 2 with --fix, 1 with --fix --unsafe-fixes.\n3 findings in 2 files" in capsys.readouterr().out
    assert (leak / "leak.py").read_text() == LEAK
    (leak / "more.py").unlink()
    assert main(["check"]) == 1
    assert "    fix (safe): use `loss.detach()`\nCan be fixed: 1 with --fix.\n" in capsys.readouterr().out
    (leak / "leak.py").write_text(UNPROVEN)
    assert main(["check"]) == 1
    assert "Can be fixed" not in capsys.readouterr().out


def test_why_something_was_left(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.py").write_text(UNPROVEN)
    assert main(["check", "--fix"]) == 1
    assert "    not fixed: `criterion(model(x), y)` is not proven to be a tensor\n" in capsys.readouterr().out
    (tmp_path / "a.py").write_text(LEAK.replace("total += loss\n", "total += (\n            loss  # noqa\n        )\n"))
    assert main(["check", "--fix"]) == 1
    shown = capsys.readouterr().out
    assert "    not fixed: line 10 has a `# noqa`\n" in shown
    assert "Fixed 0 findings in 0 files.\n1 finding in 1 file" in shown
    (tmp_path / "a.py").write_text(LEAK.replace("+= loss", "+= loss  # noqa: TLK401"))
    assert main(["check", "--fix"]) == 0
    assert capsys.readouterr().out == (
        "Fixed 0 findings in 0 files.\nNot fixed, as the line has a `# noqa`: 1 that could be fixed.\n"
        "No findings, 1 file checked.\n"
    )


def test_selection(leak: Path) -> None:
    assert main(["check", "--fix", "--ignore=TLK401"]) == 0
    assert (leak / "leak.py").read_text() == LEAK
    assert main(["check", "--fix", "--select=TLK402"]) == 0
    assert (leak / "leak.py").read_text() == LEAK
    assert main(["check", "--fix", "--select=TLK4"]) == 0
    assert (leak / "leak.py").read_text() == FIXED


def test_statistics_count_what_is_left(leak: Path, capsys: Capture) -> None:
    (leak / "more.py").write_text(EVALUATION)
    assert main(["check", "--fix", "--statistics"]) == 1
    assert "     1 TLK501 grad-in-evaluation\n" in capsys.readouterr().out


def test_json_carries_the_edits_and_they_do_what_fix_does(leak: Path, capsys: Capture) -> None:
    text = "import torch  # 日本🙂\n'é🙂'; " + SHOWN
    (leak / "leak.py").write_text(text, encoding="utf-8")
    assert main(["check", "--output-format=json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    number, tensor = row["fixes"]
    assert [each["level"] for each in (number, tensor)] == ["unsafe", "safe"]
    assert list(tensor["edits"][0]) == ["line", "column", "end_line", "end_column", "text"]
    for fix, arguments in ((tensor, []), (number, ["--unsafe-fixes"])):
        (leak / "leak.py").write_text(text, encoding="utf-8")
        assert main(["check", "--fix", "--output-format=json", *arguments]) == 0
        assert json.loads(capsys.readouterr().out) == []
        assert (leak / "leak.py").read_text(encoding="utf-8") == by_hand(text, fix["edits"])
    (leak / "leak.py").write_text(UNPROVEN)
    assert main(["check", "--fix", "--output-format=json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["fixes"], row["unfixed"]) == ([], "`criterion(model(x), y)` is not proven to be a tensor")


def by_hand(text: str, edits: list[dict[str, int | str]]) -> str:
    """A text with the edits of a JSON report, put in from the last to the first."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda each: (each["line"], each["column"]), reverse=True):
        line, column, end = int(edit["line"]) - 1, int(edit["column"]) - 1, int(edit["end_column"]) - 1
        assert edit["end_line"] == edit["line"]
        lines[line] = lines[line][:column] + str(edit["text"]) + lines[line][end:]
    return "\n".join(lines)


def test_edits_of_whole_lines_and_of_several_places(tmp_path: Path, capsys: Capture) -> None:
    text = "import torch\n\n" + EVALUATION.replace("import torch\n", "").replace("def ", "@app.command()\ndef ")
    (tmp_path / "a.py").write_text(text.replace("import torch\n", "from torch import nn\n"))
    assert main(["check", "--output-format=json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert main(["check", "--fix", "--unsafe-fixes"]) == 0
    assert (tmp_path / "a.py").read_text() == by_hand(
        text.replace("import torch\n", "from torch import nn\n"), row["fixes"][0]["edits"]
    )


TEXTS = {
    "plain": LEAK.encode(),
    "no newline at the end": LEAK.rstrip("\n").encode(),
    "no newline at the end, which is fixed": LEAK.rpartition("    return")[0].rstrip("\n").encode(),
    "CRLF": LEAK.replace("\n", "\r\n").encode(),
    "CR": LEAK.replace("\n", "\r").encode(),
    "mixed": LEAK.replace("0\n", "0\r\n").replace("optimizer.step()\n", "optimizer.step()\r\n").encode(),
    "BOM": codecs.BOM_UTF8 + LEAK.encode(),
    "latin-1": ("# coding: latin-1\n" + LEAK.replace("+= loss", "+= loss  # é")).encode("latin-1"),
    "cp1252": ("# coding: cp1252\n" + LEAK.replace("+= loss", "+= loss  # €")).encode("cp1252"),
    "euc-jp": ("# coding: euc-jp\n" + LEAK.replace("+= loss", "+= loss  # 日本")).encode("euc-jp"),
    "shift_jis": ("# coding: shift_jis\n'表'; " + LEAK.replace("+= loss", "+= loss  # ソ")).encode("shift_jis"),
    "utf-8": LEAK.replace("total += loss", "'🙂é\u2028\x85'; total += loss").encode(),
    "form feeds": LEAK.replace("        total +=", "\f\n        total +=")
    .replace("    return", "\f\n    return")
    .encode(),
    "trailing blanks": LEAK.replace("\n", "  \n").replace("+= loss  ", "+= loss \t ").encode(),
}


@pytest.mark.parametrize("raw", TEXTS.values(), ids=TEXTS)
def test_bytes_around_a_fix_stay_and_diffs_apply(
    tmp_path: Path, raw: bytes, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    folder = tmp_path / "sub folder"
    folder.mkdir()
    (folder / "leak.py").write_bytes(raw)
    assert main(["check", "--diff"]) == 1
    diff, told = capsysbinary.readouterr()
    assert told.startswith(b"Would fix 1 finding in 1 file.\n1 finding in 1 file, 1 file checked.")
    assert (folder / "leak.py").read_bytes() == raw
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, timeout=600)
    subprocess.run(["git", "apply", "-"], input=diff, cwd=tmp_path, check=True, timeout=600)
    new = (folder / "leak.py").read_bytes()
    assert new == raw.replace(b"total += loss", b"total += loss.detach()", 1)
    (folder / "leak.py").write_bytes(raw)
    assert main(["check", "--fix"]) == 0
    assert (folder / "leak.py").read_bytes() == new


@pytest.mark.parametrize(
    "text",
    ["plain", "no newline at the end", "no newline at the end, which is fixed", "CRLF", "mixed", "BOM", "latin-1"],
)
def test_diffs_of_plain_files_apply_from_a_log_too(
    leak: Path, text: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    raw = TEXTS[text].replace("é".encode("latin-1"), b"e")
    (leak / "leak.py").write_bytes(raw)
    assert main(["check", "--diff"]) == 1
    subprocess.run(["git", "init", "-q"], cwd=leak, check=True, timeout=600)
    subprocess.run(["git", "apply", "-"], input=capsysbinary.readouterr().out, cwd=leak, check=True, timeout=600)
    assert (leak / "leak.py").read_bytes() == raw.replace(b"total += loss", b"total += loss.detach()", 1)


def test_diff_of_several_files_and_of_none(leak: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (leak / "more.py").write_text(EVALUATION)
    (leak / "clean.py").write_text("x = 1\n")
    assert main(["check", "--diff"]) == 1
    out, err = capfdbinary.readouterr()
    assert out.count(b"--- a/") == 1
    assert err.startswith(
        b"Would fix 1 finding in 1 file.\nCan be fixed with --unsafe-fixes: 1.\n2 findings in 2 files"
    )
    assert main(["check", "--diff", "--unsafe-fixes"]) == 1
    out, err = capfdbinary.readouterr()
    assert out.count(b"--- a/") == 2
    assert b"\n+@torch.no_grad()\n" in out
    assert err.startswith(b"Would fix 2 findings in 2 files.\n2 findings")
    assert main(["check", "--diff", "clean.py"]) == 0
    assert capfdbinary.readouterr() == (b"", b"Would fix 0 findings in 0 files.\nNo findings, 1 file checked.\n")
    assert (leak / "leak.py").read_text() == LEAK


def test_diff_goes_before_fix(leak: Path) -> None:
    assert main(["check", "--diff", "--fix"]) == 1
    assert (leak / "leak.py").read_text() == LEAK


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--unsafe-fixes"], "--unsafe-fixes goes with --fix or --diff"),
        (
            ["--diff", "--output-format=gitlab"],
            "--diff prints a diff, --output-format=gitlab findings:"
            " choose one, or a place for the findings by --output-file",
        ),
    ],
)
def test_arguments_that_do_not_go_together(leak: Path, arguments: list[str], error: str, capsys: Capture) -> None:
    assert main(["check", *arguments]) == 2
    assert capsys.readouterr() == ("", f"torchleak: error: {error}\n")
    assert (leak / "leak.py").read_text() == LEAK


@pytest.mark.skipif(os.name == "nt", reason="closed pipes are POSIX")
@pytest.mark.parametrize(("arguments", "fixed"), [(["--fix", "--unsafe-fixes"], 30), ([], 0)])
def test_a_reader_that_goes_away_stops_no_fix(tmp_path: Path, arguments: list[str], fixed: int) -> None:
    for number in range(30):
        (tmp_path / f"leak{number}.py").write_text(EVALUATION + LEAK.replace("total += loss", "losses.append(f(loss))"))
        (tmp_path / f"held{number}.py").write_text(HELD)
    command = [sys.executable, "-m", "flake8_torchleak", "check", *arguments]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, check=False, timeout=600)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")
    assert sum("no_grad" in path.read_text() for path in tmp_path.glob("leak*.py")) == fixed


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "held.py").write_text(HELD)
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "flake8_torchleak", "check", "held.py"]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False, timeout=600)
    assert done.returncode == 2
    assert done.stderr == b"torchleak: error: cannot write: No space left on device\n"


def test_a_diff_names_files_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leak.py").write_text(LEAK)
    assert main(["check", "--diff", str(tmp_path / "leak.py")]) == 1
    assert capsys.readouterr().out.startswith("--- a/leak.py\n+++ b/leak.py\n")


ONLY = """\
leak.py: fixed 1 TLK401 accumulated-graph.
Fixed 1 finding in 1 file.
"""


def test_fix_only_says_what_it_changed(leak: Path, capsys: Capture) -> None:
    assert main(["check", "--fix-only"]) == 0
    assert (leak / "leak.py").read_text() == FIXED
    assert capsys.readouterr() == (ONLY, "")
    (leak / "leak.py").write_text(LEAK)
    (leak / "held.py").write_text(HELD)
    (leak / "val.py").write_text(EVALUATION)
    assert main(["check", "--fix-only"]) == 0
    left = "Left: 2 findings, which `torchleak check` names.\nCan be fixed with --unsafe-fixes: 1.\n"
    assert capsys.readouterr() == (ONLY + left, "")
    assert main(["check", "--fix-only", "--unsafe-fixes"]) == 0
    fixed, _, left, *rest = capsys.readouterr().out.splitlines()
    assert (fixed, left, rest) == (
        "val.py: fixed 1 TLK501 grad-in-evaluation.",
        "Left: 1 finding, which `torchleak check` names.",
        [],
    )
    (leak / "bad.py").write_text("import torch\ndef f(:\n")
    assert main(["check", "--fix-only", "--output-format=json"]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("[]\n", 1)


def test_fix_only_counts_what_ended_with_another_and_comments(leak: Path, capsys: Capture) -> None:
    text = (
        EVALUATION.replace("print(", "kept.append(")
        .replace(".sum().item()", "")
        .replace("    for", "    kept = []\n    for")
    )
    text = text.replace("(model(x).argmax(1) == y)", "model(x)  # noqa: TLK101\n        ")
    (leak / "leak.py").write_text(text)
    assert main(["check", "--fix-only", "--unsafe-fixes", "--report-unused-noqa"]) == 0
    assert capsys.readouterr().out == (
        "leak.py: fixed 1 TLK002 unused-noqa, 1 TLK402 stored-graph, 1 TLK501 grad-in-evaluation.\n"
        "Fixed 2 findings in 1 file; 1 more ended with them.\n"
    )


def test_fix_only_on_stdin_gives_the_text(leak: Path) -> None:
    command = [sys.executable, "-m", "flake8_torchleak", "check", "--fix-only", "-"]
    done = subprocess.run(command, cwd=leak, input=LEAK, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, FIXED, ONLY.replace("leak.py", "stdin"))
    done = subprocess.run(
        [*command, "--nonsense"], cwd=leak, input=LEAK, capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stdout) == (2, LEAK)
