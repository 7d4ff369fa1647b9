"""The code that messages show is pasted, runs, silences the finding, and leaves samples and batches what they were."""

from __future__ import annotations

import random
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from flake8_torchleak.lint import lint
from tests.model import IMPORTS, dataset, messages, step


def said(text: str, code: str) -> str:
    """The one message of a rule about a text that has no imports yet."""
    (message,) = messages(IMPORTS + text, code)
    return message


def run(text: str, **given: Any) -> dict[str, Any]:
    """The names of a text that was run with torch, NumPy and what else it is given."""
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    data = torch.utils.data
    namespace: dict[str, Any] = {"np": np, "torch": torch, "Dataset": data.Dataset, "DataLoader": data.DataLoader}
    namespace |= given
    exec(compile(text, "pasted.py", "exec"), namespace)
    return namespace


GROWING = {
    "numbers": "self.seen.append(i)",
    "a list that is joined": "self.seen += [i]",
}


@pytest.mark.parametrize("grows", GROWING.values(), ids=GROWING)
def test_the_newest_entries_of_a_log_are_kept(grows: str) -> None:
    def text(after: str) -> str:
        return dataset("self.data = np.arange(5000)\nself.seen = []", f"{grows}\n{after}\nreturn self.data[i]")

    message = said(text(""), "TLK104")
    statement = re.findall("keep the newest 1000: after it, `(.*?)`$", message)[0]
    assert statement == "del self.seen[:-1000]"
    assert not messages(IMPORTS + text(statement), "TLK104")
    rows = run(text(statement))["Rows"](None, None)
    assert [int(rows[i]) for i in range(2000)] == list(range(2000))
    assert rows.seen == list(range(1000, 2000))


def test_of_a_list_of_slots_nothing_is_dropped() -> None:
    text = dataset(
        "self.data = np.arange(9)\nself.slots = [None] * len(root)",
        "if self.slots[i] is None:\n    self.slots[i] = [float(self.data[i])]\nreturn self.slots[i]",
    )
    assert said(text, "TLK104").endswith("; do without it, and make each entry anew")


def test_a_deque_has_a_bound_of_its_own() -> None:
    text = dataset("self.data = np.arange(9)\nself.seen = collections.deque()", "self.seen.append(self.data[i].copy())")
    assert said(text, "TLK104").endswith("; make it with `maxlen=1000`")
    assert not messages(IMPORTS + text.replace("deque()", "deque(maxlen=1000)"), "TLK104")


def test_a_very_long_name_is_not_shown_twice() -> None:
    name = "self.numbers_of_all_samples_that_were_read_so_far"
    text = dataset(f"self.data = np.arange(9)\n{name} = []", f"{name}.append(i)")
    assert said(text, "TLK104").endswith("; keep the newest 1000 entries only")


FILES = {
    "in no other place": ("self.count = 9", "return self.count", "close it, set it None"),
    "for the length": ("pass", "return len(self.file['x'])", "store the length, close it, set it None"),
}


@pytest.mark.parametrize(("init", "length", "advice"), FILES.values(), ids=FILES)
def test_a_shared_file_is_closed_when_what_is_asked_of_it_is_known(init: str, length: str, advice: str) -> None:
    text = """
    class Rows(Dataset):
        def __init__(self, path):
            self.path = path
            self.file = h5py.File(path, "a")
            {init}

        def __len__(self):
            {length}

        def __getitem__(self, i):
            {sample}
            return self.file["x"][i]
    """
    found = said("import h5py\n" + dedent(text.format(init=init, length=length, sample="pass")), "TLK105")
    assert found == (
        f"workers fail or read wrong data: all share `self.file` (HDF5 file); in `__init__` {advice}; if None reopen "
        "it in `__getitem__`"
    )
    closed = "self.count = len(self.file['x']); self.file.close(); self.file = None"
    opened = "self.file = self.file or h5py.File(self.path, 'a')"
    remedied = dedent(text.format(init=closed, length="return self.count", sample=opened))
    assert not messages(f"{IMPORTS}import h5py\n{remedied}", "TLK105")


def test_a_video_has_no_close() -> None:
    text = dataset("self.data = decord.VideoReader(root)", "return self.data[i].asnumpy()")
    assert "; in `__init__` store its length, set it None; if None reopen " in said(f"import decord\n{text}", "TLK105")


EARLY = """\
import sqlite3


class Rows(Dataset):
    def __init__(self):
        self.link = None
        self.columns = self.ask("select 1")
        {last}

    def ask(self, text):
        if self.link is None:
            self.link = sqlite3.connect(":memory:")
        return self.link.execute(text).fetchall()

    def __len__(self):
        return 9

    def __getitem__(self, i):
        return self.ask(f"select {{i}}")[0]
"""


def test_a_connection_that_is_opened_too_early_is_dropped() -> None:
    statement, opens = re.findall("end it by `(.*?)`, `(.*?)` reopens it$", said(EARLY.format(last="pass"), "TLK105"))[
        0
    ]
    assert opens == "ask"
    remedied = EARLY.format(last=statement)
    assert statement == "self.link.close(); self.link = None"
    assert not messages(IMPORTS + remedied, "TLK105")
    rows = run(remedied)["Rows"]()
    assert rows.link is None
    assert rows[3] == (3,)


STREAM = """\
class Stream(IterableDataset):
    def __init__(self, data: list):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        w = torch.utils.data.get_worker_info()
        {body}
"""
READ = "with open(self.data) as file:\n    rows = file.read().split()"
STREAMS = {
    "samples": ("for x in self.data:\n    yield x", "for n, x in enumerate(self.data):\n    if {}:\n        yield x"),
    "indices": (
        "order = list(range(len(self)))\nrandom.shuffle(order)\nfor i in order:\n    yield self.data[i]",
        "order = list(range(len(self)))\nrandom.shuffle(order)\n"
        "for i in order:\n    if {}:\n        yield self.data[i]",
    ),
    "shuffled": (
        f"{READ}\nrandom.shuffle(rows)\nfor x in rows:\n    yield int(x)",
        f"{READ}\n{{}}\nrandom.shuffle(rows)\nfor x in rows:\n    yield int(x)",
    ),
}


def stream(body: str) -> str:
    return STREAM.format(body=body.replace("\n", f"\n{' ' * 8}"))


@pytest.mark.parametrize(("body", "divided"), STREAMS.values(), ids=STREAMS)
def test_workers_that_share_a_stream_out_give_each_sample_once(body: str, divided: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    whole = stream(body).replace("        w = torch.utils.data.get_worker_info()\n", "")
    division, info = re.findall("`(.*?)`", said(whole, "TLK303"))[1:]
    assert info == "w = get_worker_info()"
    remedied = stream(divided.format(division))
    assert not messages(IMPORTS + remedied, "TLK303")
    samples = list(range(11))
    path = tmp_path / "numbers"
    path.write_text("\n".join(map(str, samples)))
    named = run(remedied, random=random, IterableDataset=torch.utils.data.IterableDataset)
    made = named["Stream"](path if "open(" in body else samples)
    assert sorted(made) == samples
    loader = torch.utils.data.DataLoader(made, batch_size=None, num_workers=2, multiprocessing_context="fork")
    assert sorted(loader) == samples


def test_a_long_source_is_named_by_its_function() -> None:
    text = stream("for line in open(self.path_of_the_lines, encoding='utf-8'):\n    yield line")
    whole = text.replace("        w = torch.utils.data.get_worker_info()\n", "")
    assert "each reads all of `open(...)`; do the n-th yield only if `" in said(whole, "TLK303")


BATCHES = {
    "in a loop": ("kept = []\n    for batch in loader:\n        kept.append({})", "batch"),
    "in a comprehension": ("kept = [{} for batch in loader]", "batch"),
    "parts": ("kept = [{} for x, y in loader]", "(x, y)"),
}


@pytest.mark.parametrize(("body", "batch"), BATCHES.values(), ids=BATCHES)
def test_deep_copies_of_batches_are_in_no_shared_memory(body: str, batch: str) -> None:
    made = "data = torch.utils.data.TensorDataset(torch.arange(8.0), torch.arange(8))\n"
    made += "loader = DataLoader(data, batch_size=4, num_workers=1)\n"
    text = f"{made}\n\ndef collect(loader):\n    {{}}\n    return kept\n"
    (code,) = re.findall("store `(.*?)`$", said(text.format(body.format(batch)), "TLK404"))
    assert code == f"copy.deepcopy({batch})"
    remedied = text.format(body.format(code))
    assert not messages(IMPORTS + remedied, "TLK404")
    named = run(f"import copy\n{remedied}".replace("workers=1", "workers=1, multiprocessing_context='fork'"))
    kept, as_it_was = named["collect"](named["loader"]), list(named["loader"])
    assert [[each.tolist() for each in x] for x in kept] == [[each.tolist() for each in x] for x in as_it_was]
    assert {each.is_shared() for x in kept for each in x} == {False}
    assert {each.is_shared() for x in as_it_was for each in x} == {True}


def test_what_is_kept_by_a_longer_way_is_copied_in_words() -> None:
    helper = "def put(kept, x):\n    kept.append(x)\n\n\n"
    loop = "def collect(data):\n    kept = []\n    loader = DataLoader(data, num_workers=2)\n    for x in loader:\n"
    found = said(f"{helper}{loop}        put(kept, x)\n    return kept\n", "TLK404")
    assert found.endswith(" as workers send them; store deep copies of them (`copy.deepcopy`)")


SAMPLES = {
    "an element": ("np.load(root)", "self.data[i]", "return `self.data[i].copy()`"),
    "a tensor": ("torch.from_numpy(np.load(root))", "self.data[i]", "return `self.data[i].clone()`"),
    "much": ("torch.from_numpy(np.load(root))", "self.data[i : i + 8].view(2, -1, 4)", "return it with `.clone()`"),
    "what is cut": ("np.load(root)", "self.data[i * self.length_of_one : (i + 1) * self.length_of_one]",
                    "return it with `.copy()`"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "sample", "advice"), SAMPLES.values(), ids=SAMPLES)
def test_a_view_is_copied_in_code_that_is_whole(data: str, sample: str, advice: str) -> None:
    text = dataset(f"self.data = {data}", f"return {sample}")
    assert said(text, "TLK201").rpartition("; ")[2] == advice
    method = ".copy()" if ".copy()" in advice else ".clone()"
    assert not messages(IMPORTS + text.replace(sample, sample + method), "TLK201")


def test_an_average_keeps_its_factors() -> None:
    text = step("total = 0.9 * total + 0.1 * loss", after="print(total)")
    (code,) = re.findall("; in the sum write `(.*?)`", said(text, "TLK401"))
    assert code == "(0.1 * loss).detach()"
    assert not messages(IMPORTS + text.replace("0.1 * loss", code), "TLK401")


MEAN = """\
class Mean:
    def __init__(self):
        self.total = 0

    def __call__(self, value):
        self.total += value


meters = {'loss': Mean()}
"""


def test_a_meter_is_shown_as_it_is_called() -> None:
    text = MEAN + step("meters['loss'](loss)", after="print(meters)")
    assert "`meters['loss']` (Mean) keeps `loss`" in said(text, "TLK403")


def test_tensors_by_key_are_stacked_and_found_by_key() -> None:
    made = "self.data = {i * 7: torch.full((2,), i) for i in range(len(root))}"
    text = dataset(made, "return self.data[i * 7] + 0")
    assert said(text, "TLK103").endswith("; store one `torch.stack(...)` of its values, and each key's row")
    (finding,) = [each for each in lint(IMPORTS + text) if each.code == "TLK103"]
    rows, stacked, read = re.findall("`(.*?)`", finding.remedy)
    assert read == "self.data[self.rows[key]]"
    remedied = dataset(f"{made}\n{rows}\n{stacked}", "key = i * 7\nreturn self.data[self.rows[key]] + 0")
    assert not messages(IMPORTS + remedied, "TLK103")
    before, after = (run(each)["Rows"]("abc", None) for each in (text, remedied))
    assert [after[i].tolist() for i in range(3)] == [before[i].tolist() for i in range(3)]
