"""The generated parts of README.md; `python -m tests.readme` writes them anew."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.conftest import ROOT, torchleak

README = ROOT / "README.md"


def filled(readme: str) -> str:
    """`readme` with what the command prints about its own example, and how tools compare, between the markers."""
    for name, text in {"example": f"```\n{shown(leak(readme))}```", "comparison": comparison()}.items():
        before, start, rest = readme.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        assert start, name
        assert end, name
        readme = f"{before}{start}{text}\n{end}{after}"
    return readme


def comparison() -> str:
    """The last row of the table of docs/comparison.md, below its heading."""
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    rows = page.partition("<!-- ten -->\n")[2].partition("<!-- /ten -->")[0].splitlines()
    last = rows[-1].replace("**", "").replace("| found |", "| of ten leaks, finds |")
    return "\n".join([rows[0].replace("| leak |", "| |"), rows[1], last])


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
