"""Folders whose names say that what lies in them is not in use, or another project's: notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from tests.test_replaced import FIT, HEAD


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("", "warning"),
        ("src", "warning"),
        ("legacy", "note"),
        ("src/old_archive/deep", "note"),
        ("Deprecated Models", "note"),
        ("archiver", "warning"),
        ("third_party", "note"),
        ("ThirdParty/lib", "note"),
        ("3rd-party", "note"),
        ("Third_Party_Code", "note"),
        ("my third parties", "note"),
        ("third_partying", "warning"),
        ("external", "note"),
        ("external_memory", "warning"),
        ("vendor", "note"),
    ],
)
def test_names_of_folders(tmp_path: Path, folder: str, expected: str) -> None:
    (tmp_path / ".git").mkdir()
    place = tmp_path / folder
    place.mkdir(parents=True, exist_ok=True)
    path = place / "legacy.py"
    text = f"{HEAD}{FIT.format(name='fit')}fit(1, 2, 3)\n"
    path.write_text(text, encoding="utf-8")
    (found,) = (each for each in lint(text, path=str(path)) if each.code == "TLK401")
    assert found.severity.value == expected
    if expected == "note":
        assert found.reason.startswith("by the name of its folder, `")


def test_what_lies_above_the_project_says_nothing(tmp_path: Path) -> None:
    root = tmp_path / "archive" / "project"
    (root / ".git").mkdir(parents=True)
    text = f"{HEAD}{FIT.format(name='fit')}fit(1, 2, 3)\n"
    (root / "run.py").write_text(text, encoding="utf-8")
    found = [each for each in lint(text, path=str(root / "run.py")) if each.code == "TLK401"]
    assert [each.severity.value for each in found] == ["warning"]
    assert [each.severity.value for each in lint(text) if each.code == "TLK401"] == ["warning"]
