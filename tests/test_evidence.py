"""What many files rest on is asked once: whatever the numbers are, no more holds than when each is asked for itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flake8_torchleak.model.reading import Reader
from flake8_torchleak.shells.cache import evidence
from flake8_torchleak.shells.cache.evidence import Evidence


def known(root: Path, mark: str) -> Evidence:
    """One question, whether a folder holds a name, and the answer that is kept."""
    return Evidence(Reader(notes=True), [[str(root), "", ""]], [], [["has", 0, mark, ["here.py"]]])


@pytest.mark.parametrize("many", [0, 1, 100])
@pytest.mark.parametrize(
    ("mark", "numbers", "holds"),
    [("y", [0], True), ("y", [0, 0], True), ("y", [], True), ("y", [-2], False), ("y", [1], False), ("", [0], False)],
)
def test_what_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int, mark: str, numbers: list[Any], holds: bool
) -> None:
    monkeypatch.setattr(evidence, "_MANY", many)
    (tmp_path / "here.py").touch()
    asked = known(tmp_path, mark)
    for _ in range(3):
        try:
            found = asked.all_hold(numbers)
        except LookupError:  # as the store takes it: what is broken is not there
            found = False
        assert found is holds
