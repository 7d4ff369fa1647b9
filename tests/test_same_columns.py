"""One finding has one place: the same through flake8, the text report and the JSON report, whatever precedes it."""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path

import pytest

from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK, flake8

BEFORE = {
    "nothing": "",
    "accent": "'é'; ",
    "CJK": "'日本語'; ",
    "emoji": "'🙂👩‍👩‍👧'; ",
    "combining": "'e\u0301\u0302'; ",
    "wide space": "'\u3000'; ",
}


STYLES = [(style, bom) for bom in (b"", codecs.BOM_UTF8) for style in ("spaces", "tabs", "CRLF")]
"""As many as there are of BEFORE, so that each of both is met once beside some of the other."""
ONCE = set(zip(BEFORE, STYLES))


@pytest.mark.parametrize(
    ("before", "style", "bom"),
    [
        pytest.param(
            BEFORE[name], *each, id=f"{name}-{each[0]}{'-BOM' * bool(each[1])}",
            marks=() if (name, each) in ONCE else pytest.mark.long,
        )
        for name in BEFORE for each in STYLES
    ],
)  # fmt: skip
def test_same_line_and_column(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    style: str,
    bom: bytes,
) -> None:
    text = LEAK.replace("total += loss", before + "total += loss")
    if style == "tabs":
        text = text.replace("    ", "\t")
    if style == "CRLF":
        text = text.replace("\n", "\r\n")
    (tmp_path / "leak.py").write_bytes(bom + text.encode())

    by_flake8 = flake8("--select=TLK401", "leak.py", cwd=tmp_path).stdout.decode()
    monkeypatch.chdir(tmp_path)
    shown = []
    for each in ("text", "json"):
        assert main(["check", f"--output-format={each}", "leak.py"]) == 1
        shown.append(capsys.readouterr().out)
    by_text, by_json = shown
    (finding,) = json.loads(by_json)

    place = re.match(r"leak\.py:(\d+):(\d+): TLK401", by_flake8)
    assert place is not None
    line, column = int(place[1]), int(place[2])
    assert by_text.startswith(f"leak.py:{line}:{column}: TLK401 ")
    assert (finding["line"], finding["column"]) == (line, column)
    # ... and it is the right one.
    source = text.splitlines()[line - 1]
    assert line == 9
    assert source[column - 1 : finding["end_column"] - 1] in ("total", "loss", "total += loss")
