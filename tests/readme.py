"""The generated parts of README.md and of docs/comparison.md; `python -m tests.readme` writes them anew."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.conftest import ROOT, torchleak

README = ROOT / "README.md"


def filled(readme: str) -> str:
    """`readme` with what the command prints about its own example between the markers."""
    before, start, rest = readme.partition("<!-- example -->\n")
    _, end, after = rest.partition("<!-- /example -->")
    assert start
    assert end
    return f"{before}{start}```\n{shown(leak(readme))}```\n{end}{after}"


def leak(readme: str) -> str:
    """The README's first block of code, a whole file."""
    (found,) = re.findall(r"^<!-- leak -->\n```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    return str(found)


def shown(code: str) -> str:
    """The first and the last lines that the command prints about `code`: the notes between them are left out."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(code, encoding="utf-8")
        lines = torchleak("check", "train.py", cwd=Path(folder)).stdout.decode().splitlines()
    (fix,) = [line for line in lines if line.startswith("    fix (")]
    return "\n".join([*lines[:3], "    ...", fix, lines[-1]]) + "\n"


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
