"""Following a program: calls of functions, methods, classes, and of Python's own functions."""

from __future__ import annotations

import pytest

from tests.kept import grows, marked, program, reported, training

KEEP = "def keep(store, value): store.append(value)"

IN_PLACE = """
class Log:
    def __init__(self): self.rows = []
    def __iadd__(self, v):
        self.rows.append(v)
        return self
"""

PROGRAMS: dict[str, str] = {
    # -- operators of objects -----------------------------------------------------------------------------------
    "one that adds in place": training("log += loss  # TLK403", IN_PLACE, "log = Log()"),
    "one that adds in place, an entry": training("logs[i % 2] += loss  # TLK403", IN_PLACE, "logs = [Log(), Log()]"),
    "one that adds in place what it detaches": training(
        "log += loss", IN_PLACE.replace("(v)", "(v.detach())"), "log = Log()"
    ),
    "one that adds": training("log + loss  # TLK403", IN_PLACE.replace("iadd", "add"), "log = Log()"),
    "one that adds, by an assignment": training(
        "log += loss  # TLK403", IN_PLACE.replace("iadd", "add"), "log = Log()"
    ),
    "one that multiplies": training("log * loss  # TLK403", IN_PLACE.replace("iadd", "mul"), "log = Log()"),
    "an object or a number": training("log = Log() if i else 0\nlog += loss", IN_PLACE),
    # -- arguments ----------------------------------------------------------------------------------------------
    "by keyword": training("keep(value=loss, store=kept)  # TLK402", KEEP),
    "by star": training("args = (kept, loss)\nkeep(*args)  # TLK402", KEEP),
    "by star, number": training("args = [kept, i]\nkeep(*args)", KEEP),
    "by star, of unknown length": training("pick(*[loss for k in range(2)])", "def pick(a, b): return a"),
    "by double star": training("keep(**{'store': kept, 'value': loss})  # TLK402", KEEP),
    "by double star, number": training("keep(**dict(store=kept, value=i))", KEEP),
    "by double star, of unknown keys": training(
        "pick(kept, **{str(k): loss for k in range(2)})", "def pick(store, **more): store.append(len(more))"
    ),
    "all positional": training("keep(kept, loss)  # TLK402", "def keep(store, *values): store.extend(values)"),
    "all by keyword": training("keep(kept, a=loss)  # TLK402", "def keep(store, **more): store.append(more)"),
    "all by keyword, numbers": training("keep(kept, a=i)", "def keep(store, **more): store.append(more)"),
    "spread on": training(
        "more(kept, v=loss)  # TLK402", "def more(store, **kw): put(store, **kw)\ndef put(s, v): s.append(v)"
    ),
    "spread on by star": training(
        "more(kept, loss)  # TLK402", "def more(*args): put(*args)\ndef put(s, v): s.append(v)"
    ),
    "keyword only": training("keep(kept, v=loss)  # TLK402", "def keep(store, *, v=None): store.append(v)"),
    "positional only": training("keep(kept, loss)  # TLK402", "def keep(store, v, /): store.append(v)"),
    "default": training("keep(kept)", "def keep(store, v=None): store.append(v)"),
    "default that stays": training("keep(loss)  # TLK402", "def keep(v, store=[]): store.append(v)"),
    "default of a call": training("keep(loss)", "def keep(v, store=collections.deque(maxlen=3)): store.append(v)"),
    # -- functions ----------------------------------------------------------------------------------------------
    "lambda": training("keep(kept, loss)  # TLK402", before="kept, keep = [], lambda s, v: s.append(v)"),
    "lambda with a closure": training("keep(loss)  # TLK402", before="kept = []\nkeep = lambda v: kept.append(v)"),
    "bound method": training("push(loss)  # TLK402", before="kept = []\npush = kept.append"),
    "bound method of a number": training("push(loss.item())", before="kept = []\npush = kept.append"),
    "partial": training("push(loss)  # TLK402", KEEP, "kept = []\npush = functools.partial(keep, kept)"),
    "partial by keyword": training("push(kept)", KEEP, "kept = []\npush = functools.partial(keep, value=1)"),
    "partial of a bound method": training(
        "push(loss)  # TLK402", before="kept = []\npush = functools.partial(kept.append)"
    ),
    "partial of what a library has": training(
        "kept.append(push(loss))", before="kept = []\npush = functools.partial(float)"
    ),
    "decorated": training(
        "keep(kept, loss)  # TLK402",
        "def logged(f):\n    @functools.wraps(f)\n    def inner(*args):\n        return f(*args)\n    return inner\n"
        "@logged\n" + KEEP,
    ),
    "decorated to let go": training(
        "keep(kept, loss)",
        "def let_go(f):\n    def inner(store, v):\n        return f(store, v.item())\n    return inner\n@let_go\n"
        + KEEP,
    ),
    "decorated by a library": training(
        "keep(kept, same(loss))  # TLK402", KEEP + "\n@functools.lru_cache(1)\ndef same(v): return v"
    ),
    "recursive": training(
        "down(kept, loss, 3)  # TLK402", "def down(s, v, n):\n    s.append(v)\n    if n:\n        down(s, v, n - 1)"
    ),
    "through a dict": training("HOW['keep'](kept, loss)  # TLK402", KEEP + "\nHOW = {'keep': keep}"),
    "a function or another": training("f = keep if i % 2 else print\nf(kept, loss)  # TLK402", KEEP),
    "mapped": training("keep(kept, list(map(lambda v: v * 2, [loss])))  # TLK402", KEEP),
    "mapped to numbers": training("keep(kept, list(map(float, [loss.item()])))", KEEP),
    "called by its method": training("keep.__call__(kept, loss)  # TLK402", KEEP),
    "a generator of a lambda": training("keep(kept, list((lambda: (yield i))()))", KEEP),
    "by double star, of a name that is not known": training(
        "keep(kept, **{name: loss for name in ['value']})  # TLK402", KEEP
    ),
    "by double star, of names that are not known": training(
        "keep(**{name: kept for name in ['store', 'value']})",
        KEEP,
        "kept = collections.deque(maxlen=2)",
    ),
    # -- generators ---------------------------------------------------------------------------------------------
    "generator of steps, listed": program("""
        def losses(model, loader, criterion, optimizer):
            for x, y in loader:
                STEP
                yield loss
        def train(model, loader, criterion, optimizer):
            return list(losses(model, loader, criterion, optimizer))  # TLK402
    """),
    "generator of steps, looked at": program("""
        def losses(model, loader, criterion, optimizer):
            for x, y in loader:
                STEP
                yield loss
        def train(model, loader, criterion, optimizer):
            for loss in losses(model, loader, criterion, optimizer):
                print(loss.item())
    """),
    "generator of steps, extended": program("""
        def losses(model, loader, criterion):
            for x, y in loader:
                yield criterion(model(x), y)
        def train(model, loader, criterion, optimizer):
            kept = []
            kept.extend(losses(model, loader, criterion))  # TLK402
            print(len(kept))
    """),
    "generator of steps, summed": program("""
        def train(model, loader, criterion, optimizer):
            return sum(criterion(model(x), y) for x, y in loader)  # TLK401
    """),
    "generator of numbers, summed": program("""
        def train(model, loader, criterion, optimizer):
            return sum(criterion(model(x), y).item() for x, y in loader)
    """),
    "a short generator": training(
        "keep(kept, sum(parts(loss)))  # TLK402", KEEP + "\ndef parts(v):\n    yield v\n    yield 2 * v"
    ),
    "a short generator of numbers": training(
        "keep(kept, sum(parts(loss)))", KEEP + "\ndef parts(v):\n    yield v.item()\n    yield 2"
    ),
    "generator of steps, counted": program("""
        def losses(model, loader, criterion):
            for x, y in loader:
                yield criterion(model(x), y)
        def train(model, loader, criterion, optimizer):
            kept = []
            for n, loss in enumerate(losses(model, loader, criterion)):
                keep(kept, loss)  # TLK402
        def keep(store, value): store.append(value)
    """),
    # -- classes ------------------------------------------------------------------------------------------------
    "method": training(
        "log.add(loss)  # TLK403",
        "class Log:\n    def __init__(self):\n        self.rows = []\n    def add(self, v):\n"
        "        self.rows.append(v)",
        "log = Log()",
    ),
    "method that lets go": training(
        "log.add(loss)",
        "class Log:\n    def __init__(self):\n        self.rows = []\n    def add(self, v):\n"
        "        self.rows.append(v.item())",
        "log = Log()",
    ),
    "sum in a meter": training(
        "log.add(loss)  # TLK403",
        "class Log:\n    def __init__(self):\n        self.sum = 0\n    def add(self, v):\n        self.sum += v",
        "log = Log()",
    ),
    "called as a function": training(
        "log(loss)  # TLK403",
        "class Log:\n    def __init__(self):\n        self.rows = []\n    def __call__(self, v):\n"
        "        self.rows.append(v)",
        "log = Log()",
    ),
    "inherited": training(
        "log.add(loss)  # TLK403",
        "class Base:\n    def __init__(self):\n        self.rows = []\n    def add(self, v):\n"
        "        self.rows.append(v)\n"
        "class Log(Base):\n    def add(self, v):\n        super().add(v)",
        "log = Log()",
    ),
    "inherited, let go": training(
        "log.add(loss)",
        "class Base:\n    def __init__(self):\n        self.rows = []\n    def add(self, v):\n"
        "        self.rows.append(v)\n"
        "class Log(Base):\n    def add(self, v):\n        super().add(v.item())",
        "log = Log()",
    ),
    "method of the class, of a number": training(
        "Log.add(log, loss.item())",
        "class Log:\n    def __init__(self):\n        self.rows = []\n    def add(self, v):\n"
        "        self.rows.append(v)",
        "log = Log()",
    ),
    "method of the class, by another name": training(
        "push(log, loss.item())",
        "class Log:\n    def __init__(self):\n        self.rows = []\n    def add(self, v):\n"
        "        self.rows.append(v)",
        "log, push = Log(), Log.add",
    ),
    "an object of a library's class": training(
        "rows.append(i)\nfor v in rows:\n    keep(kept, v)\nkeep(kept, call())",
        KEEP + "\nclass Rows(list):\n    pass\nclass Call(functools.partial):\n    pass",
        "kept, rows, call = [], Rows(), Call(float, 1)",
    ),
    "a context of a library's class": training(
        "with Stack() as stack:\n    keep(kept, i)", KEEP + "\nclass Stack(contextlib.ExitStack):\n    pass"
    ),
    "fields with defaults": training(
        "keep(kept, Row(i))",
        KEEP + "\n@dataclass\nclass Row:\n    v: Any\n    n: int = field(default=0)\n    m: int = field(init=False)",
    ),
    "class method, of a number": training(
        "Log.add(loss.item())",
        "class Log:\n    rows = []\n    @classmethod\n    def add(cls, v):\n        cls.rows.append(v)",
    ),
    "static method": training(
        "Log.add(kept, loss)  # TLK402", "class Log:\n    @staticmethod\n    def add(s, v):\n        s.append(v)"
    ),
    "static method of an object": training(
        "Log().add(kept, loss)  # TLK402", "class Log:\n    @staticmethod\n    def add(s, v):\n        s.append(v)"
    ),
    "class attribute": training("keep(Log.rows, loss)  # TLK402", KEEP + "\nclass Log:\n    rows: list = []"),
    "class attribute that is set": training("Log.last = loss", "class Log:\n    last = None"),
    "function of a class attribute": training("Log.push(kept, loss)  # TLK402", KEEP + "\nclass Log:\n    push = keep"),
    "property": training(
        "keep(kept, Row(loss).twice)  # TLK402",
        KEEP + "\nclass Row:\n    def __init__(self, v):\n        self.v = v\n    @property\n    def twice(self):\n"
        "        return self.v * 2",
    ),
    "property of a number": training(
        "keep(kept, Row(loss).twice)",
        KEEP + "\nclass Row:\n    def __init__(self, v):\n        self.v = v\n    @property\n    def twice(self):\n"
        "        return self.v.item() * 2",
    ),
    "by name": training("keep(kept, getattr(Row(loss), 'v'))  # TLK402", KEEP + "\nclass Row(NamedTuple):\n    v: Any"),
    "set by name": training(
        "row = Row()\nsetattr(row, 'v', loss)\nkeep(kept, row)  # TLK402", KEEP + "\nclass Row:\n    pass"
    ),
    "iterated": training(
        "keep(kept, list(Row(loss)))  # TLK402",
        KEEP
        + "\nclass Row:\n    def __init__(self, v):\n        self.v = v\n    def __iter__(self):\n        yield self.v",
    ),
    "iterated by place": training(
        "keep(kept, [v for v in Row(loss)])  # TLK402",
        KEEP + "\nclass Row:\n    def __init__(self, v):\n        self.v = [v]\n    def __getitem__(self, i):\n"
        "        return self.v[i]",
    ),
    "iterated by itself": training(
        "keep(kept, next(Row(loss)))  # TLK402",
        KEEP
        + "\nclass Row:\n    def __init__(self, v):\n        self.v = v\n    def __iter__(self):\n        return self\n"
        "    def __next__(self):\n        return self.v",
    ),
    "an entry of an object": training(
        "keep(kept, Row(loss)[0])  # TLK402",
        KEEP + "\nclass Row:\n    def __init__(self, v):\n        self.v = v\n    def __getitem__(self, i):\n"
        "        return self.v",
    ),
    "record": training(
        "keep(kept, Row(loss, n=i))  # TLK402", KEEP + "\nclass Row(NamedTuple):\n    v: Any\n    n: int = 0"
    ),
    "record's part": training(
        "keep(kept, Row(loss, i)[1])", KEEP + "\nclass Row(NamedTuple):\n    v: Any\n    n: int = 0"
    ),
    "record's last part": training(
        "keep(kept, Row(i, loss)[-1])  # TLK402", KEEP + "\nclass Row(NamedTuple):\n    n: int\n    v: Any"
    ),
    "record replaced": training(
        "keep(kept, Row(loss)._replace(n=2))  # TLK402", KEEP + "\nclass Row(NamedTuple):\n    v: Any\n    n: int = 0"
    ),
    "record with a list": training(
        "log.rows.append(loss)  # TLK402",
        "@dataclass\nclass Log:\n    rows: list = field(default_factory=list)",
        "log = Log()",
    ),
    "a network of the project": training(
        "keep(kept, net(x))  # TLK402",
        KEEP + "\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(2, 1)\n"
        "    def forward(self, x):\n        return self.a(x)",
        "kept, net = [], Net()",
    ),
    "a loss of the project": training(
        "keep(kept, net(x))",
        KEEP + "\nclass Net(nn.Module):\n    def forward(self, x):\n        return x.sum()",
        "kept, net = [], Net()",
    ),
    "a network within a network": training(
        "keep(kept, net(x))  # TLK402",
        KEEP + "\nclass Inner(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(2, 1)\n"
        "    def forward(self, x):\n        return self.a(x)\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.inner = Inner()\n    def forward(self, x):\n"
        "        return self.inner(x)",
        "kept, net = [], Net()",
    ),
    # -- Python's own functions ---------------------------------------------------------------------------------
    "zipped": training("for v, n in zip([loss], [i]):\n    keep(kept, v)  # TLK402", KEEP),
    "zipped number": training("for v, n in zip([loss], [i]):\n    keep(kept, n)", KEEP),
    "counted": training("for n, v in enumerate([loss]):\n    keep(kept, v)  # TLK402", KEEP),
    "filtered": training("keep(kept, list(filter(None, [loss])))  # TLK402", KEEP),
    "chained": training("keep(kept, list(itertools.chain([loss], [i])))  # TLK402", KEEP),
    "cut": training("keep(kept, list(itertools.islice([i, i], 1)))", KEEP),
    "reversed": training("keep(kept, list(reversed([loss])))  # TLK402", KEEP),
    "sorted numbers": training("keep(kept, sorted([i, 1]))", KEEP),
    "the larger one": training("keep(kept, max(loss, loss * 2))  # TLK402", KEEP),
    "the larger one of a list": training("keep(kept, max([loss, loss * 2]))  # TLK402", KEEP),
    "reduced": training("keep(kept, functools.reduce(lambda a, b: a + b, [loss, loss]))  # TLK402", KEEP),
    "a power": training("keep(kept, pow(loss, 2))  # TLK402", KEEP),
    "pairs": training("keep(kept, dict([('a', loss)]))  # TLK402", KEEP),
    "pairs of numbers": training("keep(kept, dict([('a', i)]))", KEEP),
    "a dict of a dict": training("keep(kept, dict({'a': loss}))  # TLK402", KEEP),
    "a dict of what is not known": training("keep(kept, dict(eval('[(1, 2)]')))", KEEP),
    "an attribute of a name that is not known": training("keep(kept, getattr(math, 'pi' if i else 'e'))", KEEP),
    "empty": training("keep(kept, (list(), set(), tuple(), dict(), iter(())))", KEEP),
    "a sum of a list": training("keep(kept, sum([loss, loss], 0))  # TLK402", KEEP),
    "next of a list": training("keep(kept, next(iter([loss])))  # TLK402", KEEP),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls(name: str) -> None:
    assert reported(PROGRAMS[name]) == marked(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    assert grows(PROGRAMS[name]) is bool(marked(PROGRAMS[name]))
