"""Every bound of the analysis that a file can reach says so: each is reached here, and just not reached."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.finding import BOUND
from flake8_torchleak.lint import lint
from flake8_torchleak.model import firstparty, importers, project, users
from flake8_torchleak.model import module as models
from flake8_torchleak.model.bounds import unfinished
from flake8_torchleak.model.gpu import cuda_part
from flake8_torchleak.model.release import saving
from flake8_torchleak.model.values import Kind
from tests.model import IMPORTS, module, step


def said(text: str, path: Path | None = None) -> str:
    """What the report says of what was left out; "" if nothing was."""
    found = lint(text, Config(), path=str(path) if path else None, fixes=True)
    return "; ".join(each.message for each in found if each.code == BOUND)


def chain(count: int, first: str, link: str = "{}") -> str:
    """Variables v1, v2, ... of which each is made of the one before; the last is called `last`."""
    names = [first, *(f"v{n}" for n in range(1, count)), "last"]
    return "\n".join(f"{new} = {link.format(old)}" for old, new in pairwise(names))


def nested(count: int, inner: str) -> str:
    """Functions that each call the next: f0 to f<count>, the last of which runs a statement on `x`."""
    calls = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n\n\n" for n in range(count))
    return f"{calls}def f{count}(x):\n    {inner}\n    return x\n\n\n"


def stored(how: str) -> str:
    """A Dataset with rows that are made by these statements and put into a list."""
    body = "\n".join(f"        {line}" for line in how.splitlines())
    return (
        f"class Rows(Dataset):\n    def __init__(self, root):\n{body}\n"
        "        self.rows = [last + each for each in open(root)]\n\n"
        "    def __getitem__(self, i):\n        return self.rows[i]\n"
    )


def hooked(count: int) -> str:
    """A class that hooks a module deep inside of the one that it is given."""
    body = "\n".join(f"        {line}" for line in chain(count, "model", "{}.part").splitlines())
    return (
        f"class Spy:\n    def __init__(self, model):\n        self.kept = []\n{body}\n"
        "        last.register_forward_hook(self.hook)\n\n    def hook(self, module, args, output):\n"
        "        self.kept.append(output)\n"
    )


def hook(count: int) -> str:
    """A hook that keeps a part of what it is given."""
    body = "\n".join(f"    {line}" for line in chain(count, "output", "{}[0]").splitlines())
    return (
        f"kept = []\n\n\ndef hook(module, args, output):\n{body}\n    kept.append(last)\n\n\n"
        "model.layer.register_forward_hook(hook)\n"
    )


def kept(how: str, value: str = "last") -> str:
    """A training step that keeps a value."""
    return step(f"{how}\nkept.append({value})", after="return kept")


def entries(count: int) -> str:
    """A tensor whose entries are set, of which the last alone has a graph."""
    rows = "\n".join(f"out[{n}] = {n}" for n in range(count))
    return step(f"out = torch.zeros(99)\n{rows}\nout[98] = loss\nkept.append(out)", after="return kept")


BOUNDS: dict[str, tuple[Callable[[int], str], int, int, str]] = {
    "a proof": (lambda n: kept(chain(n, "model(x)", "{} + 0")), 4, 16, "a proof goes through more than 12 expressions"),
    "elements": (
        lambda n: stored(chain(n, "str(root)", "{} + 'a'")),
        2,
        12,
        "what is stored goes through more than 8 expressions",
    ),
    "who is hooked": (hooked, 4, 40, "what is hooked comes through more than 30 expressions"),
    "what a hook keeps": (hook, 4, 40, "what a hook keeps goes through more than 30 expressions"),
    "functions that give a value": (
        lambda n: nested(n, "x = x + 0") + kept("last = f0(loss)"),
        2,
        8,
        "it is called through more than 3 functions",
    ),
    "variables": (
        lambda n: step("kept.append(loss)\n" + chain(n, "kept"), after="return 0"),
        4,
        60,
        "what is kept goes through more than 40 variables",
    ),
    "functions that differentiate": (
        lambda n: nested(n, "x.backward()") + step("f0(loss)\nkept.append(loss)", after="return kept"),
        2,
        20,
        "it is called through more than 12 functions",
    ),
    "functions that hand on": (
        lambda n: nested(n, "print(x)") + step("kept.append(loss)\nf0(kept)", after="return 0"),
        1,
        8,
        "what is kept is passed on by more than 3 functions",
    ),
    "parts of a loss": (
        lambda n: step(
            "\n".join(f"t{k} = F.mse_loss(model(x), y) * {k}" for k in range(n))
            + f"\nwhole = {' + '.join(f't{k}' for k in range(n))}\nwhole.backward()\nkept.append(t0)",
            after="return kept",
        ),
        4,
        80,
        "what is differentiated has more than 64 parts",
    ),
    "between sum and backward": (
        lambda n: step(f"total += {'(' * n}loss{' * 2)' * n}", after="total.item()\nreturn total"),
        4,
        50,
        "a proof goes through more than 12 expressions",  # and it is not told whether it is spent
    ),
    "entries": (entries, 4, 60, "more than 50 entries of `out` are set"),
}


@pytest.mark.parametrize(("text", "few", "many", "why"), BOUNDS.values(), ids=BOUNDS)
def test_a_bound_that_is_reached_is_said(text: Callable[[int], str], few: int, many: int, why: str) -> None:
    assert said(IMPORTS + text(few)) == ""
    assert why in said(IMPORTS + text(many))


PROJECTS: dict[str, tuple[object, str, int, dict[str, str], str, str]] = {
    "files": (
        firstparty,
        "_MOST_FILES",
        1,
        {"one": "class One:\n    pass\n", "two": "class Two:\n    pass\n"},
        "from one import One\nfrom two import Two\n",
        "it uses more than 1 other files of its project",
    ),
    "lines": (
        project,
        "_MOST_LINES",
        2,
        {"one": "class One:\n    pass\n\n\nclass Two:\n    pass\n"},
        "from one import One, Two\n",
        "what it uses of other files has more than 2 lines",
    ),
    "files behind files": (
        project,
        "_MOST_DEPTH",
        0,
        {"one": "from two import Two\nclass One(Two):\n    pass\n", "two": "class Two:\n    pass\n"},
        "from one import One\nTwo = int\n",
        "what it uses goes through more than 0 other files",
    ),
}


@pytest.mark.parametrize(("where", "bound", "most", "files", "head", "why"), PROJECTS.values(), ids=PROJECTS)
def test_a_bound_of_other_files_that_is_reached_is_said(
    where: object,
    bound: str,
    most: int,
    files: dict[str, str],
    head: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    path = tmp_path / "main.py"
    path.write_text(
        f"from torch.utils.data import Dataset\n{head}\n\n"
        "class Rows(One, Two, Dataset):\n    def __init__(self, root):\n"
        "        self.rows = One()\n\n    def __getitem__(self, i):\n        return self.rows.kept[i]\n"
    )
    firstparty.forget()
    assert said(path.read_text(), path) == ""
    firstparty.forget()
    monkeypatch.setattr(where, bound, most)
    assert said(path.read_text(), path) == f"not all of this module's project was looked at: {why}"


def test_a_function_of_many_callers(tmp_path: Path) -> None:
    def asked(count: int) -> str:
        model = module("def keep(thing):\n    return thing\n\n\n" + "keep(torch.zeros(1))\n" * count)
        value = model.tree.all(ast.Return)[0].value
        assert value is not None
        assert model.infer.value(value).kind is Kind.TENSOR
        left = unfinished(model)
        return left[1] if left is not None else ""

    assert asked(50) == ""
    assert "`keep` is too large to analyse in full: it is called at more than 50 places" in asked(51)


def around(folder: Path, **files: str) -> Path:
    """A project of these files; the first of them."""
    (folder / "pyproject.toml").touch()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    importers.forget()
    return folder / f"{next(iter(files))}.py"


def test_questions_that_lead_from_file_to_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = around(
        tmp_path,
        main="from base import RecordsDataset\nfrom tools import read\n\n\nclass Rows(RecordsDataset):\n"
        "    def __init__(self, root):\n        self.rows = read(root)\n\n"
        "    def __getitem__(self, i):\n        return self.rows[i]\n",
        base="from torch.utils.data import Dataset\n\n\nclass RecordsDataset(Dataset):\n    pass\n",
        tools="def read(root):\n    return [line.split() for line in open(root)]\n",
    )
    assert [each.code for each in lint(path.read_text(), path=str(path))] == ["TLK101", "TLK202"]
    monkeypatch.setattr(models, "_MOST_ROUNDS", 0)
    assert said(path.read_text(), path).endswith("its questions lead through more than 0 files")


EVALUATION = (
    "import torch\n\n\ndef evaluate(model, loader):\n    model.eval()\n    right = []\n    for x, y in loader:\n"
    "        right.append((model(x).argmax(1) == y).sum().item())\n    return right\n"
)
USER = "from main import evaluate\n\n\nprint(evaluate(model, loader))\n"


@pytest.mark.parametrize(
    ("where", "bound", "most"),
    [(users, "_MOST_USERS", 2), (importers, "_MOST_READ", 2), (importers, "_MOST_FILES", 3)],
)
def test_more_users_than_can_be_asked(
    where: object, bound: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = around(tmp_path, main=EVALUATION, one=USER, two=USER, three=USER)
    (finding,) = lint(path.read_text(), path=str(path), fixes=True)
    assert finding.fixes
    monkeypatch.setattr(where, bound, most)
    importers.forget()
    bare, finding = lint(path.read_text(), path=str(path), fixes=True)
    assert (bare.code, finding.code) == (BOUND, "TLK501")
    assert bare.message.endswith(
        "more than 12 modules use it, or too many to look at"
        if where is importers
        else "more than 2 modules use it, or too many to look at"
    )
    assert finding.unfixed == "`evaluate` is used in too many modules to see whether its result is used in training"


def test_more_neighbours_than_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        "from torch.utils.data import Dataset\n\n\nclass Rows(Dataset):\n    def __init__(self, root):\n"
        "        self.rows = [line.split() for line in open(root)]\n\n"
        "    def __getitem__(self, i):\n        return len(self.rows[i])\n"
    )
    loads = "from main import Rows\nfrom torch.utils.data import DataLoader\nDataLoader(Rows(''))\n"
    path = around(tmp_path, main=rows, one=loads, two="")
    assert lint(path.read_text(), path=str(path)) == []
    monkeypatch.setattr(project, "_MOST_NEIGHBOURS", 2)
    importers.forget()
    assert said(path.read_text(), path).endswith("there are more than 2 files beside it")


def test_more_scripts_than_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photos = (
        "import cv2\nfrom torch.utils.data import Dataset\n\n\nclass Photos(Dataset):\n"
        "    def __getitem__(self, i):\n        return cv2.resize(self.photos[i], (800, 800))\n"
    )
    path = around(tmp_path, main=photos, one="import cv2\ncv2.setNumThreads(0)\n")
    assert lint(path.read_text(), path=str(path)) == []
    monkeypatch.setattr(project, "_MOST_SCRIPTS", 1)
    importers.forget()
    assert said(path.read_text(), path).endswith("its project has more than 1 scripts")


def test_names_that_go_through_many_files_are_followed_to_the_end(tmp_path: Path) -> None:
    hands = {f"m{n}": f"from m{n + 1} import *\nfrom m{n - 1 if n else 0} import *\n" for n in range(9)}
    path = around(
        tmp_path,
        main="from m0 import RecordsDataset\n\n\nclass Rows(RecordsDataset):\n    def __init__(self, root):\n"
        "        self.rows = [line.split() for line in open(root)]\n\n"
        "    def __getitem__(self, i):\n        return self.rows[i]\n",
        **hands,
        m9="from torch.utils.data import Dataset\n\n\nclass RecordsDataset(Dataset):\n    pass\n",
    )
    assert [each.code for each in lint(path.read_text(), path=str(path))] == ["TLK101", "TLK202"]


def test_devices_by_many_names(tmp_path: Path) -> None:
    text = (
        "def sample(n):\n    device = 'cpu'\n"
        + "    if n:\n        device = device if n else 'cpu'\n" * 300
        + "    device = 'cuda' if n else device\n    return torch.zeros(1).to(device)\n"
    )
    model = module(text)
    call = model.tree.all(ast.Return)[0].value
    assert isinstance(call, ast.Call)
    assert cuda_part(model, call)
    other = module(text.replace("'cuda'", "'cpu'"))
    call = other.tree.all(ast.Return)[0].value
    assert isinstance(call, ast.Call)
    assert not cuda_part(other, call)


@pytest.mark.parametrize("bound", ["_MOST_DEPTH", "_MOST_STEPS"])
def test_what_a_loss_is_made_of(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = IMPORTS + kept("last = loss" + ".neg()" * 40 + "\nlast.backward()")
    assert said(text) == ""
    monkeypatch.setattr(saving, bound, 20)
    assert "what a loss is made of goes through too many expressions" in said(text)


def test_a_name_is_looked_for_once_and_not_in_the_module_itself(tmp_path: Path) -> None:
    path = around(
        tmp_path,
        main="class Own:\n    pass\n",
        every="from none import *\nfrom main import *\nfrom every import *\nfrom one import *\n",
        none="",
        one="class One:\n    pass\n",
    )
    finder = firstparty.Finder(str(path))
    found = finder.resolve(str(path), "every.One")
    assert found is not None
    assert (Path(found[0].path).name, found[1]) == ("one.py", "One")
    assert finder.resolve(str(path), "every.One") is found
    assert finder.resolve(str(path), "every.Own") is None
    assert finder.left_out == ""


@pytest.mark.parametrize("hand_on", ["return {}(model, loader)", "keep({}(model, loader))"])
def test_callers_of_callers_that_are_too_far_may_train(hand_on: str) -> None:
    def checked(count: int) -> tuple[bool, str]:
        inner = ["evaluate", *(f"evaluate_{n}" for n in range(1, count))]
        names = "".join(
            f"\n\ndef {outer}(model, loader):\n    {hand_on.format(called)}\n" for called, outer in pairwise(inner)
        )
        text = EVALUATION + names
        (finding,) = [each for each in lint(text, fixes=True) if each.code == "TLK501"]
        return bool(finding.fixes), said(text)

    assert checked(4) == (True, "")
    fixed, bound = checked(9)
    assert not fixed, "what may train is not put under no_grad"
    assert "it is called through more than 4 functions" in bound
