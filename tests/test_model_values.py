"""What expressions evaluate to, beyond the table of single operations: each case is a fact about code."""

from __future__ import annotations

import ast

import pytest

from flake8_torchleak.model.values import Kind, OriginKind, Size
from tests.model import module, value

KINDS = {
    "the first parameter of a static method is no self": (
        "class A:\n    x = 'a'\n    @staticmethod\n    def f(a):\n        y = a.x", Kind.UNKNOWN),
    "the first parameter of a method is its self, whatever its name": (
        "class A:\n    x = 'a'\n    def f(a):\n        y = a.x", Kind.STRING),
    "one table of a parsed file of two": ("a, b = json.load(open('x'))\ny = a", Kind.JSON),
    "a name that a comprehension only reads in its target": ("x = 'a'\ny = [x for a[x] in z][0]", Kind.STRING),
    "super() runs the nearest base that has the method": (
        "class A:\n    def f(self): return 'a'\nclass B(A):\n    pass\nclass C(B):\n    def f(self):\n        y = super().f()",
        Kind.STRING),
    "a function in a class without parameters has no self": (
        "class A:\n    x = 'a'\n    def f():\n        y = self.x", Kind.UNKNOWN),
    "an Optional is what it may hold": ("def f(x: Optional[list[str]]):\n    y = x", Kind.LIST),
    "jaxtyping declares tensors": ("def f(x: Float[Tensor, 'n 3']):\n    y = x", Kind.TENSOR),
    "torchtyping declares tensors": ("def f(x: TensorType['n', 3]):\n    y = x", Kind.TENSOR),
    "a union with None is the other alternative": ("def f(x: None | np.ndarray | None):\n    y = x", Kind.ARRAY),
    "a union of two kinds is neither": ("def f(x: list | np.ndarray):\n    y = x", Kind.UNKNOWN),
    "an annotation with no kind of ours says nothing": ("def f(x: Callable[[int], str]):\n    y = x", Kind.UNKNOWN),
    "an annotation in quotes counts": ("def f(x: 'list[str]'):\n    y = x", Kind.LIST),
    "an annotation that does not parse says nothing": ("def f(x: 'list['):\n    y = x", Kind.UNKNOWN),
    "an annotation that is a statement says nothing": ("def f(x: 'y = list'):\n    y = x", Kind.UNKNOWN),
    "an annotation without a value counts": ("def f():\n    x: np.ndarray\n    x: np.ndarray = g()\n    y = x", Kind.ARRAY),
    "True is a number": ("y = True", Kind.NUMBER),
    "a path divided by a name is a path": ("from pathlib import Path\nfolder = Path('a')\ny = folder / 'b'", Kind.PATH),
    "lists added up are a list": ("y = [1] + [2]", Kind.LIST),
    "a list plus what is unknown is a list": ("y = [1] + f()", Kind.LIST),
    "a class of the file whose base loads is a loader": ("class L(DataLoader): pass\ny = L()", Kind.LOADER),
    "a class of the file whose base is a metric is one": ("class M(torchmetrics.Metric): pass\ny = M()", Kind.METRIC),
    "a class of the file whose base is a module is one": ("class N(nn.Module): pass\ny = N()", Kind.MODULE),
    "a foreign class named as a loss is one": ("from losses import FocalLoss\ny = FocalLoss()", Kind.LOSS),
    "an unseen class named as a network is one": ("y = registry.ResNet()", Kind.MODULE),
    "an unseen class named as a Dataset is one": ("y = registry.TextDataset()", Kind.DATASET),
    "an unseen class is an object of its own": ("y = registry.Thing()", Kind.INSTANCE),
    "a function that builds a model gives one": ("y = build_model()", Kind.MODULE),
    "a metric of a library of metrics": ("y = torchmetrics.Accuracy()", Kind.METRIC),
    "a loader class of another library": ("from dgl.dataloading import GraphDataLoader\ny = GraphDataLoader(d)", Kind.LOADER),
    "the default collate gives what its samples are": ("from torch.utils.data import default_collate\ny = default_collate(x)", Kind.UNKNOWN),
    "the Dataset of a loader": ("loader = DataLoader(d)\ny = loader.dataset()", Kind.DATASET),
    "an object array's item is parsed data": ("x = np.load('a.npy', allow_pickle=True)\ny = x.item()", Kind.JSON),
    "an object array's list is a list": ("x = np.load('a.npy', allow_pickle=True)\ny = x.tolist()", Kind.LIST),
    "an array of objects": ("y = np.array(x, dtype=object)", Kind.OBJECTS),
    "an entry of a file of several tables is its kind": ("x = pd.read_excel('a', sheet_name=None)\ny = x['a']", Kind.FRAME),
    "the most common entries of a counter": ("c = collections.Counter(x)\ny = c.most_common(3)", Kind.LIST),
    "what a list's append gives is None": ("x = []\ny = x.append(1)", Kind.NONE),
    "what a list's method of no effect on kinds gives": ("x = []\ny = x.frobnicate()", Kind.UNKNOWN),
    "the names in an archive": ("y = archive.namelist()", Kind.LIST),
    "mapping a function gives an iterator": ("y = map(str, open('a'))", Kind.ITERATOR),
    "chaining many iterables gives an iterator": ("y = itertools.chain.from_iterable([[1], [2]])", Kind.ITERATOR),
    "tqdm.trange counts": ("from tqdm import trange\ny = trange(9)", Kind.RANGE),
    "a parameter of a lambda is what its name says": ("f = lambda dataloader: [y := dataloader]\nz = dataloader", Kind.LOADER),
    "helpers that return pairs give pairs": ("def f(a):\n    if a:\n        return 1, 'a'\n    return 2, 'b'\ny = f(x)[1]", Kind.STRING),
    "helpers that return pairs of other lengths give neither": ("def f(a):\n    if a:\n        return 1, 'a'\n    return 'b',\ny = f(x)", Kind.TUPLE),
    "a keyword fills the helper's parameter": ("def f(a, b):\n    return b\ny = f(1, b='x')", Kind.STRING),
    "a keyword that no parameter takes is lost": ("def f(a, **rest):\n    return a\ny = f('x', b=1)", Kind.STRING),
    "arguments behind a star fill nothing": ("def f(a):\n    return a\ny = f(*x)", Kind.UNKNOWN),
    "super() runs the base's method": (
        "class A:\n    def f(self): return 'a'\nclass B(A):\n    def f(self):\n        y = super().f()", Kind.STRING),
    "super() of a class without such a method is unknown": (
        "class A:\n    def f(self):\n        y = super().f()", Kind.UNKNOWN),
    "super() outside of classes is unknown": ("def f():\n    y = super().f()", Kind.UNKNOWN),
    "a method called on the class": ("class A:\n    @staticmethod\n    def f(): return 'a'\ny = A.f()", Kind.STRING),
    "a static method has no self": (
        "class A:\n    @staticmethod\n    def f(a): return a\n    def g(self):\n        y = self.f('a')", Kind.STRING),
    "a walrus binds": ("if (x := 'a'):\n    y = x", Kind.STRING),
    "a name of an enclosing comprehension": ("y = ['a' for row in z]\nx = [[row for _ in row] for row in y][0][0]", Kind.STRING),
    "a loop over a star unpacking": ("first, *rest = ['a', 'b']\ny = rest[0]", Kind.STRING),
    "a comprehension's other names are the function's": ("x = 'a'\ny = [x for row in z][0]", Kind.STRING),
    "a name bound as an attribute in a comprehension is not its variable": (
        "x = 'a'\ny = [x for a.b in z][0]", Kind.STRING),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), KINDS.values(), ids=KINDS)
def test_kind(text: str, kind: Kind) -> None:
    assert value(text).kind is kind


GRAPHS = {
    "the parts of what a helper of the file gives": (
        "model = nn.Linear(1, 1)\ndef f(x):\n    return model(x).sum(), 1\nloss, n = f(x)\ny = loss", True),
    "a loss that is differentiated with a gradient": ("loss = f(x)\nloss.backward(gradient)\ny = loss", True),
    "a loss of an engine's backward": ("loss = f(x)\nengine.backward(loss)\ny = loss", True),
    "an engine": ("engine = f(x)\nengine.backward(loss)\ny = engine", None),
    "a loss whose data are differentiated": ("loss = f(x)\nloss.data.backward()\ny = loss", None),
    "the logits of a model's output": ("y = net.encoder.run(x).logits", True),
    "logits where gradients are off": ("with torch.no_grad():\n    y = net.encoder.run(x).logits", None),
    "the count that a loss function gives beside the loss": (
        "model = nn.Linear(1, 1)\nout = model(x)\ny = out.accuracy", None),
    "a part of a model's output": ("model = nn.Linear(1, 1)\nout = model(x)\ny = out.hidden", True),
    "a module's own forward": ("class N(nn.Module):\n    def f(self, x):\n        y = self(x)", True),
    "a call of the parameter of a module's method": ("class N(nn.Module):\n    def f(self, x):\n        y = x(x)", None),
    "a call of self of no module": ("class N:\n    def f(self, x):\n        y = self(x)", None),
    "forward called by hand": ("model = nn.Linear(1, 1)\ny = model.forward(x)", True),
    "a loss computed by a module's method": ("model = nn.Linear(1, 1)\ny = model.compute_loss(x)", True),
    "a forward of the file, called by name": (
        "class N(nn.Module):\n    def forward(self, x): return x\n    def f(self, x):\n        y = self.forward(x)", True),
    "a forward of a class that is no module": (
        "class N:\n    def forward(self, x): return 'a'\n    def f(self, x):\n        y = self.forward(x)", False),
    "numpy() of what carries a graph": ("model = nn.Linear(1, 1)\ny = model(x).numpy()", False),
    "a sample of a distribution": ("model = nn.Linear(1, 1)\ny = torch.distributions.Normal(model(x), 1).sample()", False),
    "the log probability under a distribution": (
        "model = nn.Linear(1, 1)\ny = torch.distributions.Normal(model(x), 1).log_prob(a)", True),
    "what a set of outputs hands out": ("model = nn.Linear(1, 1)\nout = model(x)\ny = out.get('loss')", True),
    "an unpacked count beside the loss": ("loss, correct = compute_loss(model(x), z)\ny = correct", None),
    "the loss itself, unpacked": ("loss, correct = compute_loss(model(x), z)\nloss.backward()\ny = loss", True),
}  # fmt: skip


@pytest.mark.parametrize(("text", "graph"), GRAPHS.values(), ids=GRAPHS)
def test_graph(text: str, graph: bool | None) -> None:
    assert value(text).graph is graph


PROVEN = {
    "what is differentiated in each step": ("for x in z:\n    v = f(x)\n    y = v\n    v.backward()", True),
    "what is differentiated in some steps": ("for x in z:\n    v = f(x)\n    y = v\n    if a:\n        v.backward()", False),
    "what is differentiated in the branch that makes it": (
        "v = torch.zeros(1)\nfor x in z:\n    if a:\n        v = f(x)\n        v.backward()\n    y = v", True),
    "what the one before was differentiated for": (
        "v = torch.zeros(1)\nfor x in z:\n    if a:\n        v.backward()\n        v = f(x)\n    y = v", False),
}  # fmt: skip


@pytest.mark.parametrize(("text", "is_tensor"), PROVEN.values(), ids=PROVEN)
def test_uses_that_only_a_tensor_survives(text: str, is_tensor: bool) -> None:
    model = module(text)
    last = max(model.tree.all(ast.Assign), key=lambda each: each.lineno)
    assert model.proof.is_tensor(last.value) is is_tensor


SIZES = {
    "categories are few": ("coco = COCO('a')\ny = coco.getCatIds()", Size.SMALL),
    "all images are as many as the data": ("coco = COCO('a')\ny = coco.getImgIds()", Size.GROWS),
    "the images of one category are few": ("coco = COCO('a')\ny = coco.getImgIds(catIds=[1])", Size.SMALL),
    "the annotations of one image are few": ("coco = COCO('a')\ny = coco.loadAnns([1])", Size.SMALL),
    "what is extended by a file's lines grows": ("y = []\ny.extend(open('a').readlines())\nz = y", Size.GROWS),
    "what is extended by something unknown may grow": ("y = []\ny.extend(x)\nz = y", Size.UNKNOWN),
    "a list of unknown size stays unknown": ("y = list(x)\ny.append(1)\nz = y", Size.UNKNOWN),
    "a list that is filled in a loop over files grows": (
        "y = []\nfor f in glob.glob('*'):\n    y.append(f)\nz = y", Size.GROWS),
    "a list that is filled in a while loop may grow": ("y = []\nwhile x:\n    y.append(1)\nz = y", Size.UNKNOWN),
    "what only another function fills stays as it is": (
        "y = []\ndef f():\n    for each in glob.glob('*'):\n        y.append(each)\nz = y", Size.SMALL),
    "mapping over files grows with them": ("y = map(str, glob.glob('*'))", Size.GROWS),
    "a chain of what grows grows": ("y = itertools.chain.from_iterable([glob.glob('*')])", Size.GROWS),
    "a literal as long as the threshold grows": (f"y = {list(range(5000))}", Size.GROWS),
}  # fmt: skip


@pytest.mark.parametrize(("text", "size"), SIZES.values(), ids=SIZES)
def test_size(text: str, size: Size) -> None:
    found = value(text)
    assert (Size.GROWS if found.grows else found.size) is size


COUNTERS = {
    "an outer loop's number": ("for i, folder in enumerate(folders):\n    for f in os.listdir(folder):\n        y.append(i)", True),
    "a range inside the data": ("for f in os.listdir('a'):\n    for i in range(3):\n        y.append(i)", True),
    "a range around the data": ("for i in range(3):\n    for f in os.listdir('a'):\n        y.append(i)", False),
    "the number of the data": ("for i, f in enumerate(os.listdir('a')):\n    y.append(i)", False),
    "one number repeated": ("for i, f in enumerate(os.listdir('a')):\n    y.extend([i] * 3)", True),
    "something else repeated": ("for f in os.listdir('a'):\n    y.extend([f] * 3)", False),
    "an attribute repeated": ("for f in os.listdir('a'):\n    y.extend([f.x] * 3)", False),
    "the data of an inner loop": ("for a in range(3):\n    for f in os.listdir('a'):\n        y.append(f)", False),
}  # fmt: skip


@pytest.mark.parametrize(("loop", "few"), COUNTERS.values(), ids=COUNTERS)
def test_a_counter_with_few_values_makes_few_objects(loop: str, few: bool) -> None:
    element = value(f"y = []\n{loop}\nz = y").element
    assert (element is not None and element.size is Size.SMALL and element.kind is Kind.NUMBER) is few


STATE = """\
class Rows(Dataset):
    def __init__(self):
        self.data = np.zeros((4, 3))
        self.parts = [np.zeros(3)]
        self.rows = json.load(open("a"))
    def __getitem__(self, i):
        x = y = {}
"""


@pytest.mark.parametrize(
    ("expression", "shared"),
    [
        ("np.array(self.data, copy=False)", True),
        ("np.array(self.data, copy=True)", False),
        ("np.array(self.data)", False),
        ("self.data.astype(float, copy=False)", False),
        ("self.parts[i].get(0)", False),
        ("self.rows[i].pop('a')", False),
        ("self.data.frobnicate()", False),
    ],
)
def test_memory_of_state(expression: str, shared: bool) -> None:
    found = value(STATE.format(expression))
    assert (found.origin is not None and found.origin.kind is OriginKind.STATE) is shared


def test_a_graph_library_gathers_its_features_in_the_main_process() -> None:
    loop = "for batch in DataLoader(d):\n    x = y = batch.{}\n"
    assert value(loop.format("srcdata")).origin is None
    assert value(loop.format("data")).origin is not None


@pytest.mark.parametrize(
    ("loader", "kind"), [("DataLoader(d)", OriginKind.BATCH), ("accelerator.prepare(DataLoader(d))", OriginKind.DEVICE)]
)
def test_a_batch_belongs_to_its_loader_or_to_the_device(loader: str, kind: OriginKind) -> None:
    origin = value(f"for batch in {loader}:\n    x = y = batch").origin
    assert origin is not None
    assert origin.kind is kind


def test_records_that_a_method_rewrites_are_of_no_known_make() -> None:
    rewritten = "    def f(self):\n        for row in self.rows:\n            row['a'] = torch.zeros(3)\n"
    text = (
        "class Rows(Dataset):\n    def __init__(self):\n        self.rows = [{'a': [1]} for each in glob.glob('*')]\n"
    )
    use = "    def g(self):\n        x = y = self.rows[0]['a']\n"
    assert value(text + use).kind is Kind.LIST
    assert value(text + rewritten + use).kind is Kind.UNKNOWN


def test_a_property_is_what_it_returns() -> None:
    text = "class A:\n    {}\n    def name(self): return 'a'\n    def f(self):\n        x = y = self.name"
    assert value(text.format("@property")).kind is Kind.STRING
    assert value(text.format("@other")).kind is not Kind.STRING


def test_a_budget_bounds_the_work_and_what_is_beyond_it_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flake8_torchleak.model.infer._LEAST_BUDGET", 3)
    monkeypatch.setattr("flake8_torchleak.model.infer._BUDGET", 0)
    model = module("y = [[[['a']]]]")
    assert model.infer.value(model.root.body[-1].value).kind is Kind.LIST  # type: ignore[attr-defined]
    assert value("y = [[[['a']]]][0][0][0]").kind is Kind.UNKNOWN


def test_a_parameter_of_a_lambda_is_what_its_name_says() -> None:
    model = module("f = lambda loader, x: [loader, x]")
    display = model.tree.all(ast.List)[0]
    assert [model.infer.value(each).kind for each in display.elts] == [Kind.LOADER, Kind.UNKNOWN]


def test_a_number_is_no_field() -> None:
    assert value("d = {}\nd[0] = 'a'\nd['k'] = [1]\nx = d['k']").kind is Kind.LIST
