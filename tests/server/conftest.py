"""Editors that are gone when their test is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Editor

Opened = Callable[..., Editor]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Opened]:
    """Starts an editor in the test's folder."""
    editors: list[Editor] = []

    def start(*arguments: Any, **more: Any) -> Editor:
        editors.append(Editor(tmp_path, *arguments, **more))
        return editors[-1]

    yield start
    for each in editors:
        each.end()


@pytest.fixture
def editor(started: Opened) -> Editor:
    """One that is able to do little."""
    return started()


@pytest.fixture
def rich(started: Opened) -> Editor:
    """One that is able to do much."""
    from tests.server.client import RICH

    return started(RICH)
