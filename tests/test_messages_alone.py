"""A message that is read alone, without its file, says where its code goes; it is put there, run and linted."""

from __future__ import annotations

import re
from typing import Any

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.wording import fitting
from tests.model import IMPORTS, dataset, messages
from tests.test_fixtures import FIXTURES
from tests.test_messages_chosen import classes
from tests.test_messages_pasted import run, said


def test_the_first_advice_that_fits_is_given() -> None:
    assert fitting("head", "a" * 154, "b") == f"head; {'a' * 154}"
    assert fitting("head", "a" * 155, "b") == "head; b"
    assert fitting("head", "a" * 155, "b" * 156) == f"head; {'b' * 156}"


CACHES = {
    "a short name": ("self.seen", "if len(self.seen) >= 1000: self.seen.pop(next(iter(self.seen)))"),
    "a long one": ("self.spectra_by_number", "if len(d) >= 1000: d.pop(next(iter(d)))"),
}


@pytest.mark.parametrize(("name", "code"), CACHES.values(), ids=CACHES)
def test_a_dict_loses_its_oldest_entry_before_it_gets_one(name: str, code: str) -> None:
    def text(before: str) -> str:
        missing = f"if i not in {name}:\n    {before}\n    {name}[i] = self.data[i].copy()"
        return dataset(f"self.data = np.arange(5000)\n{name} = {{}}", f"{missing}\nreturn {name}[i] + 0")

    assert f"before it, `{code}`" in said(text("pass"), "TLK104")
    remedied = text(re.sub(r"\bd\b", name, code))
    assert not messages(IMPORTS + remedied, "TLK104")
    rows = run(remedied)["Rows"](None, None)
    assert [int(rows[i]) for i in range(2000)] == list(range(2000))
    assert list(getattr(rows, name[5:])) == list(range(1000, 2000))


def test_what_may_be_no_dict_is_limited_in_words() -> None:
    text = dataset("self.data = np.arange(9)\nself.seen = json.load(open(root))", "self.seen[i] = self.data[i].copy()")
    assert said(text, "TLK104").endswith("; limit its size: drop the oldest entry when it is full")


DIRECT = {
    "by its key": ("self.data[i]['ids'].sort()", "ids = copy.deepcopy(self.data[i]['ids'])"),
    "whose key is taken": ("ids = 3\nself.data[i]['ids'].append(ids)", "part = copy.deepcopy(self.data[i]['ids'])"),
    "without a key": ("self.data[i].update(n=1)", "part = copy.deepcopy(self.data[i])"),
    "whose names are taken": (
        "part = changed = 3\nself.data[i].update(n=part)", "own = copy.deepcopy(self.data[i])",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "statement"), DIRECT.values(), ids=DIRECT)
def test_a_copy_of_what_has_no_variable_gets_one(edit: str, statement: str) -> None:
    records = "self.data = [json.loads(line) for line in open(root)]"
    message = said(dataset(records, f"{edit}\nreturn [self.data[i]]"), "TLK203")
    new, _, copied = statement.partition(" = ")
    target = copied[len("copy.deepcopy(") : -1]
    assert message.endswith(f"change of `{target}`; just before, write `{statement}`, then use `{new}`")
    edited = f"{statement}\n{edit}".replace(f"\n{target}", f"\n{new}")
    assert not messages(IMPORTS + dataset(records, f"{edited}\nreturn [{new}]"), "TLK203")


def test_a_row_that_has_no_variable_is_copied_alone() -> None:
    """Of a part of a tensor, `copy.deepcopy` copies the whole tensor."""
    text = dataset("self.data = torch.zeros(1000, 4)", "self.data[i].sub_(1)\nreturn self.data[i] + 0")
    assert said(text, "TLK203").endswith("; just before, write `part = self.data[i].clone()`, then use `part`")


def test_a_change_too_long_to_be_shown_is_described() -> None:
    edit = "self.data[(i + self.offset_of_the_first) % self.number]['a'].sort()"
    text = dataset("self.data = [json.loads(line) for line in open(root)]", f"{edit}\nreturn 1")
    assert said(text, "TLK203").endswith("; change a copy (`copy.deepcopy`), and use that from there on")


PACKED = {
    "that is filled": ("np.empty(9, dtype=object)", "self.data[i]", "once filled, store `PackedRecords(self.data)` "),
    "by columns": (
        "pyarrow.parquet.read_table(root).to_pydict()", "self.data['text'][i]",
        "store `{k: PackedRecords(v) for k, v in x.items()}` ",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("made", "read", "stored"), PACKED.values(), ids=PACKED)
def test_what_is_packed_is_whole_and_no_dict(made: str, read: str, stored: str) -> None:
    text = f"import pyarrow.parquet\n{dataset(f'self.data = {made}', f'return {read}')}"
    assert f"; {stored}(" in said(text, "TLK102")


OBJECTS = {
    "of texts": "np.array(sorted(glob.glob(root)), dtype=object)",
    "of records": "np.array([{'n': int(line)} for line in open(root)])",
}


@pytest.mark.parametrize("made", OBJECTS.values(), ids=OBJECTS)
def test_an_array_of_objects_is_packed_as_it_is(made: str) -> None:
    text = dataset(f"self.data = {made}", "return self.data[i]")
    (code,) = re.findall(r"store `(.*?)` \(", said(text, "TLK102"))
    assert code == "PackedRecords(self.data)"
    remedied = f"{classes()}\n" + dataset(f"self.data = {made}\nself.data = {code}", "return self.data[i]")
    assert not messages(IMPORTS + remedied, "TLK102")
    named: dict[str, Any] = {"glob": __import__("glob"), "open": lambda _: ["1", "2"]}
    kept = run(classes(), **named)["PackedRecords"](run(f"data = {made}", root="/*", **named)["data"])
    assert [kept[i] for i in range(len(kept))] == list(run(f"data = {made}", root="/*", **named)["data"])


LENGTHS = {
    "what a function opens": (
        "self.open()", "return len(self.items)",
        "end it by `n = len(self.items); self.items.close(); self.items = None; return n`",
    ),
    "no length in a line": (
        "self.open()", "for each in self.items:\n            return 9",
        "end it by `self.items.close(); self.items = None`, `open` reopens it",
    ),
    "what it opens itself": (
        "self.items = h5py.File(self.path, 'a')", "return len(self.items)",
        "end it by `n = len(self.items); self.items.close(); self.items = None; return n`",
    ),
    "a long name": (
        "self.open()", "return len(self.items) * self.number_of_the_samples_of_each_of_the_items_of_the_file",
        "before it returns, set `self.items = None`",
    ),
}  # fmt: skip
COUNTED = """\
import h5py


class Rows(Dataset):
    def __init__(self, path):
        self.path, self.items = path, None

    def open(self):
        self.items = h5py.File(self.path, 'a')

    def __len__(self):
        if self.items is None:
            {opening}
        {length}

    def __getitem__(self, i):
        if self.items is None:
            {opening}
        return torch.tensor(self.items[i])
"""


@pytest.mark.parametrize(("opening", "length", "advice"), LENGTHS.values(), ids=LENGTHS)
def test_a_length_closes_what_it_opened(opening: str, length: str, advice: str) -> None:
    found = said(COUNTED.format(opening=opening, length=length), "TLK105")
    assert found.startswith("workers fail or read wrong data: `__len__` opens `self.items` (HDF5 file); ")
    assert advice in found
    (code, *_) = re.findall("`(self.*?= None|n = .*?)`", advice)
    assert not messages(IMPORTS + COUNTED.format(opening=opening, length=code), "TLK105")


HOOKS = {
    "of its own": ("lambda module, args: print(len(args))", "register it once, in `__init__`"),
    "of a function": ("print", "register it once, in `__init__`"),
    "with what the call gets": (
        "lambda module, args: print(x)", "keep its `handle`, and before the return `handle.remove()`",
    ),
    "with what the call makes": (
        "lambda module, args: seen.append(1)", "keep its `handle`, and before the return `handle.remove()`",
    ),
    "made with it": ("partial(print, x)", "keep its `handle`, and before the return `handle.remove()`"),
}  # fmt: skip


@pytest.mark.parametrize(("hook", "advice"), HOOKS.values(), ids=HOOKS)
def test_a_hook_that_needs_the_call_is_removed_in_it(hook: str, advice: str) -> None:
    text = "from functools import partial\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        seen = []\n"
    call = f"self.body.register_forward_pre_hook({hook})"
    found = messages(IMPORTS + f"{text}        {call}\n        return self.body(x)\n", "TLK604")
    assert [each.rpartition("; ")[2] for each in found if "pile up" in each] == [advice]
    if "handle" in advice:
        after = "y = self.body(x)\n        handle.remove()\n        return y\n"
        assert not messages(IMPORTS + f"{text}        handle = {call}\n        {after}", "TLK604")


@pytest.mark.parametrize(("name", "packed"), [("rows", "rows"), ("records_of_the_whole_year", "...")])
def test_an_argument_is_packed_if_it_is_a_list(name: str, packed: str) -> None:
    init = f"    def __init__(self, {name}):\n        self.data = {name}\n\n"
    length = "    def __len__(self):\n        return len(self.data)\n\n"
    text = f"class Rows(Dataset):\n{init}{length}    def __getitem__(self, i):\n        return self.data[i]\n"
    (found,) = messages(IMPORTS + text, "TLK901")
    assert f"; if it is a list, store `PackedRecords({packed})` (class" in found
    remedied = text.replace(f"self.data = {name}", f"self.data = PackedRecords({name})")
    assert not messages(f"{IMPORTS}{classes()}\n{remedied}", "TLK901")
    made = run(f"{classes()}\n{remedied}")["Rows"](["a", "b"])
    assert [made[i] for i in range(2)] == ["a", "b"]


def test_a_table_is_read_with_the_option_that_is_shown() -> None:
    text = dataset("self.data = pd.read_csv(root)", "return self.data.iloc[i]['text']")
    (code,) = re.findall(r"write `(.*?)` \(pandas 2, pyarrow\)$", said(text, "TLK902"))
    assert code == 'pd.read_csv(..., dtype_backend="pyarrow")'
    assert not messages(IMPORTS + text.replace("pd.read_csv(root)", code.replace("...", "root")), "TLK902")


CORES = {
    "os.cpu_count()": "machine's cores, not the job's; write `num_workers=min(8, len(os.sched_getaffinity(0)))`",
    "os.process_cpu_count()": "may be dozens of processes; cap it: `num_workers=min(8, os.process_cpu_count())`",
}


@pytest.mark.parametrize("count", CORES)
def test_workers_are_counted_by_the_cores_of_the_job(count: str) -> None:
    text = f"loader = DataLoader(data, num_workers={count})\n"
    found = said(text, "TLK907")
    assert CORES[count] in found
    (code,) = re.findall("`(num_workers=.*?)`", found)
    assert not messages(IMPORTS + text.replace(f"num_workers={count}", code), "TLK907")


DRAWN = """
def train(model, data, optimizer, steps):
    loader = DataLoader(data, batch_size=2, num_workers=2)
    {before}
    for step in range(steps):
        loss = model({drawn}).mean()
        loss.backward()
        optimizer.step()
"""


def test_one_iterator_gives_each_step_its_batch() -> None:
    itertools, torch = pytest.importorskip("itertools"), pytest.importorskip("torch")
    found = said(DRAWN.format(before="pass", drawn="next(iter(loader))"), "TLK906")
    before, drawn = re.findall("; before the loop `(.*?)`, then `(.*?)`$", found)[0]
    remedied = DRAWN.format(before=before, drawn=drawn)
    assert not {each.code for each in lint(IMPORTS + remedied)} & {"TLK906", "TLK405"}
    weight, seen = torch.ones(1, requires_grad=True), []

    def model(x: Any) -> Any:
        seen.append(x.tolist())
        return x * weight

    text = remedied.replace("num_workers=2", "num_workers=1, multiprocessing_context='fork'")
    run(text, itertools=itertools)["train"](model, torch.arange(4.0), torch.optim.SGD([weight]), 5)
    assert seen == [[0.0, 1.0], [2.0, 3.0]] * 2 + [[0.0, 1.0]]


def test_an_iterator_of_an_attribute_is_made_where_that_is_set() -> None:
    setup = "    def setup(self, data):\n        self.loader = DataLoader(data, num_workers=2)\n\n"
    step = "    def training_step(self, batch, batch_idx):\n        return self.f(next(iter(self.loader)))\n"
    text = f"class Task(LightningModule):\n{setup}{step}"
    made = "self.it = chain.from_iterable(cycle([self.loader]))"
    assert said(text, "TLK906").endswith(f"; in `setup`, `{made}`, then `next(self.it)`")
    remedied = text.replace("workers=2)\n", f"workers=2)\n        {made}\n").replace("iter(self.loader)", "self.it")
    assert not {each.code for each in lint(f"{IMPORTS}from itertools import chain, cycle\n{remedied}")} & {
        "TLK906",
        "TLK405",
    }


def test_a_loader_with_a_long_name_is_drawn_from_in_words() -> None:
    text = DRAWN.format(before="pass", drawn="next(iter(loader))").replace("loader", "loader_of_all_pictures_of_cats")
    assert said(text, "TLK906").endswith(
        "; before the loop make one iterator that begins again at its end, and take `next` of it"
    )


def test_a_sum_is_detached_where_it_is_added() -> None:
    (fixture,) = FIXTURES.glob("TLK904*/bad_running_sums.py")
    found = messages(fixture.read_text(encoding="utf-8"), "TLK904")
    assert [each.rpartition(", ")[2] for each in found] == [
        "add `result.sum().detach()`",
        "add `result.pow(2).sum().detach()`",
        "store it with `.detach()`",
    ]


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
def test_gradients_are_none_after_what_is_shown() -> None:
    torch = pytest.importorskip("torch")
    text = "def penalty(model, x):\n    loss = model(x).sum()\n    loss.backward(create_graph=True)\n"
    text += "    result = float(sum(p.grad.square().sum() for p in model.parameters()))\n    {}\n    return result\n"
    (code,) = re.findall("once `.grad` is used, `(.*?)`$", said(text.format("pass"), "TLK602"))
    remedied = text.format(code)
    assert not messages(IMPORTS + remedied, "TLK602")
    model = torch.nn.Linear(2, 1)
    run(remedied)["penalty"](model, torch.ones(2))
    assert all(each.grad is None for each in model.parameters())


def test_one_tensor_in_the_place_of_a_long_name_is_described() -> None:
    name = "self.embeddings_of_all_the_sentences_and_of_their_translations"
    text = dataset(f"{name} = [torch.load(f) for f in glob.glob(root)]", f"return {name}[i] + 0")
    assert said(text, "TLK103").endswith("; store one tensor (code: `torchleak explain TLK103`)")
