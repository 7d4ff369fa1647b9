"""What many files rest on is asked once: whatever the numbers are, no more holds than when each is asked for itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flake8_torchleak.model.reading import Reader
from flake8_torchleak.shells.cache import evidence
from flake8_torchleak.shells.cache.evidence import Evidence


def known(root: Path, mark: str, numbers: list[Any]) -> Evidence:
    """One question, whether a folder holds a name, with the answer that is kept, and a file that asks by numbers."""
    details = json.dumps([[], [["has", 0, mark, ["here.py"]]], {"a.py": numbers}])
    return Evidence(Reader(notes=True), [[str(root), "", ""]], [[], [0], []], details)


@pytest.mark.parametrize(
    ("mark", "numbers", "holds"),
    [("y", [0], True), ("y", [0, 0], True), ("y", [], True), ("y", [-2], False), ("y", [1], False), ("", [0], False)],
)
def test_what_holds(tmp_path: Path, mark: str, numbers: list[Any], holds: bool) -> None:
    (tmp_path / "here.py").touch()
    asked = known(tmp_path, mark, numbers)
    for _ in range(3):
        try:
            found = asked.all_hold("a.py")
        except LookupError:  # as the store takes it: what is broken is not there
            found = False
        assert found is holds


@pytest.mark.parametrize("count", [evidence._MANY, evidence._MANY + 1])
def test_many_files_ask_everything_once(tmp_path: Path, count: int) -> None:
    """Where all is as it was, the questions themselves are not even read."""
    first = Evidence.empty(Reader(notes=True))
    first.reader.has(str(tmp_path), "here.py")
    numbers = first.added([("has", str(tmp_path), "here.py"), ("is_folder", str(tmp_path))])
    places, watched, details = first.only({"a.py": numbers})
    for change, holds in ((False, True), (True, False)):
        if change:
            (tmp_path / "here.py").touch()
        for text, is_read in ((details, True), ("no questions", False)):
            again = Evidence(Reader(notes=True), [list(each) for each in places], watched, text)
            again.expect(count)
            if is_read or (count > evidence._MANY and holds):
                assert again.all_hold("a.py") is holds
            else:
                with pytest.raises(LookupError):
                    again.all_hold("a.py")


@pytest.mark.parametrize("text", ["", "7", "[]", "[1,2,3]", "[{},[],{}]", "[[],[],7]", "[" * 100_000])
def test_details_of_another_form_are_as_if_there_were_none(tmp_path: Path, text: str) -> None:
    broken = Evidence(Reader(notes=True), [], [[], [], []], text)
    assert (broken.tables, broken.questions, broken.asked) == ([], [], {})
    assert broken.added([("is_folder", str(tmp_path))]) == [0]
