"""Of several remedies a message names the one that is right in that code: it is written there, run and linted."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.shells.pages import page
from tests.model import IMPORTS, dataset, messages, step
from tests.test_fixtures import FIXTURES
from tests.test_messages_pasted import run, said

LOADERS = """
def train(model, pool, optimizer, steps, data):
    for step in range(steps):
        {before}
        loader = DataLoader({arguments}num_workers=2)
        loss = sum(model(x).mean() for x in loader)
        loss.backward()
        optimizer.step()
"""
ONCE = "make it once, before the loop, with `persistent_workers=True`"
HERE = "its data is new each time: pass `num_workers=0`"
RECREATED = {
    "the same data": ("pass", "data, ", ONCE),
    "that keep their workers": ("pass", "data, persistent_workers=True, ", "make it once, before the loop"),
    "of a Dataset class": ("pass", "torch.utils.data.TensorDataset(data), ", ONCE),
    "by the loop's variable": ("pass", "pool[step], ", HERE),
    "drawn": ("pass", "pool.sample(), ", HERE),
    "made in the step": ("data = pool + data", "data, ", HERE),
    "changed in the step": ("data.append(pool)", "data, ", HERE),
    "with what workers need": (
        "pass",
        "pool[step], persistent_workers=True, timeout=9, ",
        f"{HERE}, without `persistent_workers`, `timeout`",
    ),
}


@pytest.mark.parametrize(("before", "arguments", "advice"), RECREATED.values(), ids=RECREATED)
def test_a_loader_is_made_once_only_where_its_data_stays(before: str, arguments: str, advice: str) -> None:
    text = LOADERS.format(before=before, arguments=arguments)
    assert said(text, "TLK906") == f"workers start again in every step: the DataLoader is made in the loop; {advice}"
    if HERE in advice:
        kept = arguments.replace("persistent_workers=True, timeout=9, ", "")
        assert not messages(IMPORTS + text.replace(f"{arguments}num_workers=2", f"{kept}num_workers=0"), "TLK906")


STEP = """
class Task(LightningModule):
    def training_step(self, batch, batch_idx):
        {}
        return self.model(batch, x)
"""


def test_what_a_step_method_makes_is_made_outside_of_it() -> None:
    made = said(STEP.format("x = [*DataLoader(self.data, num_workers=2)]"), "TLK906")
    assert made.endswith(
        "made in `training_step`; make it once, outside `training_step`, with `persistent_workers=True`"
    )
    drawn = said(STEP.format("x = next(iter(self.loader))"), "TLK906")
    assert drawn.endswith("; outside `training_step` `it = chain.from_iterable(cycle([self.loader]))`, then `next(it)`")


def classes() -> str:
    """The classes that the page of TLK101 shows, to be pasted."""
    return dedent(page("TLK101").partition("all texts or all numbers:\n")[2].partition("Unsafe, for")[0])


HELD = {
    "texts": ("[line.strip() for line in open(root)]", "self.data[i]", "PackedRecords(...)"),
    "names of files": ("sorted(os.listdir(root))", "self.data[i]", "np.array([s.encode() for s in ...])"),
    "names by way of a variable": ("names(root)", "self.data[i]", "np.array([s.encode() for s in ...])"),
    "joined words": ("[' '.join(line) for line in open(root)]", "self.data[i]", "PackedRecords(...)"),
    "paths beside a file": (
        "[Path(root).parent / each for each in open(root)]", "self.data[i]", "`Path(x.decode())` at the read",
    ),
    "a parsed list": ("json.load(open(root))", "self.data[i]", "PackedRecords(...)"),
    "a parsed dict": ("json.load(open(root))", "self.data[str(i)]", "PackedDict(...)"),
    "a parsed dict, by its method": ("json.load(open(root))", "self.data.get(key(i))", "PackedDict(...)"),
    "a part of a parsed dict": (
        "json.load(open(root))", "self.data['rows'][str(i)]", "keep only `PackedDict(self.data['rows'])`",
    ),
    "a list in a parsed dict": (
        "json.load(open(root))", "self.data['rows'][i]", "keep only `PackedRecords(self.data['rows'])`",
    ),
    "a list that is counted": (
        "json.load(open(root))", "self.data['rows'][key(i)], len(self.data['rows'])",
        "keep only `PackedRecords(self.data['rows'])`",
    ),
    "a list beside other entries": (
        "json.load(open(root))", "self.data['rows'][i], self.data['name']",
        "set `self.data['rows'] = PackedRecords(...)`",
    ),
    "a dict beside other entries": (
        "json.load(open(root))", "self.data['rows'][key(i)], self.data['name']",
        "set `self.data['rows'] = PackedDict(...)`",
    ),
    "two entries": ("json.load(open(root))", "self.data['rows'][i], self.data['names'][i]", "`PackedDict(...)`"),
    "asked for a text": ("json.load(open(root))", "'rows' in self.data and self.data[key(i)]", "`PackedDict(...)`"),
    "parsed, and no more known": ("json.load(open(root))", "self.data[key(i)]", "PackedRecords, of a dict PackedDict"),
    "a dict of records": ("{str(n): {'a': n} for n in open(root)}", "self.data[str(i)]", "PackedDict(...)"),
    "columns": (
        "{name: [each for each in open(root)] for name in names}", "self.data[key(i)][i]",
        "{k: PackedRecords(v) for k, v in x.items()}",
    ),
    "columns that are gone over": (
        "{name: [each for each in open(root)] for name in names}", "[rows[i] for rows in self.data.values()]",
        "{k: PackedRecords(v) for k, v in x.items()}",
    ),
    "a few rows by key": (
        "{name: [each for each in open(root)] for name in names}", "self.data[key(i)][i : i + 2]", "PackedDict(...)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "read", "stored"), HELD.values(), ids=HELD)
def test_what_to_store_goes_by_what_is_held_and_how_it_is_read(data: str, read: str, stored: str) -> None:
    init = f"names = sorted(glob.glob(root))\nself.data = {data.replace('names(root)', '[each for each in names]')}"
    (finding,) = [each for each in lint(IMPORTS + dataset(init, f"return {read}")) if each.code == "TLK101"]
    assert stored in finding.message


def test_an_argument_whose_items_are_asked_for_is_a_dict() -> None:
    init = "self.data = data\nself.names = sorted(name for name, each in data.items() if each)"
    found = messages(IMPORTS + dataset(init, "return self.data[self.names[i]]"), "TLK101")
    assert "store `PackedDict(...)` (read-only dict: `torchleak explain TLK101`)" in found[0]


ADDED = {
    "in another method": (
        "def add(self, x):\n    self.data.append(x)",
        "read from a `PackedRecords(...)` made each epoch",
    ),
    "by what the constructor runs": ("def fill(self, x):\n    self.data.append(x)", "store `PackedRecords(...)`"),
    "an edit of an element": ("def edit(self, i):\n    self.data[i].append(1)", "store `PackedRecords(...)`"),
}


@pytest.mark.parametrize(("rest", "advice"), ADDED.values(), ids=ADDED)
def test_what_grows_later_is_packed_for_each_epoch(rest: str, advice: str) -> None:
    init = "self.data = [[line] for line in open(root)]\nself.fill(root)"
    (message,) = messages(IMPORTS + dataset(init, "return self.data[i]", rest), "TLK101")
    assert f"; {advice}" in message


def test_columns_that_are_packed_give_the_same_samples() -> None:
    pytest.importorskip("torch")
    init = "self.data = {name: [int(n) for n in open(root)] for name in 'ab'}"
    text = dataset(init, "return {name: rows[i] for name, rows in self.data.items()}")
    (code,) = re.findall("store `(.*?)`", said(text, "TLK101"))
    assert code.endswith("in x.items()}")
    remedied = (
        f"{classes()}\n{dataset(f'x{init[9:]}{chr(10)}self.data = {code}', text.partition('(self, i):')[2].strip())}"
    )
    assert not messages(IMPORTS + remedied, "TLK101")
    named: dict[str, Any] = run(remedied, open=lambda _: ["1", "2", "3"])
    rows = named["Rows"]("", None)
    assert [rows[i] for i in range(3)] == [{"a": n, "b": n} for n in (1, 2, 3)]


TENSORS = {
    "tensors": ("torch.load(f)", "store `torch.stack(...)`; if lengths differ", "`self.data = torch.stack"),
    "a field": (
        "{'n': 1, 'x': torch.tensor(f)}", "move them to `torch.stack([s['x'] for s in ...])`",
        "one tensor for `['x']` of all",
    ),
    "an element": ("(1, torch.tensor(f))", "move them to `torch.stack([s[1] for s in ...])`", "one tensor for `[1]`"),
    "two": (
        "(torch.tensor(f), torch.tensor(f))", "move each field to `torch.stack([s[0] for s in ...])`",
        "for `[0]` and one for `[1]` of all",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("element", "advice", "remedy"), TENSORS.values(), ids=TENSORS)
def test_records_have_one_tensor_for_a_field(element: str, advice: str, remedy: str) -> None:
    text = IMPORTS + dataset(f"self.data = [{element} for f in glob.glob(root)]")
    (finding,) = [each for each in lint(text) if each.code == "TLK103"]
    assert f"; {advice}" in finding.message
    assert remedy in finding.remedy


RETURNED = """
class Stream(IterableDataset):
    def __init__(self, data: list):
        self.data = data

    def __iter__(self):
        {}
"""


def test_an_iterator_that_is_returned_is_divided_whole() -> None:
    torch = pytest.importorskip("torch")
    text = RETURNED.format("return (each * 2 for each in self.data)")
    cut, info = re.findall("`(.*?)`", said(text, "TLK303"))[1:]
    divided = f"{info}\n        return {cut.replace('...', '(each * 2 for each in self.data)')}"
    remedied = "from itertools import islice\nfrom torch.utils.data import get_worker_info\n" + RETURNED.format(divided)
    assert not messages(IMPORTS + remedied, "TLK303")
    made = run(remedied, IterableDataset=torch.utils.data.IterableDataset)["Stream"](list(range(7)))
    assert sorted(made) == [0, 2, 4, 6, 8, 10, 12]
    loader = torch.utils.data.DataLoader(made, batch_size=None, num_workers=2, multiprocessing_context="fork")
    assert sorted(loader) == sorted(made)


STARTS = {
    "a short one": ("loss", "and start with `loss.detach()`"),
    "a long one": ("F.cross_entropy(model(x), y)", "and where it starts too"),
}


@pytest.mark.parametrize(("first", "advice"), STARTS.values(), ids=STARTS)
def test_an_average_starts_without_a_graph_too(first: str, advice: str) -> None:
    body = f"total = {first} if total is None else 0.9 * total + {{}}"
    found = said(step(body.format("0.1 * loss")).replace("total, kept = 0", "total, kept = None"), "TLK401")
    assert found.endswith(f"; in the sum write `(0.1 * loss).detach()`, {advice}")


def test_an_average_that_starts_with_a_graph_keeps_a_chain() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(1, requires_grad=True)
    chained: Any = None
    detached: Any = None
    for _ in range(3):
        loss = weight * 2
        chained = loss if chained is None else 0.9 * chained + (0.1 * loss).detach()
        detached = loss.detach() if detached is None else 0.9 * detached + (0.1 * loss).detach()
    assert chained.requires_grad
    assert not detached.requires_grad


GUEST = """
class Watch:
    def __init__(self, model):
        {first}
        for part in model.children():
            {registered}
{close}
"""


def test_all_hooks_of_an_object_are_removed() -> None:
    torch = pytest.importorskip("torch")
    call = "part.register_forward_hook(print)"
    found = said(GUEST.format(first="pass", registered=call, close=""), "TLK604")
    kept, removed = re.findall("`(self.*?|for.*?)`", found)
    close = f"    def close(self):\n        {removed}\n"
    remedied = GUEST.format(first=f"{kept} = []", registered=f"{kept}.append({call})", close=close)
    assert not messages(IMPORTS + remedied, "TLK604")
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.ReLU())
    run(remedied)["Watch"](model).close()
    assert not any(part._forward_hooks for part in model)


OPENED = {
    "a part of the object": (
        "self.link = sqlite3.connect(root)\nself.data = self.link.cursor()",
        "in `__init__` close `self.link`, set both None; reopen both in `__getitem__`",
    ),
    "a part of a variable": (
        "link = sqlite3.connect(root)\nself.data = link.cursor()",
        "in `__init__` close `link`, set `self.data` None; reopen in `__getitem__`",
    ),
}


@pytest.mark.parametrize(("init", "advice"), OPENED.values(), ids=OPENED)
def test_what_was_opened_is_closed_with_what_it_gave(init: str, advice: str) -> None:
    text = dataset(init, "return self.data.execute('select 1').fetchall()").replace("len(self.data)", "9")
    assert said(f"import sqlite3\n{text}", "TLK105").endswith(f"; {advice}")


def test_a_stream_is_opened_whenever_it_is_read() -> None:
    text = "class Lines(IterableDataset):\n    def __init__(self, path):\n        self.data = open(path)\n"
    text += "    def __iter__(self):\n        w = torch.utils.data.get_worker_info()\n"
    text += "        yield from itertools.islice(self.data, w.id, None, w.num_workers)\n"
    assert said(text, "TLK105").endswith("; in `__init__` close it; open it in `__iter__`")
    video = text.replace("open(path)", "decord.VideoReader(path)")
    assert said(f"import decord\n{video}", "TLK105").endswith("; in `__init__` do not open it; open it in `__iter__`")


def test_a_long_state_is_detached_in_words() -> None:
    (fixture,) = FIXTURES.glob("TLK406*/bad_language_model.py")
    text = fixture.read_text(encoding="utf-8")
    (short,) = messages(text, "TLK406")
    assert short.endswith("; end each batch by detaching it, a tuple by `tuple(s.detach() for s in state)`")
    (long,) = messages(re.sub(r"\bstate\b", "state_of_the_whole_decoder", text), "TLK406")
    assert long.endswith("; end each batch by detaching it, or each tensor of it")
