"""One finding has one place: the same through flake8, the text report and the JSON report, whatever precedes it."""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path

import pytest

from tests.conftest import LEAK, flake8, torchleak

BEFORE = {
    "nothing": "",
    "accent": "'é'; ",
    "CJK": "'日本語'; ",
    "emoji": "'🙂👩‍👩‍👧'; ",
    "combining": "'e\u0301\u0302'; ",
    "wide space": "'\u3000'; ",
}


@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8], ids=["", "BOM"])
@pytest.mark.parametrize("style", ["spaces", "tabs", "CRLF"])
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_same_line_and_column(tmp_path: Path, before: str, style: str, bom: bytes) -> None:
    text = LEAK.replace("total += loss", before + "total += loss")
    if style == "tabs":
        text = text.replace("    ", "\t")
    if style == "CRLF":
        text = text.replace("\n", "\r\n")
    (tmp_path / "leak.py").write_bytes(bom + text.encode())

    by_flake8 = flake8("--select=TLK401", "leak.py", cwd=tmp_path).stdout.decode()
    by_text = torchleak("check", "leak.py", cwd=tmp_path).stdout.decode()
    (finding,) = json.loads(torchleak("check", "--output-format=json", "leak.py", cwd=tmp_path).stdout)

    place = re.match(r"leak\.py:(\d+):(\d+): TLK401", by_flake8)
    assert place is not None
    line, column = int(place[1]), int(place[2])
    assert by_text.startswith(f"leak.py:{line}:{column}: TLK401 ")
    assert (finding["line"], finding["column"]) == (line, column)
    # ... and it is the right one.
    source = text.splitlines()[line - 1]
    assert line == 9
    assert source[column - 1 : finding["end_column"] - 1] in ("total", "loss", "total += loss")
