"""Notebooks through the command: what is found where, what a fix writes, and what is said of those that are none."""

from __future__ import annotations

import io
import json
import re
import subprocess
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK, python, torchleak
from tests.notebooks import code, notebook, prose, read, text, written
from tests.test_cli import Terminal
from tests.test_project import METER

Capture = pytest.CaptureFixture[str]

LOOP = LEAK.partition("def train(model, loader, criterion, optimizer):\n")[2].replace("    return total\n", "")
LOOP = re.sub("^    ", "", LOOP, flags=re.MULTILINE).rstrip("\n")
"""The lines of LEAK that leak, at the top level; the last one has no end, as in notebooks."""
FIXED = LOOP + ".detach()"
ALL = notebook(
    prose("# Training"),
    "%matplotlib inline\nimport torch\nfiles = !ls",
    code(["%%time\n", *LOOP.splitlines(keepends=True)]),
    "%%bash\ntotal += loss",
    "total?",
    code("", metadata={"tags": ["é"]}),
    "print(total)  # é",
)


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


def put(content: Any, name: str = "nb.ipynb", **layout: Any) -> bytes:
    """Write a notebook into the current folder: its bytes."""
    raw = written(content, **layout)
    Path(name).write_bytes(raw)
    return raw


def test_findings_notes_and_fixes_name_cell_and_line(capsys: Capture) -> None:
    put(notebook("import torch\ntotal = 0\n", prose("x"), "%%time\n!ls \\\n -l\n" + LOOP.partition("\n")[2]))
    assert main(["check", "--output-format=json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    place = ["cell", "line", "column", "end_line", "end_column"]
    assert [row[name] for name in place] == [3, 9, 5, 9, 18]
    assert list(row) == [
        *("path", "code", "slug", "message", "severity", "reason", "fix"),
        *place,
        *("notes", "fixes", "unfixed", "remedy", "conventions", "url"),
    ]
    assert [(note["cell"], note["line"]) for note in row["notes"]] == [(3, 5), (1, 2), (3, 4)]
    assert row["fixes"][-1]["edits"] == [{**dict(zip(place, [3, 9, 18, 9, 18])), "text": ".detach()"}]
    assert main(["check"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("nb.ipynb:cell 3:9:5: TLK401 ")
    assert "\n    9 |     total += loss\n      |     ^^^^^^^^^^^^^\n" in shown
    assert (
        "    note: cell 1, line 2: `total` is set here, and outlives the step\n    2 | total = 0\n      | ^^^^^^^^^\n"
        in shown
    )


def test_cells_count_as_in_ruff_and_nbqa_finds_the_same(tmp_path: Path, capsys: Capture) -> None:
    put(ALL)
    assert main(["check"]) == 1
    assert capsys.readouterr().out.startswith("nb.ipynb:cell 3:8:5: TLK401 ")
    run = python("-m", "ruff", "check", "--isolated", "--select=F821", "--output-format=json", "nb.ipynb", cwd=tmp_path)
    assert {(row["cell"], row["location"]["row"]) for row in json.loads(run.stdout)} == {(3, 3), (3, 4), (3, 5), (3, 7)}
    run = python("-m", "nbqa", "flake8", "nb.ipynb", "--extend-ignore=E,W,F", cwd=tmp_path)
    # nbqa counts the code cells alone.
    assert run.stdout.startswith(b"nb.ipynb:cell_2:8:5: TLK401 ")
    assert run.stdout.count(b"\n") == 1
    written(ALL)


@pytest.mark.parametrize("how", [{}, {"indent": None}, {"indent": 4, "ensure_ascii": True}, {"separators": (",", ":")}])
def test_a_fix_changes_the_lines_and_nothing_else(how: dict[str, Any], capsys: Capture) -> None:
    raw = put(ALL, **how)
    assert main(["check", "--fix"]) == 0
    assert capsys.readouterr().out == "Fixed 1 finding in 1 file.\nNo findings, 1 file checked.\n"
    assert Path("nb.ipynb").read_bytes() == raw.replace(b'total += loss"', b'total += loss.detach()"', 1)
    read(Path("nb.ipynb").read_bytes())
    assert main(["check", "--fix"]) == 0
    assert Path("nb.ipynb").read_bytes() == raw.replace(b'total += loss"', b'total += loss.detach()"', 1)


def test_a_diff_of_a_notebook_applies(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    raw = put(ALL)
    assert main(["check", "--diff"]) == 1
    diff = capsysbinary.readouterr().out
    assert b'-    "    total += loss"\n+    "    total += loss.detach()"\n' in diff
    assert Path("nb.ipynb").read_bytes() == raw
    subprocess.run(["git", "init", "-q"], check=True, timeout=600)
    subprocess.run(["git", "apply", "-"], input=diff, check=True, timeout=600)
    assert text(read(Path("nb.ipynb").read_bytes())["cells"][2]) == f"%%time\n{FIXED}"


ITEMS = """\
class Data(torch.utils.data.Dataset):
    def __init__(self):
        self.items = [{"a": [1]}, {"a": [2]}]
    def __getitem__(self, index):
        return self.items[index]"""


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("first", ["%%time\nimport torch", "import torch\n", "!ls\nimport torch  # é\n%time x = 1"])
def test_a_fix_that_takes_several_cells(first: str, as_list: bool, capsys: Capture) -> None:
    cells = [first, LOOP, ITEMS]
    content = notebook(*[code(each.splitlines(keepends=True) if as_list else each) for each in cells])
    put(content)
    assert main(["check", "--fix", "--min-severity=note"]) == 0
    assert capsys.readouterr().out.startswith("Fixed 2 findings")
    after = read(Path("nb.ipynb").read_bytes())
    sources = [each["source"] for each in after["cells"]]
    assert all(isinstance(each, list) is as_list for each in sources)
    expected = [
        first.replace("import torch", "import copy\n\nimport torch"),
        FIXED,
        ITEMS.replace("self.items[index]", "copy.deepcopy(self.items[index])"),
    ]
    assert sources == [each.splitlines(keepends=True) if as_list else each for each in expected]
    for each, source in zip(content["cells"], sources):
        each["source"] = source
    assert Path("nb.ipynb").read_bytes() == written(content)


def test_a_line_at_the_end_of_a_cell_stays_in_it() -> None:
    put(notebook("import os", prose("x"), "import torch\n" + ITEMS))
    assert main(["check", "--fix", "--min-severity=note"]) == 0
    first, _, last = read(Path("nb.ipynb").read_bytes())["cells"]
    assert first["source"] == "import copy\nimport os"
    put(notebook("import collections", prose("x"), "%%time\nimport torch\n" + ITEMS))
    assert main(["check", "--fix", "--min-severity=note"]) == 0
    first, _, last = read(Path("nb.ipynb").read_bytes())["cells"]
    assert first["source"] == "import collections\nimport copy"
    assert last["source"].startswith("%%time\nimport torch\nclass Data")


def test_windows_line_ends_in_cells_stay() -> None:
    put(notebook("import collections\r\nimport torch", LOOP.replace("\n", "\r\n"), ITEMS.replace("\n", "\r\n")))
    assert main(["check", "--fix", "--min-severity=note"]) == 0
    first, second, _ = (each["source"] for each in read(Path("nb.ipynb").read_bytes())["cells"])
    assert first == "import collections\r\nimport copy\r\nimport torch"
    assert second == FIXED.replace("\n", "\r\n")


def test_noqa_in_cells(capsys: Capture) -> None:
    put(notebook("import torch", LOOP + "  # noqa: TLK401"))
    assert main(["check"]) == 0
    assert main(["check", "--fix"]) == 0
    assert "Not fixed, as the line has a `# noqa`: 1 that could be fixed." in capsys.readouterr().out
    put(notebook("import torch", LOOP, "# flake8: noqa"))
    assert main(["check"]) == 0
    put(notebook("import torch", LOOP, "%%bash\n# flake8: noqa"))
    assert main(["check"]) == 1


def test_reasons_count_lines_as_the_user_does(capsys: Capture) -> None:
    put(notebook("import torch", prose("x"), "!ls\n" + LOOP.replace("+= loss", "+= (\n  loss  # noqa\n)")))
    assert main(["check", "--fix"]) == 1
    assert "    not fixed: cell 3, line 9 has a `# noqa`\n" in capsys.readouterr().out
    assert main(["check", "--fix", "--output-format=json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["unfixed"] == "cell 3, line 9 has a `# noqa`"


BROKEN = [
    ("x = (", 1, "'(' was never closed"),
    ("%%time\n!ls \\\n -l\nx = !ls\nx = 1 1", 5, "invalid syntax"),
    ("  x = 1\n  if", 2, "invalid syntax"),
    ("x = '\ud800'", 1, "surrogates not allowed"),
    ("\n\nx = 1\0", 1, "null bytes"),
    ("x\n  y", 2, "unexpected indent"),
]


@pytest.mark.parametrize(("source", "line", "error"), BROKEN)
@pytest.mark.parametrize("how", [[], ["--fix"], ["--diff"]])
def test_a_cell_that_does_not_parse_does_not_hide_the_others(
    source: str, line: int, error: str, how: list[str], capsys: Capture
) -> None:
    raw = json.dumps(notebook("import torch", source, LOOP)).encode()
    Path("nb.ipynb").write_bytes(raw)
    assert main(["check", *how]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"torchleak: error: nb.ipynb:cell 2:{line}:")
    assert ": syntax error: " in shown.err.splitlines()[0]
    assert error in shown.err.splitlines()[0]
    assert Path("nb.ipynb").read_bytes() == raw
    if how != ["--diff"]:
        assert shown.err.count("\n") == 1
        assert shown.out.startswith("nb.ipynb:cell 3:7:5: TLK401 ")
        assert "    not fixed: a cell does not parse\n" in shown.out
        assert "Can be fixed" not in shown.out


def test_a_broken_cell_of_a_notebook_about_something_else_is_not_our_business(capsys: Capture) -> None:
    put(notebook("x = (", "print('hello')"))
    assert main(["check"]) == 0
    assert capsys.readouterr() == ("No findings, 1 file checked.\n", "")


def test_other_reasons_stay_beside_a_broken_cell(capsys: Capture) -> None:
    put(notebook("import torch\nx = (", "import torch", LOOP.replace("+= loss", "+= criterion(model(x), y)")))
    assert main(["check"]) == 2
    assert "    not fixed: `criterion(model(x), y)` is not proven to be a tensor\n" in capsys.readouterr().out


NONE = [
    (b"", "not a notebook: Expecting value: line 1 column 1 (char 0)"),
    (b'{"cells": [', "not a notebook: Expecting value: line 1 column 12 (char 11)"),
    (b"[" * 100_000, "not a notebook: "),
    (b"\xef\xbb\xbf{}", "not a notebook: JSON begins with no byte order mark"),
    (b'{"a": "\xe9"}', "cannot decode: "),
    (b"[]", "not a notebook: it has no list of cells"),
    (b'{"cells": {}}', "not a notebook: it has no list of cells"),
    (
        b'{"nbformat": 3, "worksheets": []}',
        "a notebook of nbformat 3 or older; `jupyter nbconvert --to notebook` makes",
    ),
]


@pytest.mark.parametrize(("raw", "error"), NONE)
@pytest.mark.parametrize("how", [[], ["--fix"]])
def test_what_is_no_notebook(raw: bytes, error: str, how: list[str], capsys: Capture) -> None:
    Path("nb.ipynb").write_bytes(raw)
    assert main(["check", *how]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"torchleak: error: nb.ipynb: {error}")
    assert shown.err.count("\n") == 1
    assert Path("nb.ipynb").read_bytes() == raw


@pytest.mark.parametrize(
    "content",
    [
        notebook(),
        notebook(prose(LOOP)),
        notebook("", " \n", "%%bash\n" + LEAK, "%%python\n" + LEAK, "%%\n" + LEAK),
        {
            "cells": [
                None,
                3,
                [],
                {},
                {"cell_type": "code"},
                {**code(""), "source": None},
                {**code(""), "source": [LEAK, 3]},
            ]
        },
        notebook(code(LEAK, metadata={"vscode": {"languageId": "r"}})),
    ],
)
def test_notebooks_without_python(content: Any, capsys: Capture) -> None:
    Path("nb.ipynb").write_text(json.dumps(content))
    assert main(["check", "--fix"]) == 0
    assert capsys.readouterr() == ("Fixed 0 findings in 0 files.\nNo findings, 1 file checked.\n", "")


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}},
        {"language_info": {"name": "julia"}},
        {"kernelspec": {"name": "x", "display_name": "x", "language": "sage"}, "language_info": {"name": "python"}},
    ],
)
def test_other_languages_are_skipped(metadata: dict[str, Any], capsys: Capture) -> None:
    put(notebook(LEAK, "x = (", **metadata))
    assert main(["check"]) == 0
    assert capsys.readouterr() == ("No findings, 0 files checked.\n", "")


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"name": "python3", "display_name": "x", "language": "Python"}},
        {"kernelspec": {"name": "python3", "display_name": "x"}, "language_info": {"name": "python"}},
        {"kernelspec": "x", "language_info": {"name": 3}},
    ],
)
def test_python_is_known(metadata: dict[str, Any]) -> None:
    Path("nb.ipynb").write_text(json.dumps(notebook(LEAK, **metadata)))
    assert main(["check"]) == 1


def test_a_walk_finds_notebooks_and_leaves_their_checkpoints(capsys: Capture) -> None:
    Path(".ipynb_checkpoints").mkdir()
    put(ALL, ".ipynb_checkpoints/nb.ipynb")
    put(ALL)
    Path("b.py").write_text(LEAK)
    assert main(["check"]) == 1
    shown = capsys.readouterr().out
    assert [line.partition(" TLK")[0] for line in shown.splitlines() if " TLK401 warning: " in line] == [
        "b.py:9:9:",
        "nb.ipynb:cell 3:8:5:",
    ]


def test_other_files_are_read_for_a_notebook(capsys: Capture) -> None:
    Path("meters.py").write_text(dedent(METER))
    loop = LOOP.replace("total = 0", "meter = Average()").replace("total += loss", "meter.update(loss)")
    put(notebook("import torch\nfrom meters import Average", loop))
    assert main(["check"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("nb.ipynb:cell 2:7:")
    assert " TLK403 " in shown
    assert "meters.py:7:" in shown
    assert main(["check", "--output-format=json"]) == 1
    notes = json.loads(capsys.readouterr().out)[0]["notes"]
    assert {"path", "line"} < {*next(each for each in notes if "path" in each)}
    assert all(("cell" in each) is ("path" not in each) for each in notes)


def test_an_internal_error_is_of_its_notebook(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    from flake8_torchleak.finding import Finding, FixLevel, Severity, Span

    internal = Finding("TLK000", "internal-error", "it broke", Span(1, 0, 1, 0), Severity.ERROR, FixLevel.HINT)
    monkeypatch.setattr("flake8_torchleak.lint.lint", lambda *_, **__: [internal])
    put(notebook(prose("x"), "%%time\nimport torch"))
    assert main(["check"]) == 2
    assert capsys.readouterr().err == "torchleak: error: nb.ipynb: it broke\n"


def test_stdin_by_its_name(tmp_path: Path) -> None:
    raw = written(ALL)
    run = torchleak("check", "-", "--stdin-filename=a/nb.ipynb", cwd=tmp_path, stdin=raw)
    assert run.returncode == 1
    assert run.stdout.startswith(b"a/nb.ipynb:cell 3:8:5: TLK401 ")
    run = torchleak("check", "--fix", "-", "--stdin-filename=nb.ipynb", cwd=tmp_path, stdin=raw)
    assert (run.returncode, run.stdout) == (0, raw.replace(b'total += loss"', b'total += loss.detach()"', 1))
    assert run.stderr.endswith(b"No findings, 1 file checked.\n")
    run = torchleak("check", "--diff", "-", "--stdin-filename=nb.ipynb", cwd=tmp_path, stdin=raw)
    assert run.stdout.startswith(b"--- a/nb.ipynb\n+++ b/nb.ipynb\n@@")


def test_whatever_fails_stdin_comes_out_as_it_was(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def piped(raw: bytes, *arguments: str) -> tuple[int, bytes, bytes]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
        try:
            status = main(["check", *arguments, "-"])
        except SystemExit as error:
            status = int(error.code or 0)
        return status, *capsysbinary.readouterr()

    leak = LEAK.encode()
    refused = b"# coding: cp932\n# \xfa\x54\n" + leak
    other = written(notebook(LEAK, language_info={"name": "r"}))
    broken = written(notebook(LEAK, "x = ("))
    for raw, arguments, expected, error in (
        (leak + b"# \xe9\n", [], 2, b"torchleak: error: stdin: cannot decode: "),
        (refused, [], 2, b"torchleak: error: stdin: has characters that its encoding writes in several ways"),
        (b"{", ["--stdin-filename=x.ipynb"], 2, b"torchleak: error: x.ipynb: not a notebook: "),
        (broken, ["--stdin-filename=x.ipynb"], 2, b"torchleak: error: x.ipynb:cell 2:1:5: syntax error: "),
        (other, ["--stdin-filename=x.ipynb"], 0, b"Fixed 0 findings in 0 files.\nNo findings, 0 files checked.\n"),
        (leak, ["--select=TLK4O1"], 2, b"torchleak: error: select: no rule begins with 'TLK4O1'"),
        (leak, ["--slect=TLK401"], 2, b"torchleak: error: there is no argument --slect; did you mean --select?"),
    ):
        status, out, err = piped(raw, "--fix", *arguments)
        assert (status, out) == (expected, raw)
        assert err.startswith(error)
        assert piped(raw, "--diff", *arguments)[1] == b""
        assert piped(raw, *arguments)[1] != raw
    assert piped(broken, "--add-noqa", "--stdin-filename=x.ipynb")[:2] == (2, broken)
    assert piped(b"\xe9", "--add-noqa")[:2] == (2, b"\xe9")
    assert piped(leak, "--fix", "--help")[1].startswith(b"usage: ")

    monkeypatch.setattr("sys.stdin", Terminal())
    assert main(["check", "--fix", "--select=TLK4O1", "-"]) == 2
    assert capsysbinary.readouterr().out == b""

    def crash(*_: object) -> None:
        raise RuntimeError("a defect of ours")

    monkeypatch.setattr("flake8_torchleak.shells.repair.fix", crash)
    with pytest.raises(RuntimeError, match="a defect of ours"):
        piped(leak, "--fix")
    assert capsysbinary.readouterr().out == leak


def test_programs_that_know_only_lines_of_json_are_told_the_cell_in_words(capsys: Capture) -> None:
    put(notebook(prose("x"), LEAK))
    assert main(["check", "--output-format=github"]) == 1
    annotation = capsys.readouterr().out
    assert annotation.startswith("::warning file=nb.ipynb,title=TLK401 accumulated-graph::nb.ipynb:cell 2:")
    assert "note: cell 2, line " in annotation
    assert main(["check", "--output-format=gitlab"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert row["description"].startswith("cell 2, line ")
    assert row["location"] == {"path": "nb.ipynb", "lines": {"begin": 1}}
    assert main(["check", "--output-format=azure"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("##vso[task.logissue type=warning;sourcepath=nb.ipynb;code=TLK401;]cell 2, line ")
    assert main(["check", "--output-format=junit"]) == 1
    assert ', cell 2, line 9" classname="nb.ipynb" file="nb.ipynb" line="1">' in capsys.readouterr().out
    assert main(["check", "--output-format=sarif"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["message"]["text"].startswith("cell 2, line ")
    assert result["fixes"] == []
    for each in (*result["locations"], *result["relatedLocations"]):
        assert "region" not in each["physicalLocation"]
    assert all(each["message"]["text"].startswith("note: cell 2, line ") for each in result["relatedLocations"])


def test_comments_are_added_to_cells() -> None:
    put(notebook("%matplotlib inline", LEAK))
    assert main(["check", "--add-noqa"]) == 0
    assert text(read(Path("nb.ipynb").read_bytes())["cells"][1]).count("  # noqa: TLK401\n") == 1
    assert main(["check"]) == 0


def test_a_baseline_lists_cells() -> None:
    put(notebook("x = 1", LEAK))
    assert main(["baseline", "write"]) == 0
    put(notebook(LEAK, "x = 1"))
    assert main(["check", "--baseline=.torchleak-baseline.json"]) == 0
    assert main(["check"]) == 1
