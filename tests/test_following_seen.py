"""Following a program: caches and decorators of other files, steps that a generator makes, batches of one pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from tests.kept import marked, program, reported, training

# -- decorators ---------------------------------------------------------------------------------------------

CACHE = "import functools\n@functools.lru_cache(maxsize={})\ndef scaled(value): return value / 4\n"


@pytest.mark.parametrize(("size", "found"), [("None", True), ("8", False)])
def test_caches_of_other_files(tmp_path: Path, size: str, found: bool) -> None:
    (tmp_path / "scaling.py").write_text(CACHE.format(size))
    text = training("scaling.scaled(loss)" + "  # TLK402" * found, "import scaling").replace(", functools", "")
    (tmp_path / "main.py").write_text(text)
    assert reported(text, str(tmp_path / "main.py")) == marked(text)


LOGGED = """
def no_grad_log(step):
    rows = []
    def logged(*args):
        {}
            value = step(*args)
        rows.append(value){}
        return value
    return logged

def validate(model, loader, criterion):
    model.eval()
    @no_grad_log
    def one(x, y):
        return criterion(model(x), y)
    for x, y in loader:
        one(x, y)
"""


@pytest.mark.parametrize(("block", "mark"), [("if True:", "  # TLK402"), ("with torch.no_grad():", "")])
def test_what_a_decorator_does_counts_and_not_its_name(block: str, mark: str) -> None:
    text = program(LOGGED.format(block, mark))
    assert reported(text) == marked(text)


# -- steps that a generator makes -----------------------------------------------------------------------------

STEPS = """
def train(model, loader, criterion, optimizer):
    def step(x, y):
        STEP
        return loss{}
    mean = 0.0
    for value in (step(x, y) for x, y in loader):
        mean = mean - 0.1 * (mean - value)  # TLK401
"""


def test_a_sum_over_steps_of_a_generator() -> None:
    text = program(STEPS.format(""))
    assert reported(text) == marked(text)
    assert reported(program(STEPS.format(".item()"))) == []


# -- batches: those of one pass are let go behind it ------------------------------------------------------------

PASS = """
def labels_of(dataset, store, epochs):
    loader = DataLoader(dataset, batch_size=8, num_workers=2)
    {}
"""
BATCHES = {
    "of one pass": ("kept = []\nfor x, y in loader:\n    kept.append(y.numpy())\nprint(len(kept))", "note"),
    "of one pass, by a helper": (
        "kept = []\nfor x, y in loader:\n    keep(kept, y.numpy())\nprint(len(kept))",
        "note",
    ),
    "of each epoch": (
        "for _ in range(epochs):\n    kept = []\n    for x, y in loader:\n        kept.append(y.numpy())\n"
        "    print(np.concatenate(kept))",
        "note",
    ),
    "of all epochs": (
        "kept = []\nfor _ in range(epochs):\n    for x, y in loader:\n        kept.append(y.numpy())",
        "error",
    ),
    "returned": ("kept = []\nfor x, y in loader:\n    kept.append(y.numpy())\nreturn kept", "error"),
    "stored elsewhere": ("for x, y in loader:\n    store.append(y.numpy())", "error"),
    "put away": ("kept = []\nstore.append(kept)\nfor x, y in loader:\n    kept.append(y.numpy())", "error"),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name: str) -> None:
    body, level = BATCHES[name]
    text = program("def keep(store, value): store.append(value)" + PASS.format(body.replace("\n", "\n    ")))
    assert [each.severity.value for each in lint(text) if each.code == "TLK404"] == [level]


# -- exceptions -----------------------------------------------------------------------------------------------

CHECKED = """
def check(loss):
    {}

def checked(loss):
    check(loss)

def train(model, loader, optimizer):
    failed = []
    for x, y in loader:
        try:
            loss = model(x, y).mean()
            checked(loss)
            if len(x) < 2:
                raise KeyError("small")
            loss.backward()
        except KeyError as error:
            failed.append(error){}
"""


@pytest.mark.parametrize(("body", "mark"), [('raise KeyError("no")', "  # TLK408"), ("print(loss)", "")])
def test_exceptions_of_what_helpers_call(body: str, mark: str) -> None:
    text = program(CHECKED.format(body, mark))
    assert reported(text) == marked(text)


RETRIED = """
def train(model, other, loader, optimizer):
    for x in loader:
        try:
            loss = model(x).mean()
        except torch.cuda.OutOfMemoryError:
            again = {}
            loss = again(x.half()).mean(){}
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("what", "mark"), [("model", "  # TLK408"), ("other.model", ""), ("nn.Linear(2, 1)", "")])
def test_what_is_tried_again_under_another_name(what: str, mark: str) -> None:
    text = program(RETRIED.format(what, mark))
    assert reported(text) == marked(text)


# -- loops that do nothing but put batches into a list (TLK405) ---------------------------------------------------

LOOPS = {
    "whole": ("for batch in loader:\n        kept.append(batch)", True),
    "in parts": ("for x, y in loader:\n        kept.append((x, y))", True),
    "a number": ("for x, y in loader:\n        kept.append(len(x))", False),
    "made of it": ("for batch in loader:\n        kept.append(use(batch))", False),
    "until there are enough": ("for batch in loader:\n        kept.append(batch)\n        if kept[2:]: break", False),
    "other things": ("for path in files:\n        kept.append(path)", False),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_that_only_append(name: str) -> None:
    loop, found = LOOPS[name]
    head = "def collect(dataset, files, use):\n    loader, kept = DataLoader(dataset, num_workers=2), []\n    "
    assert ("TLK405" in {each.code for each in lint(program(head + loop))}) is found
