"""Containers that cannot have many elements: counted where they are made, gone through by each sample, codes."""

from __future__ import annotations

import pytest

from flake8_torchleak.model.counting import has_few
from flake8_torchleak.model.state import StateFacts
from tests.model import codes, dataset, module


def are_many(init: str, arguments: str = "") -> bool:
    """Whether what `self.data` holds is not seen to be few."""
    model = module(dataset(init).replace("root, data)", f"root, data{arguments})"))
    return not has_few(StateFacts(model, model.datasets.all[0], "data"))


def leaks(init: str, sample: str = "return self.data[i]", rest: str = "", arguments: str = "") -> bool:
    """Whether TLK101 is told of a Dataset with workers. rest: what stands behind the class."""
    text = dataset(init, sample).replace("root, data)", f"root, data{arguments})")
    return "TLK101" in codes(text + rest)


@pytest.mark.parametrize(
    ("made", "many"),
    [
        ("[(k, root) for k in range(10_000)]", False),
        ("[(k, root) for k in range(10_001)]", True),
        ("[(k, root) for k in range(5, 100)]", False),
        ("[(k, j) for k in range(100) for j in range(100)]", False),
        ("[(k, j) for k in range(101) for j in range(100)]", True),
        ("[(k, root) for k in range()]", True),
        ("[(k, root) for k in range(-1)]", True),
        ("[(k, root) for k in data]", True),
        ("[(k, root) for k in (1, 2, *data)]", True),
        ("[(k, j) for k, j in {'a': root, 'b': data}.items()]", True),
        ("[(k, root) for k in {'a': root, 'b': data}]", False),
        ("[(k, root) for k in {**data}]", True),
        ("[(k, each) for k, each in enumerate(open(root).readlines()[:most])]", False),
        ("[(k, each) for k, each in zip(range(50), open(root))]", False),
        ("[(k, each) for k, each in zip(data, open(root))]", True),
        ("[json.loads(line) for line in open(root)][:500]", False),
        ("[json.loads(line) for line in open(root)][500:]", True),
        ("[json.loads(line) for line in open(root)][most]", True),
        ("[json.load(open(each)) for each in (data, root)]", True),
        ("{each: [line for line in open(root)] for each in (data, root)}", True),
        ("random.sample([(line, k) for k, line in enumerate(open(root))], 80)", False),
        ("random.sample([(line, k) for k, line in enumerate(open(root))], data)", True),
        ("list(((line, 1) for line in open(root)), *data)", True),
        ("zip()", False),
        ("list(line.split() for line in open(root))", True),
    ],
)
def test_elements_that_are_counted(made: str, many: bool) -> None:
    assert are_many(f"self.data = {made}", ", most=100") == many


@pytest.mark.parametrize(
    ("fill", "many"),
    [
        ("for k in range(100):\n    self.data.append((k, root))", False),
        ("for k in range(100):\n    self.data.extend([(k, root), (root, k)])", False),
        ("for k in range(100):\n    self.data += [(k, each) for each in range(100)]", False),
        ("for k in range(100):\n    self.data += [(k, each) for each in range(101)]", True),
        ("for k in range(100):\n    self.data.extend((k, each) for each in data)", True),
        ("while root:\n    self.data.append((root.pop(), 1))", True),
        ("few = range(100)\nfor k in few:\n    self.data.append((k, root))", False),
        ("few = [1, 2]\nfor k in few:\n    self.data.append((k, root))", False),
        ("few = [1, 2]\nfew.extend(data)\nfor k in few:\n    self.data.append((k, root))", True),
        ("few = data\nfew = [1] if root else few\nfor k in few:\n    self.data.append((k, root))", True),
        ("for k in range(100):\n    self.data[k].append(root)", True),
        ("self.data.extend()", True),
        ("b = a = range(9)\nc = b\nd = c\ne = d\nfor k in e:\n    self.data.append((k, root))", False),
        (
            "b = range(9)\nc = b\nd = c\ne = d\nf = e\ng = f\nh = g\nj = h\nfor k in j:\n    self.data.append((k, 1))",
            True,
        ),
        (
            "b = 9\nc = b\nd = c\ne = d\nf = e\ng = f\nh = g\nj = h\nfor k in range(j):\n    self.data.append((k, 1))",
            True,
        ),
    ],
)
def test_elements_that_are_put_in_one_by_one(fill: str, many: bool) -> None:
    assert are_many(f"self.data = []\n{fill}") == many


TOY = "self.size = size\nself.data = [(random.random(), k) for k in range({})]"


@pytest.mark.parametrize(
    ("count", "argument", "calls", "many"),
    [
        ("size", ", size=100", "", False),
        ("self.size", ", size=100", "", False),
        ("size", ", size=100", "Rows(1, 2)\nRows(1, 2, 50_000)\n", True),
        ("size", ", size=100", "Rows(1, 2, size=500)\n", False),
        ("size", ", size=100", "Rows(1, 2, **options)\n", True),
        ("size", ", size", "Rows(1, 2, 400)\n", False),
        ("size", ", size", "Rows(1, 2, root)\n", True),
        ("size", ", size", "", True),
        ("size", ", size=None", "", True),
    ],
)
def test_numbers_that_a_class_is_given(count: str, argument: str, calls: str, many: bool) -> None:
    assert leaks(TOY.format(count), rest=calls, arguments=argument) == many


PARTS = """
self.files = sorted(glob.glob(root))
self.data = data
"""


@pytest.mark.parametrize(
    ("sample", "many"),
    [
        ("for path in self.files:\n    i += len(path)\nreturn i", False),
        ("for path, size in zip(self.files, self.data):\n    i += size\nreturn i", False),
        ("return self.files.index(i)", False),
        ("return self.files.copy()", True),
        ("return [path for path in self.files]", True),
        ("return random.choice(self.files)", True),
        ("return self.files[i]", True),
        ("if i:\n    for path in self.files:\n        i += len(path)\nreturn i", True),
    ],
)
def test_what_each_sample_goes_through(sample: str, many: bool) -> None:
    assert leaks(PARTS, sample) == many


def test_streams_and_what_is_counted_are_gone_through_once() -> None:
    counted = dataset("self.data = sorted(glob.glob(root))", "for path in self.data:\n    i += len(path)\nreturn i")
    assert "TLK101" in codes(counted)
    stream = counted.replace("__getitem__(self, i)", "__iter__(self)").replace("i += len(path)", "yield path")
    assert "TLK101" in codes(stream.replace("return i", "return"))


def test_what_a_helper_goes_through_now_and_then() -> None:
    text = dataset(
        PARTS, "return self.find(i)", "def find(self, i):\n    for path in self.files:\n        i += 1\n    return i"
    )
    assert "TLK101" not in codes(text)
    assert "TLK101" in codes(text.replace("return self.find(i)", "return self.find(i) if i else 0"))


CODES = """
self.data, self.first, self.second = np.load(data), {}, {}
for line in open(root):
    number, name = line.split()
"""


@pytest.mark.parametrize(
    ("entries", "many"),
    [
        ("    self.first[name] = number\n    self.second[number] = name", False),
        ("    self.first[name] = number\n    self.second[name] = number", True),
        ("    self.first[name] = number\n    self.second[number].append(name)", True),
        ("    self.first[name] = number\nself.second = {b: a for a, b in self.first.items()}", False),
        ("    self.second[name] = number\nself.first = {b: a for a, b in self.second.items()}", False),
        ("    self.first[name] = number\nself.second = {a: b for a, b in self.first.items()}", True),
        ("    self.first[name] = number\nself.second = {b: a for a, b in other(self.first)}", True),
        ("    self.first[name] = number\nself.second = {b: a for a, b in root.items() for c in b}", True),
    ],
)
def test_tables_of_codes(entries: str, many: bool) -> None:
    assert leaks(CODES.strip() + "\n" + entries, "return self.first[str(self.data[i])]") == many


IMAGES = """
self.images = {}
self.marks = [int(line) for line in open(root)]
"""


@pytest.mark.parametrize(
    ("images", "sample", "many"),
    [
        ("np.load(data).reshape(-1, 28, 28)", "return self.images[i] / 255, self.marks[i]", False),
        ("np.load(data).reshape((-1, 28, 28))", "return self.images[i] / 255, self.marks[i]", False),
        ("np.load(data)", "return Image.fromarray(self.images[i]), self.marks[i]", False),
        ("np.load(data)", "return self.images[i].transpose(2, 0, 1), self.marks[i]", False),
        ("torch.zeros(len(data), 8)", "return self.images[i].permute((2, 0, 1)), self.marks[i]", False),
        ("np.load(data)", "return self.images[i] / 255, self.marks[i]", True),
        ("np.load(data).reshape(-1, 8)", "return self.images[i] / 255, self.marks[i]", True),
        ("np.load(data)", "return self.images[i].reshape(), self.marks[i]", True),
        ("np.load(data, mmap_mode='r').reshape(-1, 28, 28)", "return self.images[i] / 255, self.marks[i]", True),
        ("np.load(data).reshape(-1, 28, 28)", "return self.images[0] / 255, self.marks[i]", True),
        ("np.load(data).reshape(-1, 28, 28)", "return self.images[i] / 255, self.marks[0]", True),
        ("open(data).read()", "return self.images[i], self.marks[i]", True),
    ],
)
def test_numbers_beside_images(images: str, sample: str, many: bool) -> None:
    text = dataset(IMAGES.format(images), sample).replace("len(self.data)", "len(self.marks)")
    assert ("TLK101" in codes(text)) == many
    assert "TLK101" in codes(text.replace("int(line)", "line.strip()"))
