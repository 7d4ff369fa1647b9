"""What well-kept libraries do, where it looks like a leak and is none: each with the leak that it looks like."""

from __future__ import annotations

import textwrap

import pytest

from flake8_torchleak.lint import lint
from tests.model import IMPORTS, codes

ATTENTION = """
    class Cache:
        def __init__(self):
            self.key = None
        def store(self, key):
            self.key = key
        def get(self):
            return self.key

    class Caches:
        def __init__(self, layers):
            self.layers = [Cache() for _ in range(layers)]
        def get(self, at):
            return self.layers[at]

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)
            self.kept = torch.zeros(4)
        def forward(self, x, mask, {parameter}):
            key = self.proj(x)
            {body}
            return key
"""


@pytest.mark.parametrize(
    ("parameter", "body", "leaks"),
    [
        # What one call put there is read by the next, scaled, and let go of.
        ("mode", "earlier = self.kept\nearlier = earlier * 2\nself.kept = key\nkey = key + earlier", False),
        ("mode", "earlier = self.kept\nearlier = earlier * 2 + key\nself.kept = earlier", True),
        ("mode", "earlier = self.kept\nearlier = earlier * 2\nearlier = earlier + key\nself.kept = earlier", True),
        # What the caller hands over may be another one each time.
        ("cache: Cache", "cache.key = cache.key + key", False),
        ("caches: Caches", "caches.get(0).store(caches.get(0).get() + key)", False),
        ("shared", "shared['key'] = shared['key'] + key", False),
        ("*, shared", "shared.key = shared.key + key", False),
        ("cache: Cache", "self.kept = self.kept.detach() + key\ncache.key = cache.key + key", False),
        ("*, shared", "self.kept = self.kept.detach() + key\nshared.key = shared.key + key", False),
        ("mode", "self.kept = self.kept + key", True),
    ],
)
def test_what_a_forward_pass_goes_on_with(parameter: str, body: str, leaks: bool) -> None:
    text = ATTENTION.format(parameter=parameter, body=body.replace("\n", "\n            "))
    assert ("TLK601" in codes(text)) == leaks


STATE = """
    class Unit(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)
            self.state = torch.zeros(4)
        def scan(self, x, state):
            for t in range(x.shape[1]):
                state = state * 0.5
                state = state + self.proj(x[:, t])
            return state
        def forward(self, x):
            state = self.scan(x, self.state)
            self.state = state
            return state

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.unit = Unit()
        def forward(self, x, caches=False):
            x = self.unit(x)
            if not caches:
                {after}
            return x
        def start(self, batch):
            {start}
"""


@pytest.mark.parametrize(
    ("start", "after", "leaks"),
    [
        ("self.unit.state = torch.zeros(batch, 4)", "pass", False),
        ("pass", "self.unit.state = None", False),
        ("pass", "pass", True),
    ],
)
def test_a_state_that_another_object_starts_anew(start: str, after: str, leaks: bool) -> None:
    assert ("TLK601" in codes(STATE.format(start=start, after=after))) == leaks


BASE = """
    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)
            self.cache = {{"key": None}}
        def {method}(self):
            self.cache = {{"key": None}}

    class Attention(Base):
        def forward(self, x):
            key = self.proj(x)
            if self.cache["key"] is not None:
                key = torch.cat([self.cache["key"], key], dim=1)
            self.cache["key"] = key
            return key
"""


@pytest.mark.parametrize("method", ["reset_cache", "start"])
def test_a_state_that_a_base_class_starts_anew(method: str) -> None:
    assert "TLK601" not in codes(BASE.format(method=method))
    kept = BASE.format(method=method).replace('self.cache = {"key": None}\n\n', "pass\n\n")
    assert "TLK601" in codes(kept)


def test_one_of_many_results() -> None:
    """A tuple of ten parts: what is added up is a time, and the list beside it is what keeps the losses."""
    text = """
        import time

        def play(net, opt):
            start, kept = time.perf_counter(), []
            for x in DataLoader(data):
                loss = net(x).mean()
                loss.backward()
                opt.step()
                kept.append(loss)
            return 1, 2, 3, time.perf_counter() - start, kept, 4, 5, 6, 7, 8

        def train(net, opt):
            total = 0
            while True:
                a, b, c, spent, kept, d, e, f, g, h = play(net, opt)
                total += spent
    """
    assert codes(text) == ["TLK402"]


CACHED = """
    class Images(Dataset):
        def __init__(self, files):
            self.files = files
            self.images, self.sizes = [None] * len(files), [None] * len(files)
            self.order = []
        def __len__(self):
            return len(self.files)
        def __getitem__(self, i):
            image = self.images[i]
            if image is None:
                image = cv2.imread(self.files[i])
                self.images[i], self.sizes[i] = image, image.shape
                {drop}
            return image
    loader = DataLoader(Images(glob.glob("*")), num_workers=4)
"""


@pytest.mark.parametrize(
    ("drop", "leaks"),
    [
        ("self.images[i - 9], self.sizes[i - 9] = None, None", False),
        ("self.images[i - 9] = self.sizes[i - 9] = None", False),
        ("self.images[i - 9], self.sizes[i - 9] = image, None", True),
        ("self.images[i - 9], self.sizes[i - 9] = self.both()", True),
    ],
)
def test_a_cache_whose_oldest_entries_go(drop: str, leaks: bool) -> None:
    assert ("TLK104" in codes(CACHED.format(drop=drop))) == leaks


STREAMS = """
    class Streams(Dataset):
        def __init__(self, files):
            self.files = files
            self.streams = {made}
        def __len__(self):
            return len(self.files)
        def __getitem__(self, i):
            name = self.files[i]
            {read}
            self.streams[name] = np.load(name)
            return 0
    loader = DataLoader(Streams(glob.glob("*")), num_workers=4)
"""


@pytest.mark.parametrize(
    ("made", "read", "leaks"),
    [
        ("{}", "next(self.streams[name])", False),
        ("{each: None for each in files}", "next(self.streams[name])", False),
        ("{}", "pass", True),
        ("{}", "del i", True),
        ("collections.defaultdict(list)", "print(self.streams[name])", True),
        ("{}", "try:\n    return next(self.streams[name])\nexcept StopIteration:\n    pass", False),
        ("{}", "try:\n    return self.streams[name]\nexcept KeyError:\n    pass", True),
        ("{}", "try:\n    return self.streams[name]\nexcept (ValueError, KeyError):\n    pass", True),
        ("{}", "try:\n    return self.streams[name]\nexcept:\n    pass", True),
        ("{}", "if name in self.streams:\n    return self.streams[name]", True),
        ("{}", "if i > 3:\n    next(self.streams[name])", False),
        ("{}", "name in self.streams and print(self.streams[name])", True),
        ("{}", "i > 3 and print(self.streams[name])", False),
    ],
)
def test_an_entry_that_was_there(made: str, read: str, leaks: bool) -> None:
    text = STREAMS.format(made=made, read=read.replace("\n", "\n            "))
    assert ("TLK104" in codes(text)) == leaks


LOGGED = """
    class Rows(Dataset):
        def __init__(self, files, counts):
            self.rows = [json.load(open(each)) for each in files]
            self.counts = [{{"seen": 0, "times": []}} for _ in files]
            self.sums = [np.zeros(3) for _ in open(files)]
        def __len__(self):
            return len(self.rows)
        def __getitem__(self, i):
            {edit}
            return {result}
"""


@pytest.mark.parametrize(
    ("edit", "result", "leaks"),
    [
        ("self.counts[i]['times'].append(i)", "self.rows[i]", False),
        ("self.sums[i][0] += 1", "self.rows[i]", False),
        ("self.sums[i][0] += 1", "self.rows[i], self.sums[i]", True),
        ("self.counts[i]['times'].append(i)", "self.rows[i], self.counts[i]", True),
        ("self.counts[i]['times'].append(i)", "self.rows[i], len(self.counts[i]['times'])", True),
        ("self.counts[i]['times'].append(i)\nlast = self.counts[i]['times'][-1]", "self.rows[i], last", True),
        ("self.counts[i]['times'].append(i)\nself.show(self.counts[0].items)", "self.rows[i]", True),
    ],
)
def test_a_log_that_no_sample_is_made_of(edit: str, result: str, leaks: bool) -> None:
    text = LOGGED.format(edit=edit.replace("\n", "\n            "), result=result)
    assert ("TLK203" in codes(text)) == leaks


AVERAGED = """
    class Average:
        def __init__(self):
            self.value, self.count = 0, 0
        def add(self, x):
            self.value = (self.value * self.count + x) / (self.count + 1)
            self.count += 1

    def fit(model, loader, opt, steps):
        average, shown = Average(), {{}}
        for x, y in DataLoader(loader):
            out = model(x)
            loss = F.cross_entropy(out, y)
            total = loss + out.norm()
            opt.zero_grad()
            total.backward()
            opt.step()
            {kept}
"""


def severities(kept: str) -> list[tuple[str, str]]:
    text = IMPORTS + textwrap.dedent(AVERAGED.format(kept=kept.replace("\n", "\n            ")))
    return [(each.code, each.severity.value) for each in lint(text)]


def test_a_network_by_its_name_that_is_differentiated() -> None:
    """Then it is a network: what is kept of it is certain."""
    assert severities("average.add(loss)") == [("TLK403", "warning")]


def test_what_is_divided_by_a_number_of_the_configuration() -> None:
    """That adds no history, though nobody says that it is a number."""
    kept = "shown['n'] = shown.get('n', 0) + loss\nshown['n'] = shown['n'] / steps.every"
    assert severities(kept) != []
    assert severities(f"{kept}\nprint(shown['n'])\nshown['n'] = 0") == []


COMPUTER = """
    class Computer:
        def __init__(self):
            self.seen = torch.zeros(1)
        def loss(self, out, y):
            loss = self.one(out, y)
            self.keep(loss)
            return loss
        def one(self, out, y):
            return (out - y).abs().mean()
        def keep(self, loss):
            self.seen = self.seen + loss

    def fit(net, loader, opt):
        computer = Computer()
        for x, y in DataLoader(loader):
            {call}
            opt.zero_grad()
            loss.backward()
            opt.step()
"""


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        ("loss = each(computer, net(x), y)", "at line {} add it with `.detach()`"),
        ("loss = net(x).mean()\n            each(computer, loss, y)", "pass it with `.detach()`"),
    ],
)
def test_where_to_detach_what_a_call_gives(call: str, remedy: str) -> None:
    """Not its arguments, if what it gives is differentiated: nothing would be trained."""
    text = IMPORTS + textwrap.dedent(
        COMPUTER.format(call=call)
        + """
    def each(computer, out, y):
        return computer.loss(out, y)
    """
    )
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "self.seen + loss" in each)
    (found,) = lint(text)
    assert found.message.endswith(remedy.format(line))


@pytest.mark.parametrize("count", [3, 30, 60, 90])
def test_histories_that_are_too_long_to_remember(count: int) -> None:
    """What began them is forgotten then, but not that they have begun."""
    steps = "".join(f"        x = torch.sin(x) + x * {n}\n" for n in range(count))
    text = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n"
        f"    def forward(self, x):\n        x = self.a(x)\n{steps}        return x\n"
        "def fit(opt):\n    net, total = Net(), {}\n    for x in DataLoader(data):\n        loss = net(x).mean()\n"
        "        opt.zero_grad()\n        loss.backward()\n        opt.step()\n"
        "        total['n'] = total.get('n', 0) + net(x).std()\n    return total\n"
    )
    assert [(each.code, each.severity.value) for each in lint(IMPORTS + text)] == [("TLK401", "error")]


RESET = """
    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)
            self.register_buffer("mean", torch.zeros(4))
            {made}
        def reset(self):
            self.reset_mean()
        def reset_mean(self):
            self.mean.zero_()

    class Norm(Base):
        def forward(self, x):
            x = self.proj(x)
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
            return x
        {later}
"""


@pytest.mark.parametrize(
    ("made", "later", "leaks"),
    [
        ("self.reset()", "", True),
        ("self.reset()", "def start(self):\n            self.reset()", False),
        ("self.reset()", "def start(self):\n            self.mean = torch.zeros(4)", False),
        ("pass", "", False),
    ],
)
def test_a_state_that_the_constructor_alone_resets(made: str, later: str, leaks: bool) -> None:
    assert ("TLK601" in codes(RESET.format(made=made, later=later))) == leaks


LAYERS = """
    class Graph(nn.Module):
        def __init__(self, count):
            super().__init__()
            self.start = nn.Parameter(torch.ones(4))
            self.sums = [None] * (count + 1)
            self.sums[0] = self.start
        def forward(self, x):
            for i in range(1, len(self.sums)):
                self.sums[i] = {made}
            return sum(self.sums)
"""


@pytest.mark.parametrize(
    ("made", "leaks"),
    [
        ("self.sums[i - 1] + x * self.start", False),
        ("self.sums[i] + x * self.start", True),
        ("self.sums[i - 1] + self.sums[i] + x * self.start", True),
    ],
)
def test_entries_that_are_made_of_others(made: str, leaks: bool) -> None:
    assert ("TLK601" in codes(LAYERS.format(made=made))) == leaks


SLICED = """
    def losses(net, x):
        loss = net(x).mean()
        return loss, loss.detach(), loss.item(), net(x).std()

    def fit(net: nn.Module, loader, opt):
        kept = []
        for x in DataLoader(loader):
            given = losses(net, x)
            given[0].backward()
            opt.step()
            kept.append(given[{part}])
        return len(kept)
"""


@pytest.mark.parametrize(
    ("part", "leaks"),
    [("1:3", False), ("1:-1", False), (":", True), ("1:", True), ("::2", True), (":2", True), ("len(loader):3", True)],
)
def test_a_part_of_what_a_call_gives(part: str, leaks: bool) -> None:
    assert ("TLK402" in codes(SLICED.format(part=part))) == leaks


def test_a_part_of_what_is_no_list() -> None:
    text = SLICED.format(part="0").replace("given[0])", "range(9)[2:5])\n            kept.append(given[0])")
    assert codes(text) == ["TLK402"]
