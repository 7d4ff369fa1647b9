"""What a fix takes for proven: a tensor, an array, one element, elements of one type."""

from __future__ import annotations

import ast

import pytest

from flake8_torchleak.model.packing import NotPackable, _Elements
from tests.fixer import fixed, mended, reasons
from tests.model import dataset, module, step


def proven(text: str) -> str:
    """What the value of the last assignment is for sure: "tensor", "array", "scalar" (a tensor of one element), ""."""
    model = module(text)
    value = max(model.tree.all(ast.Assign), key=lambda each: each.lineno).value
    proof = model.proof
    if proof.is_tensor(value):
        assert not proof.is_array(value)
        return "scalar" if proof.is_scalar(value) else "tensor"
    assert not proof.is_scalar(value)
    return "array" if proof.is_array(value) else ""


NETWORK = """\
class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 1)
    def forward(self, x):
        return self.inner(x)
"""
AGAIN = """\
class A(nn.Module):
    def set(self, b):
        self.a = {}
        {}
    def f(self):
        x = self.a
"""
VALUES = {
    "unknown": ("x = f()", ""),
    "a torch function": ("x = torch.stack(a)", "tensor"),
    "a torch function that gives something else": ("x = torch.load(a)", ""),
    "a function of torch.nn": ("x = F.relu(a)", "tensor"),
    "one that gives two": ("x = F.max_pool2d_with_indices(a)", ""),
    "one that may give two": ("x = F.max_pool2d(a, 2, return_indices=True)", ""),
    "a loss of torch.nn": ("x = F.mse_loss(a, b)", "scalar"),
    "a loss per element": ("x = F.mse_loss(a, b, reduction='none')", "tensor"),
    "a loss made in the file": ("criterion = nn.MSELoss()\nx = criterion(a, b)", "scalar"),
    "a part": ("a = torch.stack(b)\nx = a.T[0]", "tensor"),
    "another attribute": ("a = torch.stack(b)\nx = a.foo", ""),
    "arithmetic": ("a = torch.stack(b)\nx = -(2 * a) ** 2", "tensor"),
    "a remainder": ("a = torch.stack(b)\nx = a % 2", "tensor"),
    "a text with a tensor": ("a = torch.stack(b)\nx = '%s' % a", ""),
    "a negated question": ("a = torch.stack(b)\nx = not a", ""),
    "both branches": ("a = torch.stack(b)\nx = a if c else -a", "tensor"),
    "one branch": ("a = torch.stack(b)\nx = a if c else None", ""),
    "a method of tensors, of something": ("x = f().unsqueeze(0)", ""),
    "a method of tensors, of an output": ("m = nn.Linear(2, 2)\nx = m(a).unsqueeze(0)", "tensor"),
    "a method of many": ("x = f().to(0)", ""),
    "a method of another kind": ("a = torch.stack(b)\nx = a.frobnicate()", ""),
    "a moved tensor": ("a = torch.stack(b)\nx = a.to(0).cuda()", "tensor"),
    "a mean": ("a = torch.stack(b)\nx = a.mean()", "scalar"),
    "means": ("a = torch.stack(b)\nx = a.mean(0)", "tensor"),
    "a mean and a number": ("a = torch.stack(b).mean()\nx = a * 2 + 1", "scalar"),
    "a mean and a tensor": ("a = torch.stack(b)\nx = a.mean() * a", "tensor"),
    "a helper": ("def f(a):\n    return torch.stack(a)\nx = f(b)", "tensor"),
    "a helper with a decorator": ("@g\ndef f(a):\n    return torch.stack(a)\nx = f(b)", ""),
    "an async helper": ("async def f(a):\n    return torch.stack(a)\nx = f(b)", ""),
    "a helper that gives nothing at times": ("def f(a):\n    if a: return\n    return torch.stack(a)\nx = f(b)", ""),
    "a helper that ends without a result": ("def f(a):\n    if a:\n        return torch.stack(a)\nx = f(b)", ""),
    "a helper that raises at its end": (
        "def f(a):\n    if a:\n        return torch.stack(a)\n    raise ValueError(a)\nx = f(b)",
        "tensor",
    ),
    "a helper that yields": ("def f(a):\n    yield a\n    return torch.stack(a)\nx = f(b)", ""),
    "a helper that is defined twice": (
        "def f(a):\n    return torch.stack(a)\nif c:\n    def f(a):\n        return a\nx = f(b)",
        "",
    ),
    "a method that a class overrides": (
        "class A:\n    def f(self, a):\n        return torch.stack(a)\n    def g(self, b):\n        x = self.f(b)\n"
        "class B(A):\n    def f(self, a):\n        return a",
        "",
    ),
    "the largest, pooled": ("x = F.max_pool2d(a, 2, 2, 0)", "tensor"),
    "the largest and its place": ("x = F.max_pool2d(a, 2, 2, 0, 1, False, True)", ""),
    "the largest, pooled to a size": ("x = F.adaptive_max_pool1d(a, 1)", "tensor"),
    "the largest and its place, by position": ("x = F.adaptive_max_pool1d(a, 1, c)", ""),
    "the largest by options": ("x = F.max_pool2d(a, **b)", ""),
    "the largest by arguments": ("x = F.max_pool2d(a, *b)", ""),
    "a layer that gives output and loss": ("loss = nn.AdaptiveLogSoftmaxWithLoss(2, 2, [1])\nx = loss(a, b)", ""),
    "an array": ("x = np.zeros(3)", "array"),
    "arithmetic of arrays": ("a = np.zeros(3)\nx = 2 * a + 1", "array"),
    "a part of an array": ("a = np.zeros(3)\nx = a[1:].T", "array"),
    "a field of an array": ("a = np.load(b)\nx = a['c']", ""),
    "a method of an array": ("a = np.zeros(3)\nx = a.reshape(3, 1)", "array"),
    "another function of numpy": ("x = np.shape(a)", ""),
    "an array of a tensor": ("x = f().numpy()", "array"),
    "a function of an unknown": ("x = f(np.zeros(3))", ""),
    "a function found elsewhere": ("x = f()(np.zeros(3))", ""),
    "a chain of additions": ("a0 = torch.stack(b)\n" + "".join(f"a{n + 1} = a{n} + 1\n" for n in range(4)), "tensor"),
    "too long a chain": ("a0 = torch.stack(b)\n" + "".join(f"a{n + 1} = a{n} + 1\n" for n in range(20)), ""),
    "too long a chain of arrays": ("a0 = np.zeros(3)\n" + "".join(f"a{n + 1} = a{n} + 1\n" for n in range(20)), ""),
    "a comprehension's variable": ("x = [a for a in b]\nx = 0\nx = [(y := a) for a in b]", ""),
    "of what a network gives": (NETWORK + "m = Network()\nm.parameters()\nx = m(a).mean()", "scalar"),
    "of what no network gives": (
        "class Runs:\n    def __call__(self, x):\n        return model(x)\nm = Runs()\nm.parameters()\nx = m(a).mean()",
        "",
    ),
    "an attribute that is bound once more": (AGAIN.format("f(b)", "if b: self.a = torch.stack(b)"), ""),
    "an attribute that is bound to another tensor": (
        AGAIN.format("torch.zeros(3)", "if b: self.a = torch.stack(b)"),
        "tensor",
    ),
    "an attribute that is bound anew": (AGAIN.format("f(b)", "self.a = torch.stack(b)"), "tensor"),
    "an attribute of the class": (
        "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = torch.zeros(3)\n"
        "    def f(self):\n        x = self.a",
        "tensor",
    ),
}


@pytest.mark.parametrize(("text", "kind"), VALUES.values(), ids=VALUES)
def test_values(text: str, kind: str) -> None:
    assert proven(text) == kind


USES = {
    "before": ("y.sigmoid()\n{}", True),
    "on the same line": ("{}; y.sigmoid()", True),
    "after": ("{}\ny.sigmoid()", True),
    "in a branch that is taken at times": ("if n:\n    y.sigmoid()\n{}", False),
    "in the same branch": ("if n:\n    {}\n    y.sigmoid()", True),
    "in a branch below": ("if n:\n    {}\nelse:\n    y.sigmoid()", False),
    "in a loop below": ("{}\nfor _ in z:\n    y.sigmoid()", False),
    "behind a question": ("n and y.sigmoid()\n{}", False),
    "in a ternary": ("z = y.sigmoid() if n else 0\n{}", False),
    "in a function": ("z = lambda: y.sigmoid()\n{}", False),
    "behind a way out": ("{}\nif n: continue\ny.sigmoid()", False),
    "of another value": ("{}\ny = model(x)\ny.sigmoid()", False),
    "of a value it had before": ("y.sigmoid()\ny = model(x)\n{}", False),
    "in a loss of torch": ("F.mse_loss(y, x)\n{}", True),
    "beside a loss of torch": ("F.mse_loss(x, x, y)\n{}", False),
    "above, in another branch": ("if n:\n    z = y\n{}\nif n:\n    y.sigmoid()", False),
    "of the value before, in the same loop": ("for z in x:\n    {}\n    y = f(z)\n    y.sigmoid()", False),
    "in the branches that bind it": (
        "if n:\n    y = model(x)\n    y.sigmoid()\nelse:\n    y = model(x)\n    y.relu()\n{}",
        True,
    ),
    "in one of the branches that bind it": ("if n:\n    y = model(x)\n    y.sigmoid()\nelse:\n    y = f(x)\n{}", False),
    "by a backward() of something": ("engine.backward(y)\n{}", False),
    "by a backward() of a library": (
        "from accelerate import Accelerator\nengine = Accelerator()\nengine.backward(y)\n{}",
        True,
    ),
    "by a backward() of a library's name": ("accelerator.backward(y)\n{}", False),
    "by what many have": ("y.frobnicate()\n{}", False),
    "as a number": ("model.train()\ny.mean().item()\n{}", True),
    "by a field": ("model.train()\ny.mean\n{}", False),
    "by a method that sequences have": ("model.train()\ny.cpu()\n{}", False),
    "by a method that changes an object": ("y.detach()\n{}", False),
    "by what is detached": ("z = y.detach()\n{}", True),
    "by autograd, of a list or a tensor": ("torch.autograd.backward(y)\n{}", False),
    "by autograd": ("torch.autograd.backward([y])\n{}", True),
}


@pytest.mark.parametrize(("body", "proves"), USES.values(), ids=USES)
def test_uses_that_only_a_tensor_survives(body: str, proves: bool) -> None:
    body = "y = model(x)\n" + body
    before, after = (step(body.format(f"kept.append({kept})"), after="print(kept)") for kept in ("y", "y.detach()"))
    if proves:
        assert fixed(before, codes="TLK402") == after
    else:
        (reason,) = reasons(before, codes="TLK402")
        assert reason.startswith("`y` is not proven to be a tensor")


def test_a_variable_of_a_comprehension_is_another() -> None:
    text = step("z = model(x)\nmodel.train()\n[kept.append(z.mean()) for z in model(y)]", after="print(kept)")
    (reason,) = reasons(text, codes="TLK402")
    assert reason.startswith("`z.mean()` is not proven to be a tensor")


def test_a_number_at_times() -> None:
    text = step("y = criterion(model(x), y)\nif n:\n    y = 0\ntotal += y", after="return total.item()")
    assert len(reasons(text, codes="TLK401")) <= 1


def test_parts_of_displays() -> None:
    for before, after in {
        "kept.append([loss, n, 1])": "kept.append([loss.detach(), n, 1])",
        "kept.append([loss, dict(a=loss, b=n)])": "kept.append([loss.detach(), dict(a=loss.detach(), b=n)])",
        "kept.append({'a': [loss], 'b': n})": "kept.append({'a': [loss.detach()], 'b': n})",
    }.items():
        assert fixed(step(before, after="return kept"), codes="TLK402") == step(after, after="return kept")


ELEMENTS: dict[str, tuple[str, type | None]] = {
    "files": ("x = os.listdir(a)", str),
    "files of two folders": ("x = os.listdir(a) + glob.glob(b)", str),
    "files and numbers": ("x = os.listdir(a) + list(range(3))", None),
    "numbers": ("x = list(range(3))", int),
    "a variable": ("y = sorted(os.listdir(a))\nx = y", str),
    "a variable that is changed": ("y = sorted(os.listdir(a))\ny.append(b)\nx = y", None),
    "a variable of two values": ("y = os.listdir(a)\nif b:\n    y = 1\nx = y", None),
    "a loop's variable": ("for y in a:\n    x = y", None),
    "an unknown": ("x = f(a)", None),
    "one of two": ("x = os.listdir(a) * 2", None),
    "texts": ("x = ['a', 'b' + c, f'{d}', str(e), 'e'.upper(), 'f'[1:]]", str),
    "numbers of one kind": ("x = [1, len(a), int(b)]", int),
    "numbers of another kind": ("x = [1.5, float(a)]", float),
    "numbers of two kinds": ("x = [1, 1.5]", None),
    "truth values": ("x = [True, False]", None),
    "sums": ("x = [a + b]", None),
    "nothing": ("x = []", None),
    "lines of a file": ("x = open(a).readlines()", str),
    "lines of a file by name": ("f = open(a, 'r')\nx = f.read().splitlines()", str),
    "lines of a file in bytes": ("x = open(a, 'rb').readlines()", None),
    "lines of something": ("x = a.readlines()", None),
    "a file": ("x = list(open(a, mode='r'))", str),
    "parts of lines": ("x = [line.split(',')[0] for line in open(a)]", str),
    "beginnings of lines": ("x = [line[:3] for line in open(a)]", str),
    "stems": ("x = [os.path.splitext(name)[0] for name in a]", str),
    "parts of something": ("x = [line.cut()[0] for line in open(a)]", None),
    "letters": ("x = [line[0] for line in open(a)]", None),
    "a loop's element": ("for line in open(a):\n    x = [line]", str),
    "an element by name": ("y = 'a'\nx = [y]", str),
    "an element of two values": ("y = 'a'\nif b:\n    y = 1\nx = [y]", None),
    "pairs": ("x = [name for name, _ in a]", None),
    "too deep": ("x = " + "sorted(" * 9 + "os.listdir(a)" + ")" * 9, None),
    "too deep an element": ("x = [a" + ".strip()" * 9 + "]", None),
}


@pytest.mark.parametrize(("text", "kind"), ELEMENTS.values(), ids=ELEMENTS)
def test_elements(text: str, kind: type | None) -> None:
    model = module(text)
    value = max(model.tree.all(ast.Assign), key=lambda each: each.lineno).value
    assert _Elements(model).kind([("list", value)]) is kind


def test_strings_of_very_different_length_would_only_grow() -> None:
    model = module(f"x = ['a', 'b', 'c', '{'d' * 90}', *['e'] * 9]".replace(", *['e'] * 9", ", 'e'" * 9))
    with pytest.raises(NotPackable, match="its strings differ too much in length"):
        _Elements(model).kind([("list", model.tree.all(ast.Assign)[-1].value)])


def test_a_list_that_begins_with_something() -> None:
    init = "self.data = ['a']\nfor x in os.listdir(root):\n    self.data.append(x)"
    text = dataset(init, "return open(self.data[i])") + "DataLoader(Rows(1, 2), num_workers=2)\n"
    after = fixed(text, unsafe=True, codes="TLK101")
    assert "        self.data = np.array([each.encode() for each in self.data], dtype=np.bytes_)\n" in after


def test_a_file_that_ends_where_the_list_is_filled() -> None:
    text = (
        "from torch.utils.data import DataLoader, Dataset\nimport numpy as np\nimport os\n"
        "def load(): DataLoader(Rows(1), num_workers=2)\n"
        "class Rows(Dataset):\n    def __len__(self): return len(self.data)\n"
        "    def __getitem__(self, i): return open(self.data[i])\n    def __init__(self, root):\n"
        "        self.data = []\n        for x in os.listdir(root): self.data.append(x)"
    )
    assert mended(text, unsafe=True, codes="TLK101").text == text.replace("self.data[i]", "self.data[i].decode()") + (
        "\n        self.data = np.array([each.encode() for each in self.data], dtype=np.bytes_)"
    )


def test_part_of_an_element_is_no_element() -> None:
    text = """\
class Rows(Dataset):
    def __init__(self, paths):
        self.rows = [[0] for path in open(paths)]

    def __getitem__(self, i):
        row = self.rows[i:]
        first = self.rows[i]
        first.append(1)
        return len(row)
"""
    assert fixed(text, codes=("TLK203",)) == text


def test_a_use_above_the_definition_does_not_prove_the_last_one() -> None:
    assert (
        proven("def f(y):\n    loss = 0\n    for x in y:\n        loss.detach()\n        loss = g(x)\n    z = loss")
        == ""
    )
