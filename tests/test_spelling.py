"""Spelling laws: the base programs get the same findings in whichever words they say a fact; floors only go up.

A sample here, all of them with `-m long`; `python -m tests.laws.spelling` prints the rates and what differs.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flake8_torchleak.model.aliases import ALIASES, known_as
from flake8_torchleak.model.starred import from_star
from tests.conftest import ROOT
from tests.laws.program import Program
from tests.laws.spelling.floors import FLOORS, NEW, SAMPLED
from tests.laws.spelling.forms import FORMS
from tests.laws.spelling.table import PROGRAMS, REACHED, Spelt, cases, rates, sample, spelt
from tests.laws.spelling.ways import WAYS, other_path
from tests.laws.table import baseline
from tests.model import module


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_found_in_the_base_programs(name: str) -> None:
    text = PROGRAMS[name]
    compile(text, name, "exec", dont_inherit=True)
    marked = [
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        for code in re.findall(r"TLK\d+", line.partition("#")[2])
    ]
    assert [(min(each.origins), each.code) for each in baseline(text)] == marked


def test_a_sample_of_spellings() -> None:
    found = [spelt(*each) for each in sample(11, 250)]
    assert sum(each.same for each in found) / len(found) >= SAMPLED, "\n".join(map(shown, found))


@pytest.mark.parametrize("fact", FORMS)
def test_every_form_in_a_program_that_tells(fact: str) -> None:
    wrong = [spelt(TELLING[fact], fact, form, law) for form, law in FORMS[fact].items()]
    assert {each.spelling for each in wrong if not each.same} == LEFT.get(fact, set()), "\n".join(map(shown, wrong))


TELLING = {
    "gradients off": "gradients off in a method",
    "gradients on": "gradients on again inside",
    "cut": "loss kept detached",
    "a number": "loss added up as a number",
    "a copied array": "a copied row that is changed",
    "a clone": "cloned batches",
    "a copied dict": "a changed record",
    "a deep copy": "features of a frozen teacher",
    "evaluation mode": "outputs kept with gradients on",
    "frozen": "features of a frozen teacher",
    "differentiated": "loss kept",
    "an emptied list": "loss emptied now and then",
    "an emptied dict": "losses in a table, emptied each epoch",
    "a bounded deque": "the last ten losses",
    "a list cut short": "a list of the last ten losses",
    "closed": "an archive that is closed",
    "a closed figure": "figures that are closed",
    "one thread": "no threads in workers",
}
"""Fact -> a base program whose findings depend on it."""
LEFT = {
    "one thread": {"getattr(cv2, 'setNumThreads')(0)\n"},
    "frozen": {"list(map(lambda p: p.requires_grad_(False), X.parameters()))\n"},
    "differentiated": {"getattr(X, 'backward')()"},
    "an emptied list": {"kept.__setitem__(slice(None), [])\n", "operator.setitem(kept, slice(None), [])\n"},
}
"""What is still lost, of forms that nobody was seen to write."""


@pytest.mark.parametrize("name", ["gradients off in a caller", "the last ten losses", "a buffer of a module"])
def test_every_way_in_a_program_that_tells(name: str) -> None:
    found = [spelt(name, REACHED, way, law) for way, law in WAYS.items() if law(Program(ast.parse(PROGRAMS[name])))]
    assert all(each.same for each in found), "\n".join(map(shown, found))


@pytest.mark.long
@pytest.mark.watched
def test_all_spellings() -> None:
    found = [spelt(*each) for each in cases()]
    shares = rates(found)
    print("\n".join(f"{key}: {same}/{count}" for key, (same, count) in shares.items()))
    assert shares.keys() == FLOORS.keys()
    assert {key: each for key, each in shares.items() if each[0] / each[1] < FLOORS[key]} == {}
    assert sum(bool(each.new) for each in found) <= NEW, "\n".join(map(shown, found))


def shown(one: Spelt) -> str:
    """What differs, on a line; "" if nothing does."""
    if one.same:
        return ""
    lost, new = ([each.code for each in seen] for seen in (one.lost, one.new))
    return f"{one.name} | {one.fact}: {one.spelling!r} lost {lost}, new {new}"


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_the_forms_mean_the_same_on_the_real_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("numpy")
    from tests.laws.spelling.meaning import wrong

    assert list(wrong(str(tmp_path))) == []


# -- what the laws write ------------------------------------------------------------------------------------


PROGRAM = """\
import torch
def measure(net, rows):
    net.eval()
    with torch.no_grad():
        return net(rows)
"""
WRITTEN = {
    "renamed_module": "import torch as lib0\n\ndef measure(net, rows):\n    net.eval()\n    with lib0.no_grad():",
    "renamed_import": "from torch import no_grad as thing0\n",
    "plain_import": "    with no_grad():",
    "starred_library": "from torch import *\n",
    "local_alias": "    thing0 = torch.no_grad\n    net.eval()\n    with thing0():",
    "local_import": "    from torch import no_grad as thing0\n",
    "class_attribute": "class Tools:\n    thing0 = torch.no_grad\n",
    "by_partial": "thing0 = functools.partial(torch.no_grad)\n",
    "starred_module": "from lib import *\n",
    "through_module": "    with lib.torch.no_grad():",
    "other_path0": "    with torch.autograd.no_grad():",
    "other_path1": "    with torch.autograd.grad_mode.no_grad():",
}


@pytest.mark.parametrize("way", WRITTEN)
def test_what_a_way_writes(way: str) -> None:
    program = Program(ast.parse(PROGRAM))
    assert WAYS[way](program)
    assert WRITTEN[way] in ast.unparse(program.tree)


@pytest.mark.parametrize(
    ("fact", "form", "expected"),
    [
        ("gradients off", "@torch.no_grad()", "@torch.no_grad()\ndef measure(net, rows):\n    net.eval()\n    return"),
        (
            "gradients off",
            "torch.set_grad_enabled(False)\nBODY\n",
            "    torch.set_grad_enabled(False)\n    return net(",
        ),
        ("evaluation mode", "torch.nn.Module.train(X, False)", "    torch.nn.Module.train(net, False)\n"),
    ],
)
def test_what_a_form_writes(fact: str, form: str, expected: str) -> None:
    program = Program(ast.parse(PROGRAM))
    assert FORMS[fact][form](program) == 1
    assert expected in ast.unparse(program.tree)


def test_laws_leave_what_they_do_not_know() -> None:
    for law in (*(each for forms in FORMS.values() for each in forms.values()), other_path(7)):
        program = Program(ast.parse("import torch\nprint(torch.ones(1))"))
        assert law(program) == 0
        assert ast.unparse(program.tree) == "import torch\nprint(torch.ones(1))"
    assert REACHED not in FORMS


# -- names of one object ------------------------------------------------------------------------------------


def test_the_tables_are_what_the_installed_libraries_say() -> None:
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    from tests.laws.spelling import paths

    assert ALIASES.keys() & ALIASES.values() <= {known for known in ALIASES if ALIASES[known] == known}
    if torch.__version__.startswith("2.13") and numpy.__version__.startswith("2."):
        # In a process of its own: others of the tests put functions of theirs in the place of torch's.
        code = "import json; from tests.laws.spelling import paths; print(json.dumps(paths.aliases()))"
        shown = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, timeout=600, capture_output=True, text=True, check=True
        ).stdout
        assert json.loads(shown) == ALIASES
        for each in paths.STARRED:
            assert all(from_star([each], name) == f"{each}.{name}" for name in paths.starred(each))


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("torch.autograd.grad_mode.no_grad", "torch.no_grad"),
        ("torch.nn.modules.module.Module.eval", "torch.nn.Module.eval"),
        ("torch.ones", "torch.ones"),
        ("collections.deque", "collections.deque"),
    ],
)
def test_what_has_several_names_is_known_by_one(path: str, known: str) -> None:
    assert known_as(path) == known


STANDS_FOR = {
    "off = torch.no_grad": "torch.no_grad",
    "off: object = torch.autograd.no_grad": "torch.no_grad",
    "off = torch.no_grad if hasattr(torch, 'no_grad') else None": "torch.no_grad",
    "off = torch.no_grad if hasattr(torch, 'no_grad') else torch.autograd.no_grad": "torch.no_grad",
    "off = torch.no_grad if torch.cuda else torch.enable_grad": "",
    "off = getattr(torch, 'no_grad')": "torch.no_grad",
    "off = getattr(what, 'no_grad')": "",
    "off = collections.partial(torch.no_grad)": "torch.no_grad",
    "off = collections.partial(torch.set_grad_enabled, False)": "",
    "import importlib\noff = importlib.import_module('torch').no_grad": "torch.no_grad",
    "off = load('torch')": "",
    "try:\n    off = torch.no_grad\nexcept AttributeError:\n    off = None": "torch.no_grad",
    "off = torch.no_grad\noff = torch.enable_grad": "",
    "off = torch.no_grad()": "",
    "off: object": "",
    "off, on = torch.no_grad, 1": "",
    "(off, on), rest = torch.no_grad": "",
    "for off in torch.all: pass": "",
    "off = len": "len",
    "off = unknown": "",
    "off = [torch.no_grad][0]": "",
    "on = off\noff = on": "",
    "on = torch.no_grad\noff = on": "torch.no_grad",
}


@pytest.mark.parametrize("text", STANDS_FOR)
def test_what_a_variable_stands_for(text: str) -> None:
    model = module(f"{text}\noff")
    last = model.root.body[-1]
    assert isinstance(last, ast.Expr)
    assert model.names.qualname(last.value) == STANDS_FOR[text]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("class Tools:\n    off = torch.no_grad\nTools.off", "torch.no_grad"),
        ("class Tools:\n    off = torch.no_grad\nTools.on", ""),
        ("Tools = 1\nTools.off", ""),
        ("from torch import *\nfrom torch.nn import *\nLinear", "torch.nn.Linear"),
        ("from torch import *\nfrom torch.nn import *\nno_grad", "torch.no_grad"),
        ("from torch import *\nprint", "print"),
        ("from torch import *\nunknown.part", "unknown.part"),
    ],
)
def test_what_classes_and_stars_give(text: str, known: str) -> None:
    model = module(text)
    last = model.root.body[-1]
    assert isinstance(last, ast.Expr)
    assert model.names.qualname(last.value) == known
