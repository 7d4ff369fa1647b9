"""Datasets: what they keep, what their samples share, what runs in workers. Each case is a fact about code."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model.edits import edits, moved_elements
from flake8_torchleak.model.samples import given_out
from flake8_torchleak.model.tree import FUNCTIONS
from tests.model import IMPORTS, codes, dataset, module

FILES = "self.data = glob.glob(root)"
ARGUMENT = "self.data = data"


def reported(text: str) -> list[str]:
    """What is found about a Dataset's state."""
    return [code for code in codes(text) if code in ("TLK101", "TLK901")]


KEPT = {
    "made in one branch, from elsewhere in the other": (
        dataset("self.data = glob.glob(root)\nif root:\n    self.data = frobnicate(root)"), ["TLK101"]),
    "a value that no parameter gives, through a name": (dataset("data = f(root)\nself.data = data"), []),
    "an argument whose elements are objects with a shape": (
        dataset(ARGUMENT, "row = self.data[i]\nrow.shape\nreturn row.path"), ["TLK101"]),
    "a list of files": (dataset(FILES), ["TLK101"]),
    "an argument of unknown type": (dataset(ARGUMENT), ["TLK901"]),
    "an argument used as an array": (dataset(ARGUMENT, "return self.data[i].astype(float)"), []),
    "an argument whose rows are used as tensors": (dataset(ARGUMENT, rest="def f(self, i):\n    return self.data[i].unsqueeze(0)"), []),
    "an argument with an index for every axis": (dataset(ARGUMENT, "return self.data[i, 0]"), []),
    "an argument that is shuffled in place": (dataset(ARGUMENT, rest="def f(self):\n    random.shuffle(self.data)"), ["TLK101"]),
    "an argument that is appended to": (dataset(ARGUMENT, rest="def f(self):\n    self.data.append(1)"), ["TLK101"]),
    "an argument that was extended where it came in": (dataset("data.extend([1])\nself.data = data"), ["TLK101"]),
    "an argument that was read where it came in": (dataset("data.frobnicate()\nself.data = data"), ["TLK901"]),
    "an argument whose elements are objects": (dataset(ARGUMENT, "return self.data[i].path"), ["TLK101"]),
    "an argument whose elements are objects, through a name": (
        dataset(ARGUMENT, "row = self.data[i]\nreturn row.path"), ["TLK101"]),
    "an argument whose elements are texts": (dataset(ARGUMENT, "return self.data[i].strip()"), ["TLK901"]),
    "a field of a class": (
        "class Rows(Dataset):\n    data: list\n    def __len__(self): return len(self.data)\n"
        "    def __getitem__(self, i): return self.data[i]\n", ["TLK101"]),
    "read by an alias": (dataset(FILES, "files = self.data\nreturn files[i]"), ["TLK101"]),
    "read by a name that is rebound": (dataset(FILES, "files = self.data\nfiles = {}\nreturn 1"), []),
    "asked for membership alone": (dataset(FILES, "return i in self.data"), []),
    "gone over in a loop": (dataset(FILES, "for f in self.data:\n    use(f)\nreturn 1"), ["TLK101"]),
    "gone over in a comprehension": (dataset(FILES, "return sum(f for f in self.data)"), ["TLK101"]),
    "handed out one by one": (
        "class Rows(IterableDataset):\n    def __init__(self, root):\n        self.data = glob.glob(root)\n"
        "    def __iter__(self):\n        yield from self.data\n", ["TLK101"]),
    "looked up with get": (
        dataset("self.data = {f: 1 for f in glob.glob(root)}", "return self.data.get(i)"), ["TLK101"]),
    "written, entry by entry": (dataset("self.data = {}", "self.data[i] = 1\nreturn 1"), []),
    "written through an entry": (
        dataset("self.data = [[f] for f in glob.glob(root)]", "self.data[i][0] = 1\nreturn 1"), ["TLK101"]),
    "filled per sample": (dataset("self.data = []", "self.data.append(i)\nreturn 1"), []),
    "handed to a function": (dataset(FILES, "return f(self.data)"), []),
    "asked for an attribute": (dataset(FILES, "return self.data.frobnicate"), []),
    "an index of annotations, looked up": (
        dataset("self.data = COCO(root)", "return self.data.loadAnns(i)"), ["TLK101"]),
    "an index of annotations, by its tables": (
        dataset("self.data = COCO(root)", "return self.data.anns[i]"), ["TLK101"]),
    "overwritten for every sample": (dataset(FILES, "self.data = glob.glob(i)\nreturn self.data[0]"), []),
    "filled when first used": (
        dataset("self.data = None", "if self.data is None:\n    self.data = glob.glob(i)\nreturn self.data[i]"), ["TLK101"]),
    "filled by a cached property": (
        dataset("pass", "return self.files[i]", "@functools.cached_property\ndef files(self):\n    return glob.glob('*')").replace(
            "len(self.data)", "len(self.files)"), ["TLK101"]),
    "filled by a cached property of parts": (
        dataset("pass", "return self.files[i]", "@functools.cached_property\ndef files(self):\n    x = []\n    for f in glob.glob('*'):\n        x.append(f)\n    return x"), ["TLK101"]),
    "unpickled records": (
        dataset("self.data = pickle.load(open(root, 'rb'))", "return self.data[i]['a']"), ["TLK101"]),
    "unpickled records of a length unknown": (
        dataset("self.data = pickle.load(open(root, 'rb'))", "return self.data[i]['a']").replace("len(self.data)", "self.n"), ["TLK101"]),
    "unpickled rows of a length unknown": (
        dataset("self.data = pickle.load(open(root, 'rb'))", "return self.data[i]").replace("len(self.data)", "self.n"), []),
    "something unknown": (dataset("self.data = frobnicate(root)", "return self.data[i]['a']"), []),
    "a list of tensors": (dataset("self.data = [torch.zeros(3) for f in glob.glob(root)]"), []),
    "a list of pairs with tensors": (dataset("self.data = [(f, torch.zeros(3)) for f in glob.glob(root)]"), []),
    "a list of a few numbers": (
        dataset("self.data = []\nfor n, folder in enumerate(root):\n    for f in glob.glob(folder):\n        self.data.append(n)"), []),
    "two bindings, the first of None": (
        dataset("self.data = None\nif root:\n    self.data = glob.glob(root)"), ["TLK101"]),
    "a length kept beside it": (dataset("self.data = data\nself.n = len(data)").replace("len(self.data)", "self.n"), ["TLK901"]),
    "a length kept beside it, of the attribute": (
        dataset("self.data = data\nself.n = len(self.data)").replace("len(self.data)\n    def __get", "self.n\n    def __get"), ["TLK901"]),
    "a length of something else": (dataset("self.data = data\nself.n = len(root)").replace("len(self.data)", "self.n"), []),
    "a length by a method": (
        dataset(ARGUMENT, rest="def size(self):\n    return len(self.data)").replace(
            "def __len__(self):\n        return len(self.data)", "def __len__(self):\n        return self.size()"), ["TLK901"]),
    "another library's Dataset": ("import datasets\n" + dataset(FILES, base="datasets.Dataset"), []),
    "a configured base": (dataset(FILES, base="Corpus"), ["TLK101"]),
    "no base, but given to a loader": (dataset(FILES, base="object") + "DataLoader(Rows(1, 2), num_workers=2)", ["TLK101"]),
    "no base and no loader": (dataset(FILES, base="object"), []),
    "without a length": (dataset(FILES, base="object").replace("__len__", "size"), []),
    "of named tuples": (dataset("self.data = [Row(f) for f in glob.glob(root)]"), ["TLK101"]),
    "of strings from a set": (dataset("self.data = {'a', 'b'}", "return i in self.data"), []),
    "a deque": (dataset("self.data = collections.deque(glob.glob(root))"), ["TLK101"]),
    "numbers": (dataset("self.data = [int(f) for f in glob.glob(root)]"), ["TLK101"]),
    "without workers": (dataset(FILES) + "DataLoader(Rows(1, 2), num_workers=0)", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), KEPT.values(), ids=KEPT)
def test_state(text: str, found: list[str]) -> None:
    config = Config(dataset_bases=("Corpus",)) if "Corpus" in text else DEFAULT
    assert [code for code in codes("import functools\n" + text, config) if code in ("TLK101", "TLK901")] == found


REMEDIES = {
    "arrays": ("np.load(f)", "store one `torch.cat(...)`, and offsets"),
    "numbers": ("int(f)", "store `torch.tensor(...)` of it"),
    "texts": ("f.strip()", "store `np.array([s.encode() for s in ...])`, `.decode()` at the read"),
}


@pytest.mark.parametrize(("element", "remedy"), REMEDIES.values(), ids=REMEDIES)
def test_the_remedy_goes_by_the_elements(element: str, remedy: str) -> None:
    text = IMPORTS + dataset(f"self.data = [{element} for f in glob.glob(root)]")
    assert [each.message.partition("; ")[2] for each in lint(text) if each.code == "TLK101"] == [remedy]


def test_what_a_sample_moves_to_the_device_is_reported_once() -> None:
    sample = "item = self.data[i]\nitem['a'] = item['a'].to(device)\nreturn 1"
    text = dataset(
        "self.data = [{} for f in open(root)]", "return self.fetch(i)", "def fetch(self, i):\n" + indent(sample, "    ")
    )
    assert len(list(moved_elements(module(text)))) == 1
    assert codes(text).count("TLK203") == 1


SHARED = {
    "by a name that is returned twice": (
        "self.data = [np.zeros(3) for f in data]", "x = self.data[i], 1\nif i:\n    return x\nreturn x", 1),
    "an element of a list of arrays": ("self.data = [np.zeros(3) for f in glob.glob(root)]", "return self.data[i]", 1),
    "either of two": ("self.data = [np.zeros(3) for f in data]", "return self.data[i] if i else self.data[0]", 2),
    "in a dict": ("self.data = [np.zeros(3) for f in data]", "return {'a': self.data[i], **x}", 1),
    "in a dict by keywords": ("self.data = [np.zeros(3) for f in data]", "return dict(a=self.data[i], **x)", 1),
    "behind a star": ("self.data = [np.zeros(3) for f in data]", "return [*self.data[i]]", 0),
    "by a name": ("self.data = [np.zeros(3) for f in data]", "x = self.data[i], 1\nreturn x", 1),
    "by a helper, twice": (
        "self.data = [np.zeros(3) for f in data]", "if i:\n    return self.row(i)\nreturn self.row(i)", 1),
    "by a helper that is called twice from one place": (
        "self.data = [np.zeros(3) for f in data]", "x = self.row(i)\nreturn x, x", 1),
    "a record of a parsed file": ("self.data = json.load(open(root))", "row = self.data[i]\nrow['a']\nreturn row", 1),
    "an object of a class that allows edits": ("self.data = [Box(f) for f in data]", "return self.data[i]", 1),
    "an object of a class that is frozen": ("self.data = [Frozen(f) for f in data]", "return self.data[i]", 1),
}  # fmt: skip
CLASSES = "class Box:\n    pass\n@dataclasses.dataclass(frozen=True)\nclass Frozen:\n    a: int\nclass Pair(NamedTuple):\n    a: int\n"


@pytest.mark.parametrize(("init", "sample", "count"), SHARED.values(), ids=SHARED)
def test_samples_share_state(init: str, sample: str, count: int) -> None:
    model = module(CLASSES + dataset(init, sample, "def row(self, i):\n    return self.data[i]"))
    assert len(list(given_out(model, model.datasets.all[0]))) == count


@pytest.mark.parametrize(
    ("made", "found"), [("Box(f)", ["TLK202"]), ("Frozen(f)", []), ("Pair(f)", []), ("[f]", ["TLK202"])]
)
def test_a_sample_that_nobody_can_edit_is_no_finding(made: str, found: list[str]) -> None:
    text = CLASSES + dataset(f"self.data = [{made} for f in data]")
    assert [code for code in codes(text) if code == "TLK202"] == found


def test_the_same_expression_is_reported_once_for_a_class_and_its_base() -> None:
    for kept, code in (("np.zeros((9, 3))", "TLK201"), ("[{} for f in data]", "TLK202")):
        text = dataset(f"self.data = {kept}") + "class More(Rows):\n    pass\n"
        assert codes(text).count(code) == 1
    text = (
        dataset("self.data = [{} for f in open(root)]", "self.data[i]['a'] = 1\nreturn 1")
        + "class More(Rows):\n    pass\n"
    )
    assert codes(text).count("TLK203") == 1


def test_a_label_is_one_number() -> None:
    for name, found in (("labels", 0), ("images", 1)):
        text = dataset(f"self.data = data\nself.{name} = torch.zeros(9)", f"return self.{name}[i]")
        assert codes(text).count("TLK201") == found


EDITS = {
    "by building the Dataset anew": (
        "self.data = [[] for f in open(root)]\nself.data[0].append(1)", "self.__init__(1, 2)", 0),
    "an entry of a stored dict, annotated": ("self.data = [{} for f in open(root)]", "self.data[i]['a']: int = 1", 1),
    "an entry of a stored dict": ("self.data = [{} for f in open(root)]", "self.data[i]['a'] = 1", 1),
    "an entry of a stored dict, removed": ("self.data = [{} for f in open(root)]", "del self.data[i]['a']", 1),
    "an entry of a stored array, added to": ("self.data = [np.zeros(3) for f in open(root)]", "self.data[i][0] += 1", 1),
    "a stored array, added to": ("self.data = [np.zeros(3) for f in open(root)]", "x = self.data[i]\nx += 1", 1),
    "a stored number, added to": ("self.data = [0 for f in open(root)]", "x = self.data[i]\nx += 1", 0),
    "an entry of a stored text": ("self.data = ['a' for f in open(root)]", "x = self.data[i]\nx[0] = 1", 0),
    "a stored list, appended to": ("self.data = [[] for f in open(root)]", "self.data[i].append(1)", 1),
    "a stored list, copied": ("self.data = [[] for f in open(root)]", "self.data[i].copy()", 0),
    "a stored array, sorted": ("self.data = [np.zeros(3) for f in open(root)]", "self.data[i].sort()", 1),
    "a stored array, averaged": ("self.data = [np.zeros(3) for f in open(root)]", "self.data[i].mean()", 0),
    "a stored tensor, filled": ("self.data = [torch.zeros(3) for f in open(root)]", "self.data[i].fill_(1)", 1),
    "a stored tensor, marked": ("self.data = [torch.zeros(3) for f in open(root)]", "self.data[i].requires_grad_()", 0),
    "a stored array, drawn on": ("self.data = [np.zeros(3) for f in open(root)]", "cv2.line(self.data[i], a, b)", 1),
    "a stored array, drawn on by nobody": ("self.data = [np.zeros(3) for f in open(root)]", "cv2.line()", 0),
    "a stored array, shuffled": ("self.data = [np.zeros(3) for f in open(root)]", "np.random.shuffle(self.data[i])", 1),
    "a stored array, written into": ("self.data = [np.zeros(3) for f in open(root)]", "np.add(1, 2, out=self.data[i])", 1),
    "a slot of the attribute itself": ("self.data = [{} for f in open(root)]", "self.data[i] = {}", 0),
    "a nested cache": ("self.data = {}\nself.cache = {'a': {}}", "self.cache['a'][i] = 1", 0),
    "a nested table that grew with the data": (
        "self.data = data\nself.cache = {f: {} for f in glob.glob(root)}", "self.cache['a'][i] = 1", 1),
    "one of several targets": ("self.data = [{} for f in open(root)]", "x = self.data[i]['a'] = 1", 1),
    "two targets at once": ("self.data = [{} for f in open(root)]", "x = self.data[i]\nx['a'], y = 1, 2", 1),
    "an object's attribute": ("self.data = [Box(f) for f in open(root)]", "self.data[i].a = 1", 0),
    "filled in once": (
        "self.data = [{} for f in open(root)]", "x = self.data[i]\nif 'a' not in x:\n    x['a'] = load(i)", 0),
    "filled in where it is missing": (
        "self.data = [{} for f in open(root)]", "x = self.data[i]\nif x['a'] is None:\n    x['a'] = load(i)", 0),
    "changed under a test of something else": (
        "self.data = [{} for f in open(root)]", "x = self.data[i]\nif i not in root:\n    x['a'] = load(i)", 1),
    "changed once, by a flag of its own": (
        "self.data = [np.zeros(3) for f in open(root)]\nself.done = [False]",
        "x = self.data[i]\nif not self.done[i]:\n    x -= 1", 0),
    "a counter": ("self.data = [{} for f in open(root)]", "x = self.data[i]\nx['n'] = x.get('n', 0) + 1", 0),
}  # fmt: skip


@pytest.mark.parametrize(("init", "sample", "count"), EDITS.values(), ids=EDITS)
def test_samples_change_state(init: str, sample: str, count: int) -> None:
    model = module(CLASSES + dataset(init, f"{sample}\nreturn 1"))
    assert len(list(edits(model, model.datasets.all[0]))) == count


MOVED = {
    "an entry of a looked-up element": ("item = self.items[i]\nitem['a'] = item['a'].to(device)", 1),
    "an entry of a looked-up element, by cuda()": ("item = self.items[i]\nitem['a'] = item['a'].cuda()", 1),
    "to another tensor's type": ("item = self.items[i]\nitem['a'] = item['a'].to(other)", 0),
    "another entry": ("item = self.items[i]\nitem['a'] = item['b'].cuda()", 0),
    "of a fixed element": ("item = self.items[0]\nitem['a'] = item['a'].cuda()", 0),
    "of the attribute itself": ("self.items['a'] = self.items['a'].cuda()", 0),
    "of an element of an element": ("self.items[i]['a'] = self.items[i]['a'].cuda()", 0),
    "of something else": ("item = {}\nitem['a'] = item['a'].cuda()", 0),
    "of what a method gives": ("item = self.other(i)\nitem['a'] = item['a'].cuda()", 0),
}  # fmt: skip


@pytest.mark.parametrize(("body", "count"), MOVED.values(), ids=MOVED)
def test_elements_moved_to_the_device_stay_there(body: str, count: int) -> None:
    block = "\n".join(f"        {line}" for line in body.splitlines())
    text = (
        "class Cache:\n    def __init__(self):\n        self.items = [{} for f in glob.glob('*')]\n"
        f"    def fetch(self, i, device, other):\n{block}\n        return 1\n"
    )
    assert len(list(moved_elements(module(text)))) == count
    assert codes(text + dataset(FILES, "return 1")).count("TLK203") == count


def test_moving_while_setting_up_is_no_finding() -> None:
    text = "class Cache:\n    def __init__(self):\n        self.items = [{} for f in glob.glob('*')]\n    def setup(self, i):\n        item = self.items[i]\n        item['a'] = item['a'].cuda()\n"
    assert not list(moved_elements(module(text)))


INDICES = {
    "the index": ("return self.data[i]", True),
    "the index in an expression": ("return self.data[i // 2 + 1]", True),
    "one of a few": ("return self.data[i % 2 + 1]", False),
    "a remainder of a number that nobody knows": ("return self.data[i % len(self.data)]", True),
    "the index in a slice": ("return self.data[i : i + 2]", True),
    "one of two indices": ("return self.data[i if i else 0]", True),
    "a drawn index": ("return self.data[random.randint(0, 3)]", True),
    "an index of an order": ("return self.data[self.indices[i]]", True),
    "an index out of another lookup": ("return self.data[self.names[i]]", False),
    "a number made of it": ("return self.data[int(i)]", True),
    "a number of a tensor of it": ("return self.data[i.item()]", True),
    "a number made of something else": ("return self.data[hash(i)]", False),
    "a constant": ("return self.data[0]", False),
    "by a helper": ("return self.row(i)", True),
}  # fmt: skip


@pytest.mark.parametrize(("sample", "found"), INDICES.values(), ids=INDICES)
def test_is_index(sample: str, found: bool) -> None:
    model = module(dataset(ARGUMENT, sample, "def row(self, n):\n    return self.data[n]" if "row" in sample else ""))
    rows = model.datasets.all[0]
    last = [each for each in model.tree.all(ast.Subscript) if isinstance(each.ctx, ast.Load)]
    asked = next(each for each in last if ast.unparse(each.value) == "self.data")
    assert rows.is_index(asked.slice) is found


DERIVED = {
    "out of the index": ("x = self.names[i]\nreturn self.data[x]", True),
    "out of what was looked up with the index": ("x = self.names[i]\ny = x.name\nreturn self.data[y]", True),
    "out of a constant": ("x = 'a'\nreturn self.data[x]", False),
}  # fmt: skip


@pytest.mark.parametrize(("sample", "found"), DERIVED.values(), ids=DERIVED)
def test_derives(sample: str, found: bool) -> None:
    model = module(dataset(ARGUMENT, sample))
    asked = [each for each in model.tree.all(ast.Subscript) if ast.unparse(each.value) == "self.data"]
    assert model.datasets.all[0].derives(asked[-1].slice) is found
    assert not model.datasets.all[0].derives(model.tree.all(ast.ClassDef)[0])


def test_the_chain_of_helpers_is_evidence_and_ends_where_it_comes_back() -> None:
    model = module(
        dataset(ARGUMENT, "return self.a(i)", "def a(self, i): return self.b(i)\ndef b(self, i): return self.a(i)")
    )
    functions = {each.name: each for each in model.tree.all(*FUNCTIONS)}
    rows = model.datasets.all[0]
    assert [text for _, text in rows.chain(functions["b"])] == [
        "`a` is called for every sample",
        "`b` is called for every sample",
    ]
    assert rows.chain(functions["__getitem__"]) == []


OPENCV = {
    "a call in a sample": ("", 1),
    "guarded where the module is imported": ("cv2.setNumThreads(0)\n", 0),
    "guarded where only the main process runs": ("if __name__ == '__main__':\n    cv2.setNumThreads(0)\n", 1),
    "guarded in an initialiser": ("def init(i):\n    cv2.setNumThreads(0)\nDataLoader(d, num_workers=2, worker_init_fn=init)\n", 0),
    "guarded in an initialiser with arguments": (
        "import functools\ndef init(a, i):\n    cv2.setNumThreads(0)\nDataLoader(d, num_workers=2, worker_init_fn=functools.partial(init, 1))\n", 0),
    "guarded in an initialiser that is a method": (
        "class T:\n    def init(self, i):\n        cv2.setNumThreads(0)\n    def f(self):\n        DataLoader(d, num_workers=2, worker_init_fn=self.init)\n", 0),
    "guarded in an initialiser that is an object": (
        "class Init:\n    def __call__(self, i):\n        cv2.setNumThreads(0)\nDataLoader(d, num_workers=2, worker_init_fn=Init())\n", 0),
    "guarded by nobody knows whom": ("DataLoader(d, num_workers=2, worker_init_fn=other())\n", 1),
    "guarded in a function that nobody calls": ("def init(i):\n    cv2.setNumThreads(0)\n", 1),
    "guarded by the environment": ("os.environ['OMP_NUM_THREADS'] = '1'\n", 0),
    "guarded by the environment, in a function": ("def f():\n    os.environ['OMP_NUM_THREADS'] = '1'\n", 1),
    "guarded by a module of the project": ("import project.threads\n", 0),
    "guarded by a name from a module of the project": ("from project import threads as t\n", 0),
    "another module of the project": ("from project import other\nproject = 1\n", 1),
}  # fmt: skip


@pytest.mark.parametrize(("before", "count"), OPENCV.values(), ids=OPENCV)
def test_opencv(before: str, count: int) -> None:
    text = before + dataset(FILES, "return cv2.resize(cv2.imread(self.data[i]), (900, 900))")
    assert codes(text, Config(cv2_guard_modules=("project.threads",))).count("TLK301") == count


def test_opencv_without_workers() -> None:
    text = "def join(batch):\n    return cv2.resize(batch, (900, 900))\n"
    assert "TLK301" not in codes(text + "DataLoader(data, num_workers=0, collate_fn=join)\n")
    assert "TLK301" in codes(text + "DataLoader(data, num_workers=2, collate_fn=join)\n")


@pytest.mark.parametrize(
    ("collate", "found"),
    [
        ("def join(samples):\n    return torch.stack(samples)\n", []),
        ("def join(samples):\n    return samples\n", ["TLK201"]),
        ("from mylib import join\n", ["TLK201"]),
    ],
    ids=["stacks", "passes through", "is elsewhere"],
)
def test_a_view_is_fine_where_a_collate_function_of_the_file_copies_it(collate: str, found: list[str]) -> None:
    text = """\
class Rows(Dataset):
    def __init__(self, path):
        self.rows = np.load(path)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.from_numpy(self.rows[i])

loader = DataLoader(Rows("x.npy"), collate_fn=join, num_workers=2)
"""
    assert codes(collate + text) == found


@pytest.mark.parametrize(("hook", "found"), [("load_data_list", []), ("load_list", ["TLK101"])])
def test_a_base_class_that_packs_what_its_hook_returns(hook: str, found: list[str]) -> None:
    text = f"""\
class Photos(ProjectDataset):
    def __init__(self, root):
        self.paths = sorted(glob.glob(root))

    def {hook}(self):
        return self.paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return read(self.paths[i])
"""
    assert codes(text) == found
