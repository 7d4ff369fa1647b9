"""`--report-unused-noqa` and `--add-noqa`: comments that hide nothing, and comments that hide what stands."""

from __future__ import annotations

import io
import json
import tokenize
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from flake8_torchleak.finding import Finding, FixLevel, Severity, Span
from flake8_torchleak.fixing.edits import Batch, Edited, Offsets
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.comments import annotated, unused
from flake8_torchleak.source import Source
from flake8_torchleak.suppress import Suppressions
from tests.conftest import LEAK, flake8, torchleak
from tests.test_fix_command import FIXED
from tests.test_suppress import TEXTS, flake8_hides

Capture = pytest.CaptureFixture[str]

QUIET = LEAK.replace("+= loss", "+= loss  # noqa: TLK401")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


def found(line: int, code: str = "TLK401") -> Finding:
    """A finding on a line."""
    return Finding(code, "slug", "text", Span(line, 0, line, 1), Severity.ERROR, FixLevel.HINT)


def cleaned(text: str, *findings: Finding) -> str:
    """A text without the comments that hide nothing."""
    batch = Batch(Offsets(Source(text)))
    for each in unused(text, findings):
        assert all(batch.add(fix) for fix in each.fixes)
    return Edited(text, batch).text


def tokens(text: str) -> list[tuple[int, str]] | None:
    """All tokens but comments; None where there are none."""
    try:
        stream = tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
        return [(each.type, each.string) for each in stream if each.type not in (tokenize.COMMENT, tokenize.NL)]
    except (tokenize.TokenError, SyntaxError):
        return None


# Those that hide nothing


def test_report(leak: Path, capsys: Capture) -> None:
    (leak / "leak.py").write_text(QUIET.replace("total = 0", "total = 0  # noqa: TLK402, E501, tlk1"))
    assert main(["check"]) == 0
    capsys.readouterr()
    assert main(["check", "--report-unused-noqa"]) == 1
    shown = capsys.readouterr().out
    assert shown == (
        "leak.py:3:16: TLK002 note: `# noqa: TLK402, tlk1` hides nothing [unused-noqa]\n"
        "    3 |     total = 0  # noqa: TLK402, E501, tlk1\n"
        "      |                ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "    fix (safe): remove `TLK402, tlk1` from the comment\n"
        "Can be fixed: 1 with --fix.\n"
        "1 finding in 1 file, 1 file checked. More on a finding: torchleak explain TLK002\n"
    )
    for name in ("TLK002", "unused-noqa"):
        assert main(["explain", name]) == 0
        assert capsys.readouterr().out.startswith("TLK002 unused-noqa\ndefault: off; ")
    (leak / "pyproject.toml").write_text("[tool.torchleak]\nreport-unused-noqa = true\n")
    assert main(["check", "--output-format=json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["code"], row["slug"], row["line"], row["column"]) == ("TLK002", "unused-noqa", 3, 16)
    assert main(["check", "--no-report-unused-noqa"]) == 0


def test_a_code_that_is_only_not_selected_is_used(leak: Path) -> None:
    (leak / "leak.py").write_text(QUIET)
    for arguments in ([], ["--select=TLK1"], ["--ignore=TLK4"], ["--per-file-ignores=*.py:TLK4"]):
        assert main(["check", "--report-unused-noqa", *arguments]) == 0
    (leak / "leak.py").write_text(FIXED.replace("detach()", "detach()  # noqa: TLK401"))
    assert main(["check", "--report-unused-noqa", "--select=TLK1"]) == 1


def test_fix_removes_them_and_the_leaks(leak: Path, capsys: Capture) -> None:
    text = LEAK.replace("total = 0", "total = 0  # noqa: TLK402,E501\t").replace("def train", "# noqa: TLK\ndef train")
    text = text.replace("return total", "return total  # noqa: TLK101")
    (leak / "leak.py").write_bytes(text.replace("\n", "\r\n").encode())
    assert main(["check", "--diff", "--report-unused-noqa"]) == 1
    out, err = capsys.readouterr()
    assert out.count("\n-") == out.count("\n+") - 1 == 3
    assert err.startswith("Would fix 3 findings in 1 file.\n3 findings in 1 file")
    assert main(["check", "--fix", "--report-unused-noqa"]) == 0
    assert capsys.readouterr().out == "Fixed 3 findings in 1 file.\nNo findings, 1 file checked.\n"
    after = FIXED.replace("total = 0", "total = 0  # noqa: E501\t").replace("def train", "# noqa: TLK\ndef train")
    assert (leak / "leak.py").read_bytes() == after.replace("\n", "\r\n").encode()
    assert main(["check", "--fix", "--report-unused-noqa"]) == 0
    assert capsys.readouterr().out.startswith("Fixed 0 findings in 0 files.\n")
    (leak / "leak.py").write_bytes(text.encode())
    assert main(["check", "--fix"]) == 0
    assert "TLK402,E501" in (leak / "leak.py").read_text()


def test_what_is_left_after_a_fix_is_told(leak: Path, capsys: Capture) -> None:
    (leak / "leak.py").write_text("# noqa: TLK401 # flake8: noqa\n" + QUIET)
    assert main(["check", "--fix", "--report-unused-noqa"]) == 1
    shown = capsys.readouterr().out
    assert "    not fixed: the rest of the comment would be read as a `# noqa` then\n" in shown
    assert "Fixed 0 findings in 0 files.\nNot fixed" in shown
    assert (leak / "leak.py").read_text() == "# noqa: TLK401 # flake8: noqa\n" + QUIET


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: TLK401", "x = 1"),
        ("x = 1  # noqa: TLK401 \t", "x = 1"),
        ("x = 1  # NoQA:TLK401,TLK4", "x = 1"),
        ("    # noqa: TLK401", ""),
        ("x = 1  # noqa: TLK401, E501", "x = 1  # noqa: E501"),
        ("x = 1  # noqa: E501,TLK401  ", "x = 1  # noqa: E501  "),
        ("x = 1  # noqa: E501 TLK401, W291", "x = 1  # noqa: E501 W291"),
        ("x = 1  # noqa: TLK401 E501 TLK4 W291,TLK1", "x = 1  # noqa: E501 W291"),
        ("x = 1  # noqa: TLK401 because", "x = 1  # because"),
        ("x = 1  # noqa: TLK401 - because ", "x = 1  # because "),
        ("x = 1  # noqa: TLK401, E501 because", "x = 1  # noqa: E501 because"),
        ("x = 1  # noqa: TLK401  # type: ignore", "x = 1  # type: ignore"),
        ("x = 1  # type: ignore  # noqa: TLK401", "x = 1  # type: ignore"),
        ("x = 1  # type: ignore  # noqa: TLK401 because", "x = 1  # type: ignore  # because"),
        ("x = 1  ## noqa: TLK401", "x = 1"),
        ("x = 1  # noqa: tlk401", "x = 1"),
        ("x = f('''\n''')  # noqa: TLK401", "x = f('''\n''')"),
        # Not ours, or not to be told apart from what is not ours.
        ("x = 1  # noqa", None),
        ("x = 1  # noqa: E501", None),
        ("x = 1  # noqa: TLK", None),
        ("x = 1  # noqa : TLK401", None),
        ("x = '# noqa: TLK401'", None),
        ("x = '# noqa: TLK401'  # noqa: TLK401", None),
        ("x = '''\n# noqa: TLK401\n'''  # noqa: TLK401", None),
        ("'''\n# noqa: TLK401\n'''", None),
        ("# flake8: noqa\nx = 1  # noqa: TLK401", None),
        ("x = (  # noqa: TLK401", None),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\r"])
def test_removal(before: str, after: str | None, end: str) -> None:
    before, after = ((before if text is None else text).replace("\n", end or "\n") for text in (before, after))
    assert cleaned(before + end) == after + end
    assert cleaned(after + end) == after + end


@pytest.mark.parametrize(
    "text",
    [
        "x = 1  # noqa: TLK401  # noqa: E501",
        "x = 1  # noqa: TLK401 noqa: E501  # noqa",
        "# noqa: TLK401 # flake8: noqa",
    ],
)
def test_what_would_come_into_force_stays(text: str) -> None:
    (each,) = unused(text, [])
    assert each.fixes == ()
    assert each.unfixed == "the rest of the comment would be read as a `# noqa` then"


@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        ("x = 1  # noqa: TLK401", 1, "TLK401"),
        ("x = 1  # noqa: TLK4", 1, "TLK901 TLK401"),
        ("x = '''\n'''  # noqa: TLK401", 1, "TLK401"),
        ("x = 1 + \\\n  2  # noqa: TLK401", 1, "TLK401"),
        # What the rule that failed would have found nobody knows.
        ("x = 1  # noqa: TLK401", 1, "TLK000"),
        ("x = 1\ny = 2  # noqa: TLK401", 1, "TLK000"),
    ],
)
def test_what_hides_something_stays(text: str, line: int, code: str) -> None:
    assert cleaned(text, *(found(line, each) for each in code.split())) == text


def test_of_two_codes_the_one_that_hides_nothing_goes() -> None:
    text = "x = 1  # noqa: TLK401, TLK402\ny = 2  # noqa: TLK401\n"
    assert cleaned(text, found(1, "TLK402")) == "x = 1  # noqa: TLK402\ny = 2\n"


@given(TEXTS, st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["TLK101", "TLK401", "TLK402"])), max_size=4))
@example("x = 1  # noqa: TLK401, E501\n", [])
@example("# noqa: TLK101  # flake8: noqa\n", [])
def test_removal_changes_nothing_for_flake8(text: str, places: list[tuple[int, str]]) -> None:
    after = cleaned(text, *(found(*place) for place in places))
    assert tokens(after) == tokens(text)
    lines = len(Source(text).lines)
    for line, code in [*places, *((line, code) for line in range(1, lines + 1) for code in ("E501", "W291"))]:
        assert flake8_hides(after, code, line) == flake8_hides(text, code, line), (line, code)
    assert cleaned(after, *(found(*place) for place in places)) == after


# Those that hide what stands


def test_add(leak: Path, capsys: Capture) -> None:
    (leak / "more.py").write_text(LEAK.replace("+= loss", "+= loss  # noqa: E501  long"))
    assert main(["check", "--add-noqa", "--diff"]) == 1
    out, err = capsys.readouterr()
    assert out.count("\n+        total += loss  # noqa: ") == 2
    assert err.startswith("Would hide 2 findings in 2 files with `# noqa`.\n2 findings in 2 files")
    assert (leak / "leak.py").read_text() == LEAK
    for _ in range(2):
        assert main(["check", "--add-noqa"]) == 0
        assert (leak / "leak.py").read_text() == QUIET
        assert (leak / "more.py").read_text() == LEAK.replace("+= loss", "+= loss  # noqa: E501, TLK401  long")
    assert capsys.readouterr().out == (
        "Hid 2 findings in 2 files with `# noqa`.\nNo findings, 2 files checked.\n"
        "Hid 0 findings in 0 files with `# noqa`.\nNo findings, 2 files checked.\n"
    )
    assert flake8("--select=TLK4", cwd=leak).stdout == b""
    assert main(["check", "--report-unused-noqa"]) == 0


def test_add_what_is_selected(leak: Path) -> None:
    assert main(["check", "--add-noqa", "--ignore=TLK401"]) == 0
    assert (leak / "leak.py").read_text() == LEAK


def test_what_cannot_be_hidden_is_told(leak: Path, capsys: Capture) -> None:
    text = LEAK.replace("total += loss", "total += loss; '# noqa: E501'")
    (leak / "leak.py").write_text(text)
    assert main(["check", "--add-noqa"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("leak.py:9:9: TLK401 ")
    assert "\nHid 0 findings in 0 files with `# noqa`.\n" in shown
    assert "\nCannot be hidden, as a string there contains `# noqa`: leak.py:9: TLK401.\n" in shown
    assert (leak / "leak.py").read_text() == text


def test_a_failed_rule_is_not_hidden(leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flake8_torchleak.shells.silence.lint", lambda *_, **__: [found(1, "TLK000")])
    assert main(["check", "--add-noqa"]) == 2
    assert (leak / "leak.py").read_text() == LEAK
    assert capsys.readouterr().err.startswith("torchleak: error: leak.py: ")


def test_add_to_stdin(leak: Path) -> None:
    run = torchleak("check", "--add-noqa", "-", "--stdin-filename=a.py", cwd=leak, stdin=LEAK.encode())
    assert (run.returncode, run.stdout) == (0, QUIET.encode())
    assert run.stderr.startswith(b"Hid 1 finding in 1 file with `# noqa`.\n")
    run = torchleak("check", "--add-noqa", "-", cwd=leak, stdin=b"import torch\nloss.backward(DataLoader\n")
    assert (run.returncode, run.stdout) == (2, b"import torch\nloss.backward(DataLoader\n")
    assert b": syntax error: " in run.stderr


def test_a_file_that_cannot_be_written_is_as_it_was(leak: Path, capsys: Capture) -> None:
    (leak / "leak.py").chmod(0o444)
    assert main(["check", "--add-noqa"]) == 2
    out, err = capsys.readouterr()
    assert err == "torchleak: error: leak.py: is read-only; left alone\n"
    assert out.startswith("leak.py:9:9: TLK401 ")
    assert (leak / "leak.py").read_text() == LEAK


@pytest.mark.parametrize(
    "arguments",
    [["--fix"], ["--unsafe-fixes"], ["--fix-baselined"], ["--diff", "--output-format=json"], ["--diff", "--fix"]],
)
def test_arguments_that_do_not_go_together(leak: Path, arguments: list[str], capsys: Capture) -> None:
    assert main(["check", "--add-noqa", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert (leak / "leak.py").read_text() == LEAK


def test_bytes_stay(leak: Path) -> None:
    raw = b"# coding: latin-1\r\n" + LEAK.replace("\n", "\r\n").replace("0\r\n", "0  # \xe9 \r\n").encode("latin-1")
    (leak / "leak.py").write_bytes(b"\f\r\n" + raw.rstrip())
    assert main(["check", "--add-noqa"]) == 0
    after = b"\f\r\n" + raw.rstrip().replace(b"+= loss", b"+= loss  # noqa: TLK401")
    assert (leak / "leak.py").read_bytes() == after


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("x = 1", 1, "x = 1  # noqa: TLK401"),
        ("x = 1 \t", 1, "x = 1  # noqa: TLK401"),
        ("x = 1; y = 2  # why", 1, "x = 1; y = 2  # why  # noqa: TLK401"),
        ("x = 1  # noqa: E501", 1, "x = 1  # noqa: E501, TLK401"),
        ("x = 1  # noqa:E501,W291 because", 1, "x = 1  # noqa:E501,W291, TLK401 because"),
        ("x = 1  # noqa: E501, ", 1, "x = 1  # noqa: E501, TLK401, "),
        ("x = 1  # noqa: tlk401", 1, "x = 1  # noqa: tlk401, TLK401"),
        ("x = 1 + \\\n  2\ny", 1, "x = 1 + \\\n  2  # noqa: TLK401\ny"),
        ("x = '''\n # a\n''' + f(\n  1)\ny", 2, "x = '''\n # a\n''' + f(  # noqa: TLK401\n  1)\ny"),
        ("x = f(\n  1,\n)", 1, "x = f(  # noqa: TLK401\n  1,\n)"),
        ("x = f(\n  1,\n)", 2, "x = f(\n  1,  # noqa: TLK401\n)"),
        ("x = '# noqa: E501'", 1, "x = '# noqa: E501'"),
        ("x = '''\n# noqa: E501\n'''  # noqa: E501", 1, "x = '''\n# noqa: E501\n'''  # noqa: E501"),
        ("x = (", 1, "x = ("),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\r"])
def test_where_a_comment_goes(before: str, line: int, after: str, end: str) -> None:
    before, after = before.replace("\n", end or "\n"), after.replace("\n", end or "\n")
    assert annotated(before + end, [found(line)]) == after + end


def test_several_on_one_line_share_a_comment() -> None:
    text = "x = 1 + \\\n  2\n"
    several = [found(2, "TLK501"), found(1, "TLK401"), found(2, "TLK401")]
    assert annotated(text, several) == "x = 1 + \\\n  2  # noqa: TLK401, TLK501\n"


@given(TEXTS, st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["TLK101", "TLK401", "TLK402"])), max_size=4))
@example("x = '''\n'''\n", [(1, "TLK401"), (2, "TLK101")])
def test_what_is_added_hides_for_flake8(text: str, places: list[tuple[int, str]]) -> None:
    lines = len(Source(text).lines)
    places = [(line, code) for line, code in places if line <= lines and not flake8_hides(text, code, line)]
    after = annotated(text, [found(*place) for place in places])
    assert tokens(after) == tokens(text)
    assert len(Source(after).lines) == lines
    loud = [place for place in places if not flake8_hides(after, place[1], place[0])]
    # Nothing is added in vain: what still stands changes nothing.
    assert annotated(after, [found(*place) for place in loud]) == after
    assume(not loud)
    assert not list(unused(after, [found(*place) for place in places])) or "TLK" in text


def test_a_text_without_tokens_gets_no_comment() -> None:
    assert Suppressions("x = (").place(1) is None
