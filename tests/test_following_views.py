"""Following a program for views: parts of arrays that a step makes, by whatever way they get to what keeps them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.lint import lint
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.viewgate import may_cut, may_find_views, may_keep_views
from flake8_torchleak.source import parse

HEAD = """\
import collections, cv2
import numpy as np
import torch
from dataclasses import dataclass, field
from torch.utils.data import DataLoader
"""
ABOVE = """
def load(path):
    return np.load(path)

def top(image):
    return image[:4]

def pictured(path):
    return torch.from_numpy(np.load(path))

class Log:
    def __init__(self):
        self.rows = []
    def add(self, row):
        self.rows.append(row)

@dataclass
class Kept:
    rows: list = field(default_factory=list)

def recorder():
    rows = []
    def record(row):
        nonlocal rows
        rows += [row]
    return record

def recorded(step):
    rows = []
    def run(*args):
        made = step(*args)
        rows.append(made[:4])
        return made
    return run

class Hooks:
    def __init__(self):
        self.handlers = []
    def on(self, handler):
        self.handlers.append(handler)
    def fire(self, value):
        for handler in self.handlers:
            handler(value)
"""


def program(body: str, before: str = "rows = []", loop: str = "for path in paths:") -> str:
    """A function that does `body` for each path."""
    lines = [HEAD, ABOVE, "def run(paths, loader, net, flag):", indent(dedent(before), "    "), f"    {loop}"]
    return "\n".join(
        [*lines, indent(dedent(body), " " * 8), "    return rows", "", "run(input().split(), [], None, 1)", ""]
    )


def told(text: str, path: str | None = None) -> list[Finding]:
    return [each for each in lint(text, path=path) if each.code == "TLK205"]


LOG, HOOKED = "rows = log = Log()", "rows, hooks = [], Hooks()\nhooks.on(rows.append)"
VIEWS: dict[str, tuple[str, str]] = {
    "a slice": ("image = np.load(path)\nrows.append(image[4:12])", ""),
    "of an array made there": ("rows.append(np.load(path)[4:12])", ""),
    "by a helper that loads": ("image = load(path)\nrows.append(image[4:12])", ""),
    "by a helper that cuts": ("image = np.load(path)\nrows.append(top(image))", ""),
    "by both": ("rows.append(top(load(path)))", ""),
    "a row": ("image = np.load(path)\nrows.append(image[0])", ""),
    "under a key": ("rows[path] = load(path)[:, :9]", "rows = {}"),
    "set once": ("rows.setdefault(path, load(path)[:4])", "rows = {}"),
    "in a method": ("log.add(load(path)[:4])", LOG),
    "in a record": ("kept.rows += [np.asarray(load(path)[:4])]", "rows = kept = Kept()"),
    "in a closure": ("record(load(path)[:4])", "rows = record = recorder()"),
    "by a decorator": ("step(path)", "rows = []\nstep = recorded(load)"),
    "by handlers": ("image = np.load(path)\nhooks.fire(image[:4])", HOOKED),
    "in a list of its own": ("rows.append([load(path)[:4], 1])", ""),
    "computed of all of it": ("image = load(path) / 255\nrows.append(image[:4])", ""),
    "the opposite of it": ("image = -load(path)\nrows.append(image[:4])", ""),
    "another type": ("image = load(path).astype(np.float32)\nrows.append(image[:4])", ""),
    "turned": ("rows.append(load(path)[:, :9].T)", ""),
    "in another shape": ("rows.append(load(path)[:2].reshape(-1))", ""),
    "every so many rows": ("rows.append(load(path)[::32])", ""),
    "of a tensor": ("rows.append(pictured(path)[:4])", ""),
    "of a tensor, as an array": ("rows.append(pictured(path)[:4].numpy())", ""),
    "narrowed": ("rows.append(pictured(path).narrow(0, 0, 4))", ""),
    "columns, narrowed": ("rows.append(pictured(path).narrow(1, 0, 4))", ""),
    "contiguous rows": ("rows.append(pictured(path)[:4].contiguous())", ""),
    "created": ("image = np.zeros((64, 64)) + path\nrows.append(image[0])", ""),
    "drawn": ("image = torch.rand(64, 64)\nrows.append(image[:8, :8])", ""),
    "of an array with a shape": ("image = np.zeros(flag.shape)\nrows.append(image[0])", ""),
    "of an array with a value": ("image = np.full((64, 64), 1) * 2\nrows.append(image[0])", ""),
    "a part of a part": ("rows.append(load(path)[:9][:4])", ""),
    "the same part in a loop inside": ("image = load(path)\nfor name in flag:\n    rows.append(image[:4])", ""),
    "loaded by torch, sliced": ("image = torch.load(path)\nrows.append(image[:4])", "np.load(paths)\nrows = []"),
}  # fmt: skip
KEPT_SO = {
    "a copy": ("rows.append(load(path)[:4].copy())", ""),
    "a clone": ("rows.append(pictured(path)[:4].clone())", ""),
    "another array": ("rows.append(np.array(load(path)[:4]))", ""),
    "computed of the part": ("rows.append(load(path)[:4] / 255)", ""),
    "cast": ("rows.append(load(path)[:4].astype(np.float32))", ""),
    "made contiguous": ("rows.append(pictured(path)[:8, :8].contiguous())", ""),
    "narrowed columns, contiguous": ("rows.append(pictured(path).narrow(1, 0, 4).contiguous())", ""),
    "columns in another shape": ("rows.append(pictured(path)[:, :9].reshape(-1))", ""),
    "a mean": ("rows.append(load(path)[:4].mean())", ""),
    "numbers": ("rows.append(load(path)[0, 3])", ""),
    "numbers of the mean": ("image = load(path)\nrows.append(image.mean(0)[:4].copy())", ""),
    "all of it": ("rows.append(load(path))", ""),
    "all but its ends": ("rows.append(load(path)[1:-1])", ""),
    "all of it as well": ("image = load(path)\nrows.append(image)\nrows.append(image[:4])", ""),
    "both parts": ("image = load(path)\nrows.append(image[:4])\nrows.append(image[4:])", ""),
    "each row": ("image = load(path)\nfor i in range(64):\n    rows.append(image[i])", ""),
    "each row, gone over": ("image = load(path)\nfor row in image:\n    rows.append(row)", ""),
    "of an array that lives on": ("rows.append(whole[:4])", "rows, whole = [], np.load(paths[0])"),
    "chosen rows": ("rows.append(load(path)[[0, 1]])", ""),
    "in an array": ("rows[path] = load(path)[:4]", "rows = np.zeros((9, 9))"),
    "the last one": ("rows = [load(path)[:4]]", ""),
    "few": ("rows.append(load(path)[:4])", "rows = collections.deque(maxlen=3)"),
    "numbers of a flat array": ("flat = np.zeros(9)\nrows.append(flat[0])", ""),
    "numbers of a flat tensor": ("flat = torch.full(flag, 1.0) + torch.zeros(flag)\nrows.append(flat[0])", ""),
    "numbers of a product": ("flat = np.zeros((9, 9)) @ flag\nrows.append(flat[0])", ""),
    "an element of a list": ("both = [load(path), np.load(path)[None]]\nrows.append(both[1])", ""),
    "mapped": ("image = np.load(path, mmap_mode='r')\nrows.append(image[:4])", ""),
    "what torch loads": ("state = torch.load(path)\nrows.append(state['epoch'])", "np.load(paths)\nrows = []"),
    "an entry of what torch loads": ("state = torch.load(path)\nrows.append(state[0])", "np.load(paths)\nrows = []"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "before"), VIEWS.values(), ids=VIEWS)
def test_parts_that_keep_all_of_an_array(body: str, before: str) -> None:
    found = told(program(body, before or "rows = []"))
    assert len(found) == 1
    assert found[0].severity is Severity.NOTE


@pytest.mark.parametrize(("body", "before"), KEPT_SO.values(), ids=KEPT_SO)
def test_what_keeps_no_more_than_it_is(body: str, before: str) -> None:
    assert told(program(body, before or "rows = []")) == []


SHARED = [
    "x[4:12]", "x[0]", "x[::32]", "x[:, :9].T", "x[:2].reshape(-1)", "np.asarray(x[:4])", "t[:4]", "t[:4].contiguous()",
    "t[:2].reshape(-1)", "t.narrow(0, 0, 4)", "t.narrow(0, 0, 4).contiguous()", "t.narrow(1, 0, 4)", "t[:4].numpy()",
    "t[:4].detach()", "t[:4].float()", "x.reshape(16, -1)[0]", "x[None][0]", "x[..., 0]",
]  # fmt: skip
COPIED = [
    "x[:4].copy()", "np.array(x[:4])", "x[:4] / 255", "x[:4].astype(np.float32)", "x[:, :9].reshape(-1)", "x[[0, 1]]",
    "x[0, 3]", "t[:8, :8].contiguous()", "t[:, :9].reshape(-1)", "t.narrow(1, 0, 4).contiguous()", "t[:4].clone()",
    "t[:4].double()", "np.zeros(9)[0]", "x[:4].mean()", "x[:, :9].ravel()",
]  # fmt: skip


@pytest.mark.parametrize(("part", "shares"), [*((each, True) for each in SHARED), *((each, False) for each in COPIED)])
def test_what_shares_the_memory_of_an_array(part: str, shares: bool) -> None:
    """Measured on numpy and torch: what the tests here take for views, and for copies."""
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    x = np.random.rand(64, 64).astype(np.float32)
    t = torch.from_numpy(x)
    given = eval(part, {"np": np, "torch": torch, "x": x, "t": t})
    held = given.numpy() if isinstance(given, torch.Tensor) else np.asarray(given)
    assert np.shares_memory(held, x) is shares


@pytest.mark.parametrize(
    ("after", "count"),
    [
        ("log.rows = np.array(log.rows)", 0),
        ("log.rows = rows = np.concatenate(log.rows, 0)", 0),
        ("log.rows = np.array(flag)", 1),
        ("flag = np.array(log.rows)", 1),
        ("log.rows = log.rows[1:]", 1),
    ],
)
def test_what_is_replaced_behind_the_loop_by_what_is_made_of_it(after: str, count: int) -> None:
    text = program("log.rows.append(load(path)[:4])", LOG).replace("    return rows\n\nrun", f"    {after}\n\nrun")
    assert after in text
    assert len(told(text)) == count


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ("load(path)[:4]", 1),
        ("load(path)[:4].copy()", 0),
        ("load(path)", 0),
        ("path", 0),
        ("halved(path)", 0),  # the other half is kept, too
    ],
)
def test_what_a_generator_makes_is_put_into_a_list(given: str, count: int) -> None:
    text = f"""
def gather(paths):
    rows, rest = [], []
    def halved(path):
        both = np.load(path)
        rest.append(both[:4])
        return both[4:]
    rows.extend({given} for path in paths)
    return rows, rest
"""
    assert len(told(program("rows.append(path)") + text)) == count


def test_of_batches_nobody_makes_an_array() -> None:
    """They are TLK404's."""
    assert told(program("rows.append(x[:4])\nnp.load(flag)", loop="for x in DataLoader(loader):")) == []


def test_a_few_rounds_keep_little() -> None:
    assert told(program("rows.append(load(path)[:4])", loop="for path in ('a', 'b'):")) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("log.add(cv2.imread(path)[0])", "of six such parts that a reader judged"),
        ("log.add(cv2.imread(path)[:9, :9])", "how much of it the slice leaves out is not seen"),
    ],
)
def test_a_part_of_a_picture(body: str, expected: str) -> None:
    (found,) = told(program(body, LOG))
    assert found.severity is Severity.NOTE
    assert found.reason.startswith(expected)
    assert found.message.endswith("a part of it; store a copy (arrays `.copy()`, tensors `.clone()`)")
    assert "`log.add(" in found.message
    assert [each.text for each in found.notes][:2] == [
        "a new array is made here each time, and its part keeps it", "stored here",
    ]  # fmt: skip


def test_nothing_is_followed_where_nobody_asks_for_notes() -> None:
    text = program("log.add(cv2.imread(path)[0])\nlog.add(np.load(path)[:4])", LOG)
    assert not [each for each in lint(text, least=Severity.WARNING) if each.code == "TLK205"]


def test_through_other_files(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    (tmp_path / "images.py").write_text(HEAD + ABOVE, encoding="utf-8")
    path = tmp_path / "main.py"
    text = HEAD + "from images import load, top, Log\n" + program("log.add(top(load(path)))\nnp.load(path)[0]", LOG)
    text = text.replace(ABOVE, "")
    path.write_text(text, encoding="utf-8")
    (found,) = told(text, str(path))
    assert found.message.startswith("each array stays in memory whole: `log.add(top(load(path)))` stores a part of it")
    assert any("images.py" in each.text for each in found.notes)


def test_forward_passes_make_no_steps() -> None:
    text = program("rows.append(path)").replace("class Log:", "class Log(torch.nn.Module):")
    text = text.replace("def add(self, row):\n", "def forward(self, row):\n        row = np.zeros((9, 9))[:4]\n")
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for p in q:\n    k.append(np.load(p)[:4])", True),
        ("k.append(np.load(p)[:4])", False),
        ("for p in q:\n    print(np.load(p)[:4])", False),
        ("for p in q:\n    k.append(torch.load(p)[:4])", False),
        ("for p in q:\n    k.append(np.zeros(9)[:4])", True),
        ("for p in q:\n    x = np.zeros(9)\n    k.append(x[:4])", True),
        ("for p in q:\n    x = np.zeros(9)\n    k.append(p[:4])", False),
        ("for p in q:\n    x = torch.zeros(9)\n    k.append(x.narrow(0, 0, 4))", True),
        ("for p in q:\n    x = torch.zeros(9)\n    k.append(p.narrow(0, 0, 4))", False),
        ("def top(x):\n    return x[:4]\nfor p in q:\n    x = np.zeros(9)\n    k.append(top(x))", True),
        ("def top(x):\n    return x[:4]\nfor p in q:\n    k.append(top(np.zeros(9)))", True),
        ("def top(x):\n    return x[:4]\nfor p in q:\n    x = np.zeros(9)\n    k.append(top(p))", False),
        ("def new():\n    return np.zeros(9)\nfor p in q:\n    k.append(new()[:4])", True),
        ("def new():\n    x = np.zeros(9)\n    return x\nfor p in q:\n    k.append(new()[:4])", True),
        ("def new():\n    x = np.zeros(9)\n    return 1\nfor p in q:\n    k.append(new()[:4])", False),
        ("def new():\n    return np.zeros(9)\nfor p in q:\n    x: Any = new()\n    k.append(x[:4])", True),
    ],
)
def test_which_files_are_followed_for_views(text: str, expected: bool) -> None:
    assert may_cut(parse(text), text) is expected
    for notes in (True, False):
        outline = Outline(parse(text), text, notes)
        assert may_find_views(outline) is ((expected and notes) or may_keep_views(outline))
