"""The JSON Schema of the settings: it says of files what the command says of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flake8_torchleak.shells import schema
from flake8_torchleak.shells.cli import main
from flake8_torchleak.shells.formats import as_json
from flake8_torchleak.shells.settings import SETTINGS
from tests.conftest import ROOT

tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11: the test reads TOML")

Capture = pytest.CaptureFixture[str]
PUBLISHED = ROOT / "docs" / "torchleak.schema.json"
FILES = sorted((Path(__file__).parent / "schema").glob("*/*.toml"))


def test_what_is_published_is_what_is_made(capsys: Capture) -> None:
    """`torchleak config --output-format=schema > docs/torchleak.schema.json` renews it."""
    assert main(["config", "--isolated", "--output-format=schema"]) == 0
    shown = capsys.readouterr().out
    assert shown == as_json(schema.schema())
    assert PUBLISHED.read_text(encoding="utf-8") == shown


def test_it_is_a_schema_as_the_store_takes_them() -> None:
    made = schema.schema()
    jsonschema.Draft7Validator.check_schema(made)
    assert made["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert made["$id"].startswith("https://json.schemastore.org/partial-")
    assert list(made["properties"]) == [option.name for option in SETTINGS]
    assert all(each["description"] for each in made["properties"].values())
    validator = jsonschema.Draft7Validator(made)
    for name, each in made["properties"].items():
        if "default" in each:
            validator.validate({name: each["default"]})


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_it_agrees_with_the_command(
    file: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = file.read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)["tool"].get("torchleak", {})
    errors = [error.message for error in jsonschema.Draft7Validator(schema.schema()).iter_errors(table)]
    status = main(["config"])
    shown = capsys.readouterr().err
    assert (not errors, status) == ((True, 0) if file.parent.name == "good" else (False, 2)), (errors, shown)
    assert shown.count("\n") == (status == 2)


def test_there_are_files_of_both_kinds() -> None:
    assert {file.parent.name for file in FILES} == {"good", "bad"}
    assert sys.version_info >= (3, 11)
