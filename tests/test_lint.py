"""`lint` itself: which texts it looks into, and what becomes of a rule that fails."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace

import pytest

import flake8_torchleak.lint
from flake8_torchleak.config import Config
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.world import ClassInfo, Place
from flake8_torchleak.lint import lint
from flake8_torchleak.model.classes import ClassTable
from flake8_torchleak.model.classfacts import ClassFacts
from flake8_torchleak.model.flow import Flow
from flake8_torchleak.model.infer import Infer
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.tree import Tree
from flake8_torchleak.rule import Report, all_rules
from tests.conftest import LEAK
from tests.model import dataset


def fail(module: Module) -> Iterator[Report]:
    """A check that fails after its first report."""
    yield Report(module.root, "lost with the rest")
    raise LookupError("no\nluck")


def test_a_rule_that_fails_costs_one_finding_and_no_other_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tuple(replace(each, check=fail) if each.code == "TLK402" else each for each in all_rules())
    monkeypatch.setattr(flake8_torchleak.lint, "all_rules", lambda: rules)
    monkeypatch.setattr(flake8_torchleak.lint, "reraise", False)
    found = {each.code: each.message for each in lint(LEAK)}
    assert found["TLK000"] == "internal error in TLK402: LookupError: no luck"
    assert "TLK401" in found
    monkeypatch.setattr(flake8_torchleak.lint, "reraise", True)
    with pytest.raises(LookupError):
        lint(LEAK)


@pytest.mark.parametrize(
    ("imports", "looked_into"),
    [
        ("import torch", True),
        ("import tensorflow", False),
        ("import tensorflow, torch", True),
        ("import jax\nimport lightning", True),
        ("", True),
    ],
)
def test_code_of_other_frameworks_is_not_looked_into(imports: str, looked_into: bool) -> None:
    assert bool(lint(LEAK.replace("import torch", imports + "  # torch"))) is looked_into


@pytest.mark.parametrize(("base", "found"), [("Corpus", True), ("corpora.Corpus", True), ("Other", False)])
def test_a_configured_base_makes_a_dataset_by_its_last_name(base: str, found: bool) -> None:
    text = "import glob, corpora\nfrom corpora import Corpus, Other\n" + dataset(
        "self.data = glob.glob(root)", base=base
    )
    config = Config(dataset_bases=("corpora.Corpus",))
    assert (["TLK101"] if found else []) == [each.code for each in lint("import torch  # Dataset\n" + text, config)]


def test_a_configured_base_passes_the_gate_without_any_word_of_torch() -> None:
    text = """\
import glob
from project.data import CropSet

class Crops(CropSet):
    def __init__(self, root):
        self.paths = sorted(glob.glob(root))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return read(self.paths[i])
"""
    assert lint(text) == []
    found = lint(text, Config(dataset_bases=("project.data.CropSet",)))
    assert [(each.code, each.span.line) for each in found] == [("TLK101", 6)]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "TLK905",
            "with torch.no_grad():\n    for x in loader:\n        kept.append(model(x.cuda(non_blocking=True)))\n",
        ),
        ("TLK906", "for _ in range(steps):\n    x = next(iter(loader))\n"),
        ("TLK906", "while steps:\n    x = next(\n        iter(loader)\n    )\n"),
        ("TLK905", "with torch.no_grad():\n    for x in dl:\n        kept.append(model(x.to('cuda')))\n"),
        (
            "TLK603",
            "class Exp(torch.autograd.Function, Named):\n"
            "    @staticmethod\n    def setup_context(ctx, inputs, output):\n        ctx.output = output\n",
        ),
        ("TLK405", "from torch.utils.data import DataLoader\nbatches = DataLoader(data)\nfirst = list(batches)[0]\n"),
        ("TLK501", "for x in data:\n    kept = softmax(model.eval()(x))\n"),
        ("TLK501", "for x in data:\n    with model.eval(), log():\n        kept = model(x)\n"),
    ],
    ids=[
        "copied without waiting",
        "a loop over a range",
        "over several lines",
        "a short name",
        "a second base",
        "any name",
        "inside an expression",
        "in a header",
    ],
)
def test_the_gate_lets_through_what_it_lost_once(code: str, text: str) -> None:
    assert [each.code for each in lint(f"import torch\n{text}")] == [code]


FREED = (Module, Tree, Infer, Flow, ClassTable, ClassFacts, Run, Part, Place, ClassInfo)
CLASSES = f"""{LEAK}
class Net(nn.Module):
    def forward(self, x):
        return self.last(x)

class Wide(Net):
    def last(self, x):
        return x

class Files(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.paths = list(paths)
        self.known = {{}}

    def __getitem__(self, index):
        self.known[index] = open(self.paths[index])
        return self.known[index].read()
"""


def test_a_program_is_followed_once_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Run] = []
    begin = Run.__init__

    def noting(self: Run) -> None:
        begun.append(self)
        begin(self)

    monkeypatch.setattr(Run, "__init__", noting)
    assert lint(LEAK)
    assert len(begun) == 1


@pytest.mark.parametrize("text", [LEAK, CLASSES])
def test_nothing_waits_for_the_garbage_collector(text: str) -> None:
    def alive() -> list[object]:
        return [each for each in gc.get_objects() if isinstance(each, FREED)]

    lint(text)  # what is imported, and kept on purpose
    gc.collect()
    gc.disable()
    try:
        before = alive()  # of other tests, in whose process this one runs
        lint(text)
        assert [each for each in alive() if not any(each is other for other in before)] == []
    finally:
        gc.enable()
