"""What samples are and where they go: TLK204 to 206, 302 to 304, 903, 909, where their fixtures do not say it."""

from __future__ import annotations

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.fixing.fix import Fixed, fix
from flake8_torchleak.lint import lint
from tests.model import IMPORTS, codes, dataset

MINE = ("TLK204", "TLK205", "TLK206", "TLK302", "TLK303", "TLK304", "TLK903", "TLK909")


def found(text: str, config: Config | None = None) -> list[str]:
    """The codes of this file's rules that are found in a text."""
    everything = codes("from PIL import Image\n" + text, config or Config())
    assert "TLK000" not in everything
    return [code for code in everything if code in MINE]


def mended(text: str) -> Fixed:
    """A text after `--fix --unsafe-fixes` of this file's rules."""
    return fix("from PIL import Image\n" + IMPORTS + text, Config(), unsafe=True, takes=lambda code: code in MINE)


LOADER = "DataLoader(Rows(1, 2), num_workers=4, collate_fn={})\n"


@pytest.mark.parametrize(
    ("collate", "sent"),
    [
        ("list", True),
        ("lambda samples: samples", True),
        ("lambda samples: torch.stack(samples)", False),
        ("frobnicate", False),
        ("pipeline.collate", False),
        ("None", False),
    ],
)
def test_who_hands_a_view_on(collate: str, sent: bool) -> None:
    text = dataset("self.data = torch.zeros(9, 9)", "return self.data[i]") + LOADER.format(collate)
    assert found(text) == (["TLK204"] if sent else [])


def test_a_view_that_two_classes_give_is_one_finding() -> None:
    text = dataset("self.data = torch.zeros(9, 9)", "return self.data[i]")
    text += "class Others(Rows):\n    pass\nDataLoader(Others(1, 2), num_workers=4, collate_fn=list)\n"
    assert found(text + LOADER.format("list")) == ["TLK204"]


def test_a_view_of_what_is_not_proven_a_tensor_is_left_alone() -> None:
    text = dataset("self.data = data").replace("root, data", "root, data: torch.Tensor") + LOADER.format("list")
    assert found(text) == ["TLK204"]
    assert [each.code for each in mended(text).left if each.code in MINE] == ["TLK204"]


def loop(body: str, after: str = "return kept", before: str = "kept = []") -> str:
    """A function that goes over paths."""
    lines = body.splitlines()
    return (
        f"def f(paths, model, size, other):\n    {before}\n    for path in paths:\n"
        + "".join(f"        {line}\n" for line in lines)
        + f"    {after}\n"
    )


CHAIN = "c = b[1:]\nd = c[1:]\ne = d[1:]\nf = e[1:]"
"""More names for parts of parts than are looked through."""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (loop("a = np.load(path)\nkept.append(a[:size])"), True),
        (loop("a = np.load(path)\nkept.append(a[::2])"), True),
        (loop("a = np.load(path)\nkept.append(a[:, 0])"), True),
        (loop("a = np.load(path)\nkept.append(a[..., None])"), False),
        (loop("a = np.load(path)\nkept.append(a[size, 5:9])"), True),
        (loop("a = np.load(path)\nkept.append(a[5:9, size])"), False),
        (loop("a = np.load(path)\nkept.append(a[2:])"), False),
        (loop("a = np.load(path)\nkept.append(a[:-2])"), False),
        (loop("a = np.load(path)\nkept.append(a[:size])") + "    kept = np.array(kept)\n", False),
        (loop("a = np.load(path)\nb = a[:size]\nkept.append(b)"), True),
        (loop("a = np.load(path)\nb, c = a[:size]\nkept.append(b)"), True),
        (loop("a = np.load(path)\nb = a[:size]\nfor _ in b:\n    kept.append(b)"), True),
        (loop("a = np.load(path)\nfor _ in a:\n    kept.append(a[:size])"), True),
        (loop("a = np.load(path)\nb = a[size:]\nc = b[1:]\nkept.append(a[:size])\nkept.append(c)"), False),
        (loop(f"a = np.load(path)\nb = a[size:]\n{CHAIN}\nkept.append(a[:size])\nkept.append(f)"), True),
        (loop("a, b = np.load(path)\nkept.append(a[:size])"), True),
        (loop("kept.append(np.load(path)[:size])"), True),
        (loop("kept.append(other[:size])"), False),
        (loop("a = other(path)\nkept.append(a[:size])"), False),
        (loop("a = path\nkept.append(a[:size])"), False),
        (loop("a = np.zeros(size)\nkept[path] = a[:size]", before="kept = {}"), True),
        (loop("a = np.zeros(size)\nkept[path] = a[:size]", before="kept = np.zeros(size)"), False),
        (loop("a = np.zeros(size)\nkept.setdefault(path, a[:size])", before="kept = {}"), True),
        (loop("a = model(path)\nkept.append(a[:, 0])"), False),  # with its graph: TLK402
        ("def f(path, kept):\n    a = np.load(path)\n    kept.append(a[:9])\n", False),
        ("a = np.load(1)\ndef f(kept):\n    while kept:\n        kept.append(a[:9])\n", False),
    ],
)
def test_views_that_outlive_their_base(text: str, kept: bool) -> None:
    assert found(text) == (["TLK205"] if kept else [])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("np.load(path)", "warning"),
        ("np.zeros((size, 9))", "warning"),
        ("np.loadtxt(path)", "note"),
        ("np.genfromtxt(path)", "note"),
        ("np.array(path)", "note"),
        ("torch.asarray(path)", "note"),
    ],
)
def test_how_large_the_base_of_a_view_is(made: str, expected: str) -> None:
    found = lint(IMPORTS + "np.load(1)\n" + loop(f"a = {made}\nkept.append(a[:3, 1])"))
    assert [each.severity.value for each in found if each.code == "TLK205"] == [expected]


def test_a_view_of_a_tensor_is_cloned() -> None:
    text = loop("a = torch.zeros(size, 9)\nkept.append(a[:size])")
    assert "kept.append(a[:size].clone())" in mended(text).text


STORED = "self.data = [{'a': 1, 'b': {}, 'c': []}, {'a': 2, 'b': {}, 'c': []}]"


def collated(body: str, sample: str = "return self.data[i]", use: str = "collate") -> str:
    """A Dataset and a collate function with these statements."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = dataset(STORED, sample) + f"def collate(batch):\n{lines}"
    return text + LOADER.format(use)


@pytest.mark.parametrize(
    ("body", "added"),
    [
        ("for x in batch:\n    x['a'] = 2\nreturn 1", "        x = copy.copy(x)\n        x['a'] = 2\n"),
        ("for x in batch:\n    x['b']['k'] = 2\nreturn 1", "        x = copy.deepcopy(x)\n"),
        (
            "for x in batch:\n    b = x['c']\n    x['a'] = 2\n    b.append(1)\nreturn 1",
            "        x = copy.deepcopy(x)\n",
        ),
        ("for x in batch:\n    x['a'] = 2\n    change(x)\nreturn 1", "        x = copy.deepcopy(x)\n"),
        ("for x in batch:\n    x['a'] = 2\nreturn batch", None),
        ("for i, x in enumerate(batch):\n    x['a'] = 2\nreturn 1", None),
        ("for x in batch:\n    y = x\n    y['a'] = 2\nreturn 1", "        y = copy.copy(y)\n"),
        ("for x in batch:\n    y = x\n    y['a'] = x['b']\nreturn 1", None),
        ("for x in batch:\n    if x:\n        x = x\n    x['a'] = 2\nreturn 1", None),
        ("z = batch\nfor x in z:\n    x['a'] = 2\nreturn 1", "        x = copy.copy(x)\n"),
        ("z = batch if batch else []\nfor x in z:\n    x['a'] = 2\nreturn 1", None),
        ("z = batch\nif z:\n    z = []\nfor x in z:\n    x['a'] = 2\nreturn 1", None),
        ("batch[0]['a'] = 2\nreturn 1", None),
        ("for x in batch: x['a'] = 2\nreturn 1", None),
        (
            "for x in batch:\n    @f\n    def g():\n        pass\n    x['a'] = 2\nreturn 1",
            "        x = copy.copy(x)\n        @f\n",
        ),
        ("[x.pop('a') for x in batch]\nreturn 1", None),
        ("for x in batch:\n    if (y := x):\n        y['a'] = 2\nreturn 1", None),
        ("a = b = c = d = e = f = batch\nfor x in batch:\n    x['a'] = 2\nreturn 1", None),
    ],
)
def test_samples_changed_in_a_collate_function(body: str, added: str | None) -> None:
    text = collated(body)
    assert "TLK206" in found(text)
    after = mended(text)
    if added is None:
        assert "TLK206" in [each.code for each in after.left]
        assert "copy(" not in after.text
    else:
        assert added in after.text


LONG = "a = batch\nb = a\nc = b\nd = c\ne = d\nf = e\nfor x in f:\n    x['a'] = 2\nreturn 1"


def test_a_long_way_from_the_parameter_is_left_alone() -> None:
    assert [each.code for each in mended(collated(LONG)).left if each.code in MINE] == ["TLK206"]


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (collated("for x in batch:\n    x['a'] = 2\nreturn 1", "return dict(self.data[i])"), 0),
        (collated("for x in batch:\n    x['a'] = 2\nreturn 1", "if i:\n    return self.data[i]\nreturn self.data[0]"),
         1),
        (collated("for x in batch:\n    x['a'] = 2\nreturn 1", use="None"), 0),
        (collated("for x in batch:\n    x['a'] = 2\nreturn 1").replace("__getitem__(self, i)", "__getitems__(self, i)")
         .replace("return self.data[i]", "return [self.data[j] for j in i]"), 1),
        (collated("for x in batch:\n    x['a'] = 2\nreturn 1") + "class Others(Rows):\n    pass\n", 1),
        (collated("return 1").replace("def collate(batch)", "def collate()"), 0),
        (dataset(STORED, rest="def collate(self, batch):\n    for x in batch:\n        x['a'] = 1"), 1),
        (dataset(STORED, "return self.transform(self.data[i])")
         + "class A:\n    def __call__(self, x):\n        x['a'] = 1\n", 1),
        (dataset(STORED, "return self.transform(self.data[i])", "def transform(self, x):\n    return x")
         + "class A:\n    def __call__(self, x):\n        x['a'] = 1\n", 0),
        (dataset(STORED, "return self.transform(i)") + "class A:\n    def __call__(self, x):\n        x['a'] = 1\n", 0),
        (dataset(STORED, "return self.transform(self.data[i])")
         + "class A(nn.Module):\n    def __call__(self, x):\n        x['a'] = 1\nclass B:\n    pass\n", 0),
    ],
)  # fmt: skip
def test_whose_samples_are_changed(text: str, changed: int) -> None:
    assert found(text).count("TLK206") == changed


@pytest.mark.parametrize(
    ("device", "gpu"),
    [
        ("'cuda'", True),
        ("f'cuda:{i}'", True),
        ("f''", False),
        ("torch.device('cuda', 0)", True),
        ("'cpu' if i else 'cuda'", True),
        ("'cpu' if i else 'mps'", False),
        ("torch.device('cpu')", False),
        ("3", False),
        ("GPU", True),
        ("PLACED", False),
        ("self.device", True),
        ("self.other", False),
        ("[0]", False),
        ("self.one", False),
    ],
)
def test_devices(device: str, gpu: bool) -> None:
    init = "self.data = np.load(root)\nself.device = torch.device('cuda')\nself.other = data\n"
    init += "self.one = self.two\nself.two = self.one"
    text = "GPU = 'cuda:1'\nPLACED = place()\n" + dataset(init, f"return f(self.data).to({device})")
    assert found(text + LOADER.format("None")) == (["TLK302"] if gpu else [])
    made = text.replace(f"f(self.data).to({device})", f"torch.zeros(i, device={device})")
    assert found(made + LOADER.format("None")) == (["TLK302"] if gpu else [])


@pytest.mark.parametrize(
    ("loader", "config", "workers"),
    [
        ("DataLoader(Rows(1, 2), num_workers=workers)\n", Config(), True),
        ("DataLoader(Rows(1, 2), num_workers=workers)\n", Config(assume_workers="no"), False),
        ("DataLoader(Rows(1, 2), **options)\n", Config(), False),
        ("DataLoader(Rows(1, 2), num_workers=2)\nDataLoader(Rows(1, 2))\n", Config(), False),
        ("DataLoader(Rows(1, 2), num_workers=2)\nDataLoader(Others(1, 2), num_workers=3)\n", Config(), True),
    ],
)
def test_loaders_with_workers(loader: str, config: Config, workers: bool) -> None:
    text = dataset("self.data = np.load(root)", "return f(self.data[i]).cuda()") + "class Others(Rows):\n    pass\n"
    assert found(text + loader, config) == (["TLK302"] if workers else [])


LINES = "    def open(self):\n        self.lines = {}\n"


def stream(
    body: str, init: str = "self.path = path", rest: str = "", base: str = "IterableDataset", kind: str = "str"
) -> str:
    """An IterableDataset with these statements in `__iter__`."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return (
        f"class Rows({base}):\n    def __init__(self, path: {kind}, files: list[str]):\n        {init}\n"
        f"        self.files = files\n    def __iter__(self):\n{lines}{rest}"
    )


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (stream("with open(self.path) as f:\n    for x in f:\n        yield x"), True),
        (stream("with lock, open(self.path) as f:\n    for x in csv.reader(f):\n        yield x"), True),
        (stream("with self.lock:\n    for x in self.part:\n        yield x"), False),
        (stream("with open(self.path) as f:\n    yield f.read()"), False),
        (stream("for x in open(self.path):\n    yield x"), True),
        (stream("for x in self.files:\n    for y in open(x):\n        yield y"), True),
        (stream("for x in self.files:\n    yield from x"), True),
        (stream("for x in self.files:\n    print(x)\nyield 1"), False),
        (stream("for x in (1, 2, 3):\n    yield x"), False),
        (stream("for x in np.random.permutation(len(self.files)):\n    yield self.files[x]"), True),
        (stream("for x in range(self.path):\n    yield x"), False),
        (stream("order = list(self.path)\nfor x in order:\n    yield x"), False),
        (stream("yield from self.files"), True),
        (stream("yield from self.path"), False),
        (stream("yield from map(int, enumerate(self.files))"), True),
        (stream("return iter(zip(self.path, self.files))"), True),
        (stream("return iter(self.path)"), False),
        (stream("return (x for x in self.files)"), True),
        (stream("return self.files"), False),
        (stream("return"), False),
        (stream("for x in self.path:\n    yield x", kind="Iterable"), True),
        (stream("for x in self.lines:\n    yield x", rest=LINES.format("iter(self.path)"), kind="Iterable"), True),
        (stream("for x in self.lines:\n    yield x", rest=LINES.format("iter(self.lines)"), kind="Iterable"), False),
        (stream("for x in self.files[:: self.step]:\n    yield x"), False),
        (stream("for x in self.files[::-1]:\n    yield x"), False),
        (stream("for x in itertools.islice(self.files, 1, None, 2):\n    yield x"), False),
        (stream("for i, x in enumerate(self.files):\n    if i % 3 == self.part:\n        yield x"), False),
        (stream("while self.path:\n    for x in self.files:\n        yield x"), False),
        (stream("while True:\n    for x in self.files:\n        yield x"), False),
        (stream("for x in part(self.files):\n    yield x", rest="def part(x):\n    return x[worker():]\n"), False),
        (stream("for x in open(self.path):\n    yield x", base="IterableDataset[int]"), True),
        (stream("for x in open(self.path):\n    yield x", base="IterableDataset, Ours"), False),
        (stream("for x in open(self.path):\n    yield x", base="Dataset"), False),
        (stream("for x in open(self.path):\n    yield x") + "DataLoader(Rows(1), num_workers=2)", True),
        (stream("for x in open(self.path):\n    yield x") + "DataLoader(Rows(1), num_workers=1)", False),
        (stream("for x in open(self.path):\n    yield x") + "DataLoader(Rows(1))", False),
        (stream("for x in open(self.path):\n    yield x") + "DataLoader(2, worker_init_fn=f)", False),
        ("class Rows(IterableDataset):\n    pass\n", False),
    ],
)
def test_streams(text: str, whole: bool) -> None:
    assert found(text) == (["TLK303"] if whole else [])


@pytest.mark.parametrize(
    ("init", "held"),
    [
        ("self.x = [Image.open(p) for p in glob.glob(root)]", True),
        ("self.x = {p: Image.open(p) for p in data}", True),
        ("self.x = [(p, Image.open(p)) for p in data]", True),
        ("self.x = [Image.open(p) for p in ('a', 'b')]", False),
        ("self.x = (Image.open(p) for p in data)", False),
        ("self.x = list(Image.open(p) for p in data)", False),
        ("x = [Image.open(p) for p in data]", False),
        ("f([Image.open(p) for p in data])", False),
        ("self.x = Image.open(root)", False),
        ("self.x['a'] = Image.open(root)", False),
        ("for p in data:\n    self.x[p] = Image.open(p)", True),
        ("for p in data:\n    i = Image.open(p)\n    self.x.append(i)", True),
        ("for p in data:\n    i = Image.open(p)\n    i.load()\n    self.x.append(i)", False),
        ("for p in data:\n    f(self.x).append(Image.open(p))", False),
        ("for p in data:\n    self.x.frobnicate(Image.open(p))", False),
        ("for p in data:\n    f(Image.open(p))", False),
        ("while data:\n    self.x.append(Image.open(data.pop()))", True),
        ("self.x = []\nself.x.extend([Image.open(p) for p in data])", True),
        ("self.x = []\nfor p in data:\n    self.x += [Image.open(p).copy()]", False),
        ("self.x.append(Image.open(root))", False),
        ("Image.open(root)", False),
    ],
)
def test_images(init: str, held: bool) -> None:
    assert found(dataset(init, "return 1")) == (["TLK304"] if held else [])


@pytest.mark.parametrize(
    ("init", "sample", "open_"),
    [
        ("self.data = data", "return self.data[i]", True),
        ("self.data = data", "return self.data[0]", False),
        ("self.data = data", "return self.data", False),
        ("self.data = data", "return self.data[i], 1", False),
        ("self.data = data", "x, y = self.data[i]\nreturn x", False),
        ("self.data = data", "x = self.data[i]['a']\nreturn x", False),
        ("self.data = data", "return self.data[i]['a']", False),
        ("self.data = data", "return self.data[i].float()", False),
        ("self.data = np.load(data)", "return self.data[i]", False),
        ("self.data = [1, 2]", "return self.data[i]", False),
        ("self.texts = data", "return self.texts[i]", False),
        ("self.valset = data", "return self.valset[i]", False),
        ("self.data = Frobnicator(data)", "return self.data[i]", False),
        ("self.data = data", "self.data[i].shape\nreturn self.data[i]", False),
        ("data.subscribe(self.data.append)", "return self.data[i]", True),
    ],
)
def test_unknown_elements(init: str, sample: str, open_: bool) -> None:
    assert found(dataset(init, sample)) == (["TLK903"] if open_ else [])


def test_an_unknown_element_that_two_classes_give_is_one_finding() -> None:
    text = dataset("self.data = data") + "class Others(Rows):\n    pass\n"
    assert found(text) == ["TLK903"]
    assert "return copy.deepcopy(self.data[i])" in mended(text).text


@pytest.mark.parametrize(
    ("made", "slow"),
    [
        ("[np.zeros(3), np.zeros(3)]", True),
        ("[np.zeros(3), 3]", False),
        ("[]", False),
        ("3", False),
        ("f(3)", False),
        ("[np.array([1, 2]) for _ in f]", True),
        ("[np.array(Image.open(p)) for p in f]", True),
        ("[np.array(p) for p in f]", False),
        ("[np.array() for p in f]", True),
        ("[np.zeros(9)[p] for p in f]", False),
        ("[np.zeros((9, 9))[:3, p] for p in f]", True),
        ("[np.zeros(9).mean() for p in f]", False),
        ("[f.astype(int) for p in f]", False),
        ("[f[:3].copy() for p in f]", False),
        ("[" + "np.zeros(9)" + ".copy()" * 7 + "]", False),
    ],
)
def test_tensors_of_arrays(made: str, slow: bool) -> None:
    assert found(f"def g(f):\n    return torch.tensor({made})\n") == (["TLK909"] if slow else [])
    assert found(f"def g(f):\n    x = {made}\n    return torch.tensor(x)\n") == (["TLK909"] if slow else [])


def test_what_is_augmented_stays_an_array_and_the_list_is_stacked() -> None:
    text = "def g(f):\n    x = []\n    for p in f:\n        a = np.load(p)\n        a /= 255\n        x.append(a)\n"
    text += "    return torch.tensor(x)\n"
    assert found(text) == ["TLK909"]
    assert "torch.tensor(np.stack(x))" in mended(text).text


def test_a_number_that_is_augmented_stays_a_number() -> None:
    assert (
        found("def g(f):\n    n = 1\n    for p in f:\n        x = torch.tensor([n])\n        n += p\n    return x\n")
        == []
    )
    assert found("def g(f, n):\n    for p in f:\n        n += p\n        x = torch.tensor([n])\n    return x\n") == []
