"""ruff leaves our `# noqa` comments alone once it is told of our codes, as the README says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import LEAK, ROOT, python

OURS = LEAK.replace("+= loss", "+= loss  # noqa: TLK401")


@pytest.mark.parametrize("told", [True, False])
def test_noqa_under_ruff(tmp_path: Path, told: bool) -> None:
    (tmp_path / "leak.py").write_text(OURS)
    (config,) = re.findall(r"^(\[tool\.ruff\.lint\]\nexternal.*)\n```$", (ROOT / "README.md").read_text(), re.MULTILINE)
    (tmp_path / "pyproject.toml").write_text(config if told else "")
    run = python("-m", "ruff", "check", "--no-cache", "--select=RUF100,RUF102", "--fix", "leak.py", cwd=tmp_path)
    assert run.returncode == 0
    assert (tmp_path / "leak.py").read_text() == (OURS if told else LEAK)
