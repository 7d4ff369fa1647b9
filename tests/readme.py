"""The parts of README.md that are generated; `python -m tests.readme` writes them anew."""

from __future__ import annotations

from flake8_torchleak.rule import rule_table
from tests.conftest import ROOT, torchleak

EXAMPLE = "fixtures/TLK401_accumulated_graph/bad_epoch_loop.py"


def filled(readme: str) -> str:
    """`readme` with the rule table, and with what the command prints about the example, between their markers."""
    shown = torchleak("check", EXAMPLE, cwd=ROOT).stdout.decode()
    for name, text in {"rules": rule_table(), "example": f"```\n{shown}```"}.items():
        before, start, rest = readme.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        assert start, name
        assert end, name
        readme = f"{before}{start}{text}\n{end}{after}"
    return readme


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
