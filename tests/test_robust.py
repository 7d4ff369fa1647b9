"""Whatever the text: findings, or one clear error. Never a crash, never a traceback."""

from __future__ import annotations

import ast
import codecs
import random
import sys
import sysconfig
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flake8_torchleak.lint import lint
from flake8_torchleak.source import SourceError, decode
from tests.conftest import LEAK, torchleak

SECONDS = 40
"""How long the walk over installed code may take."""

# Opens the gate for every rule, so that texts without a word of ours are looked at too.
WORDS = (
    "import torch, cv2; from torch.utils.data import Dataset, DataLoader; "
    "'collate backward training_step no_grad eval append cycle'; "
)


def installed() -> list[Path]:
    """The Python files of the standard library and of everything installed, in an order that is the same every time."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platlib", "purelib")}
    files = sorted({file for folder in folders for file in Path(folder).rglob("*.py")})
    random.Random(0).shuffle(files)
    return files


def test_installed_code() -> None:
    end = time.monotonic() + SECONDS
    checked = 0
    for file in installed():
        if time.monotonic() > end:
            break
        try:
            text = decode(file.read_bytes())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SourceError, SyntaxError, ValueError, RecursionError, OSError):
            continue
        lines = text.count("\n") + 1
        for finding in lint(text, tree=tree, path=str(file)):
            assert 1 <= finding.span.line <= finding.span.end_line <= lines
            assert "\n" not in finding.message
        checked += 1
    assert checked > 50


HOSTILE = {
    "empty": "",
    "only a comment": "# torch",
    "a long sum": "x = " + " + ".join(f"a{number}" for number in range(3000)) + "\n",
    "a long chain": "x = a" + ".b()" * 500 + "\n",
    "deep ifs": "".join(" " * depth + "if x:\n" for depth in range(90)) + " " * 90 + "pass\n",
    "deep lists": "x = " + "[" * 90 + "]" * 90 + "\n",
    "many names": "x = 0\n" * 20_000,
    "one name in a circle": "a = b\nb = a\n" * 500,
    "names that are not ascii": "日本 = '🙂'; é = 日本\n",
    "form feeds": "\x0cx = 1\n\x0c\n",
    "carriage returns": "x = 1\ry = 2\r",
    "no line end": "x = 1",
    "walrus, match, lambda": "match (y := lambda *a, **k: a):\n    case [1, *_]: pass\n",
    "a class in a class": "".join("    " * depth + f"class C{depth}(C{depth + 1}):\n" for depth in range(60))
    + "    " * 60
    + "pass\n",
    "bases in a circle": "class A(B): pass\nclass B(A): pass\n",
    "helpers in a circle": "def f(x): return g(x)\ndef g(x): return f(x)\n" + LEAK.replace("criterion(", "f("),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("prefix", ["", WORDS + "\n", LEAK], ids=["alone", "with words", "after a leak"])
def test_hostile_text(text: str, prefix: str) -> None:
    try:
        lint(prefix + text)
    except SyntaxError as error:
        # Python itself cannot take some of them on some versions.
        with pytest.raises((SyntaxError, RecursionError, MemoryError)):
            ast.parse(prefix + text)
        assert error.msg


@pytest.mark.parametrize("depth", [500, 5000])
def test_nesting_too_deep_for_python_is_a_syntax_error(depth: int) -> None:
    with pytest.raises(SyntaxError):
        lint(LEAK + "x = " + "(" * depth + ")" * depth + "\n")


def test_a_long_sum_handed_over_as_a_tree() -> None:
    # The parser takes expressions about three times as deep as Python code can recurse.
    text = LEAK + "x = 0\n"
    tree = ast.parse(text)
    total: ast.expr = ast.Name("a", ast.Load())
    for _ in range(2500):
        total = ast.BinOp(total, ast.Add(), ast.Name("a", ast.Load()))
    assign = tree.body[-1]
    assert isinstance(assign, ast.Assign)
    for node in iter_nodes(total):
        ast.copy_location(node, assign.value)
    assign.value = total
    assert {finding.code for finding in lint(text, tree=tree)} >= {"TLK401"}


def iter_nodes(node: ast.expr) -> list[ast.expr]:
    """The expressions of a chain of sums."""
    nodes = [node]
    while isinstance(node, ast.BinOp):
        nodes += [node.right, node.left]
        node = node.left
    return nodes


@given(st.text(max_size=80))
def test_any_text(text: str) -> None:
    try:
        lint(WORDS + text)
    except (SyntaxError, ValueError):
        return


@given(st.binary(max_size=60))
def test_any_bytes(raw: bytes) -> None:
    try:
        assert isinstance(decode(raw), str)
    except SourceError as error:
        assert "\n" not in str(error)


BROKEN = {
    "syntax error": LEAK.encode() + b"def f(:\n",
    "wrong indent": LEAK.encode() + b"   x\n",
    "open string": LEAK.encode() + b"'''\n",
    "open bracket": LEAK.encode() + b"(\n",
    "null byte": LEAK.encode() + b"\0",
    "latin-1 without saying so": LEAK.encode() + b"# \xe9\n",
    "UTF-16": LEAK.encode("utf-16"),
    "too deep": LEAK.encode() + b"x = " + b"(" * 500 + b")" * 500,
}
FINE = {
    "BOM": codecs.BOM_UTF8 + LEAK.encode(),
    "CRLF": LEAK.replace("\n", "\r\n").encode(),
    "CR": LEAK.replace("\n", "\r").encode(),
    "tabs": LEAK.replace("    ", "\t").encode(),
    "latin-1": b"# coding: latin-1\n# \xe9\n" + LEAK.encode(),
    "no line end": LEAK.rstrip().encode(),
    "invalid escape": b"'\\d'\n" + LEAK.encode(),
}


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_what_is_no_python_is_one_line(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "bad.py").write_bytes(raw)
    run = torchleak("check", "bad.py", cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr.decode().startswith("torchleak: error: bad.py")
    assert run.stderr.count(b"\n") == 1


@pytest.mark.parametrize("raw", FINE.values(), ids=FINE)
def test_what_is_python_is_checked(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "leak.py").write_bytes(raw)
    run = torchleak("check", "leak.py", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (1, b"")
    assert b": TLK401 " in run.stdout


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the limit on digits came with 3.11")
def test_a_number_too_long_to_print() -> None:
    lint(WORDS + "\nx = 0x" + "f" * 10_000 + "\n")
