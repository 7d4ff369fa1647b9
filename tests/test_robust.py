"""Whatever the text: findings, or one clear error. Never a crash, never a traceback."""

from __future__ import annotations

import ast
import codecs
import subprocess
import sys
import sysconfig
import warnings
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flake8_torchleak.lint import lint
from flake8_torchleak.source import SourceError, decode
from tests.conftest import LEAK, torchleak

# Opens the gate for every rule, so that texts without a word of ours are looked at too.
WORDS = (
    "import torch, cv2; from torch.utils.data import Dataset, DataLoader; "
    "'collate backward training_step no_grad eval append cycle'; "
)


FEW, MANY = 12, 3_000


def installed(count: int) -> list[Path]:
    """So many Python files of the standard library and of everything installed.

    Chosen by their names, so that one file more or less changes the choice by no more than that; those that speak of
    torch, of which most look alike to us, come first in every third place.
    """
    folders = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platlib", "purelib")}
    files = {file.relative_to(folder).as_posix(): file for folder in folders for file in folder.rglob("*.py")}
    names = sorted(files, key=lambda name: zlib.crc32(name.encode()))
    about = [name for name in names if "torch" in name]
    mixed = [name for three in zip(about, names[::2], names[1::2]) for name in three] or names
    return [files[name] for name in dict.fromkeys(mixed)][:count]


@pytest.mark.long
@pytest.mark.parametrize("count", [pytest.param(FEW, marks=pytest.mark.watched), MANY])
def test_installed_code(count: int) -> None:
    checked = 0
    for file in installed(count):
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
    assert checked > count // 2


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
    "a chain of bases": "class C0(Dataset): pass\n" + "".join(f"class C{n}(C{n - 1}): pass\n" for n in range(1, 500)),
    "functions in a circle": "".join(
        f"def f{n}(x): return f{(n + 1) % 1000}(f{(n + 7) % 1000}(x))\n" for n in range(1000)
    )
    + LEAK.replace("criterion(", "f0("),
    "one function of many sums": "def f(loss):\n    x = 0\n" + "    x += loss\n" * 2000 + "    loss.backward()\n",
    "one step of many sums": LEAK.replace("total += loss\n", "total += loss\n" + "        total += loss\n" * 2000),
    "a name of itself": "x = x\nx += x\nfor x in x: x.append(x)\nwith x as x: pass\n"
    "x = [x for x in x]\nx = lambda x=x: x\n",
    "a default of itself": "def f(a=f, *, b=lambda: f): return f(a=f, b=b)\nclass A(A): a = A\nx = f(x)\n",
    "an attribute of itself": "class A(Dataset):\n    def __init__(self): self.x = self.x = self\n"
    "    def __getitem__(self, i): self.x = self.x[self.x]; return self[self.x]\n"
    "    def __len__(self): return len(self)\n",
    "circles of helpers and state": "class A(Dataset):\n    def __init__(self): self.x = self.f()\n"
    "    def f(self): return self.g() + self.x\n    def g(self): return self.f() + self.x\n"
    "    def __getitem__(self, i): return self.f(), self.x[i]\n",
    "helpers in a circle": "def f(x): return g(x)\ndef g(x): return f(x)\n" + LEAK.replace("criterion(", "f("),
}


LONG_TO_READ = ("one step of many sums",)


@pytest.mark.parametrize(
    "text",
    [pytest.param(HOSTILE[name], marks=[pytest.mark.long] * (name in LONG_TO_READ)) for name in HOSTILE],
    ids=HOSTILE,
)
@pytest.mark.parametrize(
    "prefix",
    [
        pytest.param("", id="alone", marks=pytest.mark.long),
        pytest.param(WORDS + "\n", id="with words", marks=pytest.mark.long),
        pytest.param(LEAK, id="after a leak"),
    ],
)
def test_hostile_text(text: str, prefix: str) -> None:
    try:
        lint(prefix + text)
    except SyntaxError as error:
        # Python itself cannot take some of them on some versions.
        with pytest.raises((SyntaxError, RecursionError, MemoryError)):
            ast.parse(prefix + text)
        assert error.msg


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("if x:\n    x = x\n", 400),
        *(
            pytest.param(text, 1_250, marks=pytest.mark.long)
            for text in ("if x:\n    x = x\n", "x = 0\n", "for x in x:\n    x += x\n", "x.append(x)\n", "f(x)\n")
        ),
    ],
)
def test_work_grows_with_the_text_and_not_with_its_square(text: str, length: int) -> None:
    few, many = (calls_during(LEAK + text * count) for count in (length, 8 * length))
    assert many < 12 * few


@pytest.mark.long
def test_a_hundred_thousand_assignments_of_one_name() -> None:
    text = LEAK + "total = 0\n" * 100_000
    assert [finding.code for finding in lint(text)] == ["TLK401"]


def calls_during(text: str) -> int:
    """How many functions are called by `lint(text)`: a measure of work that is the same on every machine."""
    lint(LEAK)  # what happens once does not count
    count = 0

    def called(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        lint(text)
    finally:
        sys.setprofile(before)
    return count


CHAINS = {
    "attributes": ("loss", ".a"), "calls": ("loss", "()"), "subscripts": ("loss", "[i]"),
    "methods": ("loss", ".mean()"), "sums": ("loss", " + loss"), "products": ("loss", " * loss"),
    "alternatives": ("list", " | list"),
    "conditions": ("loss", " and loss"), "comparisons": ("loss", " < loss"), "lookups": ("loss", ".setdefault(0, {})"),
}  # fmt: skip
PREFIXES = {"signs": "-", "negations": "not ", "lambdas": "lambda: ", "brackets": "[", "tuples": "(", "calls": "f("}
CLOSING = {"[": "]", "(": ",)", "f(": ")"}
EVERYWHERE = """\
import torch, cv2, numpy as np
from torch.utils.data import Dataset, DataLoader
class Rows(Dataset):
    def __init__(self, items: {0}, c={0}):
        self.items, self.x = items, {0}
        self.y: {0} = 1
    def __len__(self):
        return len(self.items)
    def __getitem__(self, i):
        a = self.items[i]
        a[0], b = {0}, self.x[{0}]
        cv2.resize({0})
        return a, b, {0}, self.items[{0}]
class Meter:
    def update(self, v):
        self.u = self.u + {0}
        self.w.append({0})
@f({0})
def train(model: {0}, loader, criterion, i, c):
    total, logs, d, meter = 0, [], {{}}, Meter()
    for x, y in DataLoader(Rows([]), num_workers={0}, collate_fn={0}):
        loss = criterion(model(x), y)
        q = {0}
        q.backward()
        ({0}).backward()
        torch.autograd.grad({0}, x)
        ({0}).step()
        total += {0}
        total = total + {0}
        logs += [{0}]
        d[{0}], d[i] = loss, {0}
        meter.update({0})
        ({0}).append(loss)
        np.mean({0}), next({0}), sum({0}), zip({0}), sorted({0})
    return total, logs, d
def validate(model, loader):
    model.eval()
    with torch.no_grad() if {0} else x:
        pass
    for x in {0}:
        with ({0}):
            out = [model(x), ({0})(x), model({0})]
    return out
"""


def long(expression: str) -> None:
    """Lint a text with this expression everywhere, and as a target; Python may refuse it, nothing else may happen."""
    for text in (
        EVERYWHERE.format(expression),
        LEAK + f"        {expression} += loss; {expression} = {expression} + loss\n",
    ):
        try:
            lint(text)
        except SyntaxError:
            with pytest.raises((SyntaxError, RecursionError, MemoryError)):
                ast.parse(text)


@pytest.mark.parametrize("length", [30, pytest.param(1100, marks=pytest.mark.long)])
@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_chains_longer_than_python_can_recurse(chain: tuple[str, str], length: int) -> None:
    first, then = chain
    long(first + then * length)
    long(f'"{first + then * length}"')


@pytest.mark.parametrize(
    ("prefix", "depth"),
    [
        pytest.param(
            PREFIXES[name],
            depth,
            id=f"{name}-{depth}",
            # The one that Python takes at that depth: seconds.
            marks=[pytest.mark.long, pytest.mark.watched] * ((name, depth) == ("signs", 900)),
        )
        for name in PREFIXES
        for depth in (30, 90, 900)
    ],
)
def test_nested_expressions(prefix: str, depth: int) -> None:
    long(prefix * depth + "loss" + CLOSING.get(prefix, "") * depth)


def test_ifs_too_deep_for_python() -> None:
    with pytest.raises(SyntaxError):
        lint(LEAK + "".join(" " * depth + "if x:\n" for depth in range(2000)) + " " * 2000 + "pass\n")


@pytest.mark.parametrize(
    "annotation", ["Optional[()]", "list[()]", "'list['", "'x = 1'", "''", "'a is 1'", "'list\\nint'"]
)
def test_annotations_that_make_no_sense(annotation: str) -> None:
    lint(
        WORDS + f"\nclass A(Dataset):\n    def __init__(self, x: {annotation}): self.x = x\n"
        "    def __len__(self): return len(self.x)\n    def __getitem__(self, i): return self.x[i]\n"
    )


def test_warnings_about_the_linted_code_are_not_ours_to_raise() -> None:
    # pytest turns warnings into errors, as `python -W error -m flake8` does.
    text = LEAK + "x = x is 'y', '\\d', 1 .real, (lambda: 0)\nassert (x, 'always')\n"
    assert {finding.code for finding in lint(text)} == {"TLK401"}


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
    except SyntaxError:
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


def checked(folder: Path, files: dict[str, bytes]) -> subprocess.CompletedProcess[bytes]:
    """What the command says of files of these names, in a process of its own."""
    for name, raw in files.items():
        (folder / f"{name}.py").write_bytes(raw)
    return torchleak("check", *(f"{name}.py" for name in files), cwd=folder)


def test_what_is_no_python_is_one_line(tmp_path: Path) -> None:
    run = checked(tmp_path, BROKEN)
    assert run.returncode == 2
    told = [line.partition(".py")[0] for line in run.stderr.decode().splitlines()]
    assert sorted(told) == sorted(f"torchleak: error: {name}" for name in BROKEN)


def test_what_is_python_is_checked(tmp_path: Path) -> None:
    run = checked(tmp_path, FINE)
    assert (run.returncode, run.stderr) == (1, b"")
    found = [line.partition(".py:")[0] for line in run.stdout.decode().splitlines() if ": TLK401 " in line]
    assert sorted(found) == sorted(FINE)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the limit on digits came with 3.11")
def test_a_number_too_long_to_print() -> None:
    lint(WORDS + "\nx = 0x" + "f" * 10_000 + "\n")
