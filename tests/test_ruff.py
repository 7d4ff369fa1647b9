"""ruff leaves our `# noqa` comments alone once it is told of our codes, as docs/adopting.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import LEAK, ROOT, python

OURS = LEAK.replace("+= loss", "+= loss  # noqa: TLK401")


@pytest.mark.parametrize("told", [True, False])
def test_noqa_under_ruff(tmp_path: Path, told: bool) -> None:
    (tmp_path / "leak.py").write_text(OURS)
    page = (ROOT / "docs" / "adopting.md").read_text()
    (config,) = re.findall(r"^(\[tool\.ruff\.lint\]\nexternal.*)\n```$", page, re.MULTILINE)
    (tmp_path / "pyproject.toml").write_text(config if told else "")
    run = python("-m", "ruff", "check", "--no-cache", "--select=RUF100,RUF102", "--fix", "leak.py", cwd=tmp_path)
    assert run.returncode == 0
    assert (tmp_path / "leak.py").read_text() == (OURS if told else LEAK)
