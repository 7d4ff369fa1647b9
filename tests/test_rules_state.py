"""What Datasets hold: TLK102 to TLK106 and TLK902, where their fixtures do not already say it."""

from __future__ import annotations

import pytest

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Severity
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.lint import lint
from tests.model import IMPORTS, codes, dataset

LIBRARIES = "import functools, h5py, lmdb, pathlib, pyarrow.parquet, sqlite3, tarfile\n"


def found(init: str, sample: str = "return self.data[i]", rest: str = "pass", before: str = "") -> list[str]:
    """The codes of this file's rules that are found in a Dataset."""
    text = LIBRARIES + before + dataset(init, sample, rest)
    everything = codes(text)
    assert "TLK000" not in everything
    return [code for code in everything if code in ("TLK102", "TLK103", "TLK104", "TLK105", "TLK106", "TLK902")]


DATA = "self.data = np.load(root)\n"


@pytest.mark.parametrize(
    ("init", "sample", "rest", "leaks"),
    [
        ("self.c = {}", "self.c[i] = self.data[i]", "", True),
        ("self.c = {}", "self.c[i:i + 1] = self.data[i]", "", False),
        ("self.c = {}", "self.c[0][i] = self.data[i]", "", False),
        ("self.c = {}", "self.c['last'] = self.data[i]", "", False),
        ("self.c = {}", "self.c['all'].append(self.data[i])", "", False),
        ("self.c = {}", "self.c[i] = self.c[0]", "", False),
        ("self.c = {}", "self.c.setdefault(i)", "", False),
        ("self.c = {}", "self.c[i] = len(self.data)", "", False),
        ("self.c = {}", "self.c[self.other] = self.data[i]", "", False),
        ("self.c = collections.deque(maxlen=3)", "self.c.append(self.data[i])", "", False),
        ("self.c = collections.deque(maxlen=3)", "self.c += [self.data[i]]", "", False),
        ("self.c = collections.deque()", "self.c.append(self.data[i])", "", True),
        ("self.c = root", "self.c.append(self.data[i])", "", False),
        ("self.c = []", "self.note(i)", "def note(self, n):\n    self.c.append(n)", True),
        ("self.c = []", "if self.debug:\n    self.note(i)", "def note(self, n):\n    self.c.append(n)", False),
        ("self.c = []", "if i not in self.c:\n    self.c.append(i)", "", True),
        ("self.c = []", "self.c = []\nself.c.append(i)", "", False),
        ("self.c = None", "if self.c is None:\n    self.c = [None] * 9\nself.c[i] = self.data[i]", "", True),
        ("self.c = {}", "name = self.names[i]\nself.c[name] = read(name)", "", False),
        ("self.c = {}", "name = self.names[i]\nself.c[name] = np.load(name)", "", True),
        ("self.c = {}", "name = self.names[i]\nx = y = cv2.imread(name)\nself.c[name] = x", "", True),
        ("self.c = {}", "if len(self.c) < 50:\n    self.c[i] = self.data[i]", "", False),
        ("self.c = {}", "if len(self.c) < root:\n    self.c[i] = self.data[i]", "", False),
        ("self.c = {}", "if 5000 > len(self.c):\n    self.c[i] = self.data[i]", "", True),
        ("self.c, self.n = {}, 10", "if len(self.c) < self.n:\n    self.c[i] = self.data[i]", "", False),
        ("self.c, self.n = {}, root", "if len(self.c) < self.n:\n    self.c[i] = self.data[i]", "", False),
        ("n = 5000\nself.c, self.n = {}, n", "if len(self.c) < self.n:\n    self.c[i] = self.data[i]", "", True),
        (
            "n = 1\nn += 5000\nself.c, self.n = {}, n",
            "if len(self.c) < self.n:\n    self.c[i] = self.data[i]",
            "",
            False,
        ),
        ("self.c = {}", "if len(self.c) < self.nowhere:\n    self.c[i] = self.data[i]", "", False),
        ("self.c = {}", "if max(i) < 5:\n    pass\nself.c[i] = self.data[i]", "", True),
        ("self.c = {}", "local = {}\nlocal[i] = self.data[i]\nroot.x[i] = 1\nopen(root)[i] = 2", "", False),
    ],
)
def test_what_grows_in_a_worker(init: str, sample: str, rest: str, leaks: bool) -> None:
    assert found(DATA + init, sample + "\nreturn torch.tensor(self.data[i])", rest) == ["TLK104"] * leaks


def test_variables_of_the_module_grow_too() -> None:
    sample = "SEEN.append(self.data[i])\nreturn torch.tensor(self.data[i])"
    assert found(DATA, sample, before="SEEN = []\n") == ["TLK104"]
    assert found(DATA, sample, before="from elsewhere import SEEN\n") == []
    assert found(DATA, sample, before="SEEN = []\nSEEN = {}\n") == []
    assert found(DATA, "nowhere.append(i)\nreturn torch.tensor(self.data[i])") == []
    local = "seen = []\ndef put():\n    seen.append(i)\nput()\nreturn torch.tensor(self.data[i])"
    assert found(DATA, local) == []


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("if len(kept) < 50:\n        kept.append(value)", False),
        ("if len(kept) < 1000000000:\n        kept.append(value)", True),
        ("if len(value) < 50:\n        kept.append(value)", True),
        ("put_in(kept, value)", False),
    ],
)
def test_who_adds_may_bound_it(body: str, leaks: bool) -> None:
    helper = (
        f"def put(kept, value):\n    {body}\ndef put_in(held, one):\n    if len(held) < 50:\n        held.append(one)\n"
    )
    sample = "put(self.c, self.data[i])\nreturn torch.tensor(self.data[i])"
    assert found(DATA + "self.c = []", sample, before=helper) == ["TLK104"] * leaks


@pytest.mark.parametrize(
    ("decorator", "signature", "call", "leaks"),
    [
        ("functools.cache", "read(self, n)", "self.read(i)", True),
        ("functools.cache", "read(self, n)", "self.read(n=i)", True),
        ("functools.cache", "read(self, n)", "self.read(self.nowhere)", False),
        ("functools.cache", "read(self, n)", "self.read([x for x in self.nowhere])", False),
        ("functools.cache", "read(self, n)", "self.read(np)", False),
        ("memoize", "read(self, n)", "self.read(i)", True),
        ("functools.cache", "read(self)", "self.read()", False),
        ("functools.lru_cache()", "read(self, n)", "self.read(i)", False),
        ("functools.lru_cache(None)", "read(self, n)", "self.read(i)", True),
        ("functools.wraps(print)", "read(self, n)", "self.read(i)", False),
        ("staticmethod", "read(n)", "self.read(i)", False),
    ],
)
def test_what_remembers_every_sample(decorator: str, signature: str, call: str, leaks: bool) -> None:
    rest = f"@{decorator}\ndef {signature}:\n    return np.load('x')"
    assert found(DATA, f"return {call}", rest) == ["TLK104"] * leaks


def test_what_is_remembered_may_be_small_or_asked_for_through_helpers() -> None:
    small = "@functools.cache\ndef size(self, n):\n    return len(self.data[n])"
    assert found(DATA, "return torch.zeros(self.size(i))", small) == []
    helper = "def pick(self, a, *rest):\n    return self.read(a), self.read(rest)\n"
    both = helper + "@functools.cache\ndef read(self, n):\n    return np.load('x')"
    assert found(DATA, "return self.pick(i)", both) == ["TLK104"]
    assert found(DATA, "return self.pick(*i)", both) == []


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("return open(n)", True),
        ("h = zipfile.ZipFile(n)\n    return h", True),
        ("if n:\n        return None\n    return h5py.File(n)", True),
        ("with open(n) as file:\n        return file.name", False),
        ("return", False),
    ],
)
def test_a_memo_may_keep_files_open(body: str, leaks: bool) -> None:
    """How many there are is not in sight: a note."""
    rest = f"@functools.cache\ndef read(self, n):\n    {body}"
    text = IMPORTS + "import zipfile\n" + LIBRARIES + dataset(DATA, "return self.read(i).tell()", rest)
    told = [(each.code, each.severity) for each in lint(text, Config(min_severity="note"))]
    assert (("TLK104", Severity.NOTE) in told) == leaks


def test_a_memo_gets_a_bound_and_other_growth_no_fix() -> None:
    rest = "@functools.lru_cache(maxsize=None)\ndef read(self, n):\n    return np.load('x')"
    text = IMPORTS + LIBRARIES + dataset(DATA + "self.c = {}", "self.c[i] = self.read(i)\nreturn self.c[i] + 1", rest)
    fixed = fix(text, Config(), unsafe=True, takes=lambda code: code == "TLK104")
    assert fixed.text == text.replace("maxsize=None", "maxsize=128")
    assert [each.code for each in fixed.left] == ["TLK104"]


@pytest.mark.parametrize(
    ("init", "sample", "rest", "leaks"),
    [
        ("self.h = h5py.File(root)", "return self.h['x'][i]", "", True),
        ("self.h = h5py.File(root)\nself.h.close()", "return self.h['x'][i]", "", False),
        ("h = h5py.File(root)\nself.h = h\nh.close()", "return self.h['x'][i]", "", False),
        ("self.h = self.h", "return self.h['x'][i]", "", False),
        ("self.h = h5py.File(root)['a']['b']", "return self.h[i]", "", True),
        ("self.h = h5py.File(root)['a'][()]", "return torch.tensor(self.h[i])", "", False),
        ("self.h = h5py.File(root)['a'][0, :]", "return torch.tensor(self.h[i])", "", False),
        ("self.h = h5py.File(root).root.a", "return self.h[i]", "", True),
        ("self.h = h5py.File(root).get('a')", "return self.h[i]", "", True),
        ("self.h = lmdb.open(root).begin().get('a')", "return self.h[i]", "", False),
        ("self.h = root.get('a')", "return self.h[i]", "", False),
        ("self.h = tarfile.open(root).name", "return self.h[i]", "", False),
        ("self.h = [h5py.File(root)]", "return self.h[0]['x'][i]", "", True),
        ("self.h = {0: h5py.File(root)}", "return self.h[0]['x'][i]", "", True),
        ("self.h = [h5py.File(p) for p in data]", "return self.h[0]['x'][i]", "", True),
        ("self.h = None\nfor self.h in [1]:\n    pass", "return self.h['x'][i]", "", False),
        ("self.h = h5py.File(root)", "return 0 if self.h is None else self.h.filename", "", False),
        (f"self.h = h5py.File(root){16 * '[0]'}", "return self.h[i]", "", False),
        ("self.h = np.load('a.npz')", "return torch.tensor(self.h['x'][i])", "", True),
        ("self.h = np.load('a.npz', mmap_mode='r')", "return torch.tensor(self.h['x'][i])", "", False),
        (
            "self.h = self.make(root)",
            "return self.h.read(i)",
            "def make(self, p):\n    return sqlite3.connect(p)",
            True,
        ),
        ("self.h = self.make(root)", "return self.h.read(i)", "def make(self, p):\n    return 1", False),
        ("self.h = self.make(root)", "return self.h.read(i)", "def make(self, p):\n    return self.make(p)", False),
        ("self.h: object = None", "return self.h.read(i)", "", False),
        ("self.setup(root)", "return self.h.read(i)", "def setup(self, p):\n    self.h = zipfile.ZipFile(p)", True),
        ("pass", "return self.h.read(i)", "def setup(self, p):\n    self.h = zipfile.ZipFile(p)", False),
        ("self.h = zipfile.ZipFile(root)", "self.h = None\nreturn i", "", False),
        ("self.h = zipfile.ZipFile(root)\nself.n = self.h.namelist()", "return self.n[0] + str(i)", "", False),
    ],
)
def test_what_is_open_before_workers_start(init: str, sample: str, rest: str, leaks: bool) -> None:
    assert found(init, sample, rest) == ["TLK105"] * leaks


def test_a_handle_opened_by_a_function_of_the_module_is_reported_where_it_is_bound() -> None:
    before = "def make(p):\n    return zipfile.ZipFile(p)\n"
    assert found("self.h = make(root)\nself.g = make(root)", "return self.h.read(i), self.g.read(i)", "", before) == [
        "TLK105"
    ]


@pytest.mark.parametrize(
    ("init", "sample", "leaks"),
    [
        ("self.data = np.array(data, dtype=object)", "return str(self.data[i])", True),
        ("self.data = np.array(data, dtype=float)", "return self.data[i] + 1", False),
        ("self.data = np.array(data, 'O')", "return str(self.data[i])", True),
        ("self.data = sorted(np.array(data, dtype=object))", "return str(self.data[i])", True),
        ("self.data = np.array(data, dtype=object).copy()", "return str(self.data[i])", True),
        ("self.data = np.array(data, dtype=object).sum()", "return str(self.data[i])", False),
        ("self.data = np.array()", "return str(self.data[i])", False),
        ("self.data = np.array([p for p in pathlib.Path(root).glob('*')])", "return np.load(self.data[i])", True),
        ("self.data = pd.read_csv(root)['path'].to_numpy()", "return np.load(self.data[i])", True),
        ("self.data = pd.read_csv(root)['n'].to_numpy()", "return self.data[i] + 1", False),
        ("self.data = pd.read_csv(root).path.to_numpy()", "return np.load(self.data[i])", False),
        ("self.data = pd.read_csv(root)[data].to_numpy()", "return np.load(self.data[i])", False),
        ("self.data = data['path'].to_numpy()", "return np.load(self.data[i])", False),
        ("self.data = data\nself.data = x = data", "return str(self.data[i])", False),
        ("a = np.array(data, dtype=object)\nif root:\n    a = 1\nself.data = a", "return str(self.data[i])", False),
    ],
)
def test_what_is_made_of_objects(init: str, sample: str, leaks: bool) -> None:
    assert found(init, sample) == ["TLK102"] * leaks


@pytest.mark.parametrize(
    ("init", "sample", "leaks"),
    [
        ("self.data = pd.read_csv(root)", "return self.data.iloc[i]['a']", True),
        ("self.data = pd.read_csv(root)", "return self.data['a'].values[i]", True),
        ("self.data = pd.read_csv(root)", "return self.data['a'][i]", True),
        ("self.data = pd.read_csv(root)", "return self.data['a'].sum()", False),
        ("self.data = None\nif root:\n    self.data = pd.read_csv(root)", "return self.data.iloc[i]['a']", True),
        ("self.data = pd.read_csv(root)" + "[data]" * 8, "return self.data.iloc[i]['a']", False),
        ("self.data = pd.read_csv(root)", "return self.data.columns[i]", False),
        ("self.data = pd.DataFrame(data)", "return self.data.iloc[i]['a']", False),
        ("self.data = pd.read_csv(root).astype(float)", "return self.data.iloc[i]['a']", False),
        ("self.data = pd.read_csv(root)\nself.other = data", "return self.data.take(i)", True),
        ("self.data = pd.read_csv(root) + 1", "return self.data.iloc[i]['a']", False),
        ("table = pd.read_csv(root)\nself.data = table[table.a]", "return self.data.iloc[i]['a']", True),
        ("self.data = table = pd.concat(data)\ntable = table[0]", "return self.data.iloc[i]['a']", False),
    ],
)
def test_which_tables_may_hold_strings(init: str, sample: str, leaks: bool) -> None:
    assert found(init, sample) == ["TLK902"] * leaks


def test_lists_of_tensors_are_told_from_lists_of_other_things() -> None:
    assert found("self.data = [torch.load(p) for p in glob.glob(root)]", "return self.data[i] + 1") == ["TLK103"]
    assert found("self.data = [load(p) for p in glob.glob(root)]", "return self.data[i] + 1") == []
    twice = "self.data = []\nfor p in glob.glob(root):\n    x = torch.load(p)\n    self.data.append(x)"
    assert found(twice, "return self.data[i] + 1") == ["TLK103"]
    changed = twice.replace("    self.data", "    if root:\n        x = data\n    self.data")
    assert found(changed, "return self.data[i] + 1") == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("json.load(open(path))", "warning"),
        ("[json.loads(line) for line in open(path)]", "warning"),
        ("[line.split() for line in open(path)]", "warning"),
        ("[{'line': line} for line in open(path)]", "warning"),
        ("open(path).readlines()", "note"),
        ("[load(line) for line in open(path)]", "note"),
        ("[(line, np.load(line)) for line in glob.glob(path)]", "note"),
        ("[{'points': np.load(line)} for line in glob.glob(path)]", "note"),
        ("{line: len(line) for line in open(path)}", "note"),
    ],
)
def test_what_lists_for_workers_hold(rows: str, expected: str) -> None:
    """Records are copied by each worker; of arrays the headers; texts and numbers are small, as in TLK101."""
    found = lint(f"import glob, json\n{IMPORTS}\nrows = {rows}\nDataLoader(rows, num_workers=2)\n")
    assert [each.severity.value for each in found if each.code == "TLK106"] == [expected]


def test_a_list_is_a_dataset_only_where_it_is_handed_over_with_workers() -> None:
    lines = "lines = open(path).readlines()\n"
    assert codes(lines + "DataLoader(lines, num_workers=2)") == ["TLK106"]
    assert codes(lines + "DataLoader(lines, num_workers=0)") == []
    assert codes(lines + "DataLoader(num_workers=2)") == []
    assert codes(lines + "DataLoader(['a', 'b'], num_workers=2)") == []
    subsets = "sets = [Subset(d, p) for p in open(path)]\nDataLoader(sets, num_workers=2)\n"
    assert codes("from torch.utils.data import Subset\n" + subsets) == []
