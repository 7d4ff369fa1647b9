"""Following a program: what holders keep, and what ends it: bounds, emptying, differentiating; frameworks' steps."""

from __future__ import annotations

import pytest

from tests.kept import findings, grows, marked, program, reported, training

KEEP = "def keep(store, value): store.append(value)"
LOG = """\
class Log:
    def __init__(self):
        self.rows = {rows}
    def add(self, v):
        self.rows.append(v)
    def clear(self):
        {clear}
"""

PROGRAMS: dict[str, str] = {
    # -- containers ---------------------------------------------------------------------------------------------
    "a set": training("add(kept, loss)  # TLK402", "def add(s, v): s.add(v)", "kept = set()"),
    "put in front": training("add(kept, loss)  # TLK402", "def add(s, v): s.insert(0, v)"),
    "extended": training("add(kept, loss)  # TLK402", "def add(s, v): s.extend([v, v])"),
    "extended by numbers": training("add(kept, i)", "def add(s, v): s.extend([v, v])"),
    "a queue": training("add(kept, loss)  # TLK402", "def add(s, v): s.put(v)", "kept = queue.Queue()"),
    "a queue of a few": training(
        "add(kept, loss)", "def add(s, v):\n    if s.full():\n        s.get()\n    s.put(v)", "kept = queue.Queue(3)"
    ),
    "a queue that is drained": training(
        "keep(kept, loss)\nprint(kept.qsize(), kept.get())", "def keep(s, v): s.put(v)", "kept = queue.Queue()"
    ),
    "a deque": training("keep(kept, loss)  # TLK402", KEEP, "kept = collections.deque()"),
    "a deque of a few": training("keep(kept, loss)", KEEP, "kept = collections.deque(maxlen=3)"),
    "a deque of a few, by place": training("keep(kept, loss)", KEEP, "kept = collections.deque([], 3)"),
    "a deque without a bound": training("keep(kept, loss)  # TLK402", KEEP, "kept = collections.deque(maxlen=None)"),
    "a deque of a few grows in a list": training("keep(kept, collections.deque([loss], maxlen=3))  # TLK402", KEEP),
    "a dict of lists by default": training(
        "add(kept, 'a', loss)  # TLK402", "def add(d, k, v): d[k].append(v)", "kept = collections.defaultdict(list)"
    ),
    "a dict of lists by default, by step": training(
        "add(kept, i, loss)  # TLK402", "def add(d, k, v): d[k].append(v)", "kept = collections.defaultdict(list)"
    ),
    "a dict of short lists by default": training(
        "add(kept, 'a', loss)",
        "def add(d, k, v): d[k].append(v)",
        "kept = collections.defaultdict(lambda: collections.deque(maxlen=2))",
    ),
    "a dict of sums by default": training(
        "add(kept, 'a', loss)  # TLK401", "def add(d, k, v): d[k] += v", "kept = collections.defaultdict(float)"
    ),
    "a dict of sums by default, of numbers": training(
        "add(kept, 'a', loss.item())", "def add(d, k, v): d[k] += v", "kept = collections.defaultdict(float)"
    ),
    "a list set where there is none": training(
        "add(kept, 'a', loss)  # TLK402", "def add(d, k, v): d.setdefault(k, []).append(v)", "kept = {}"
    ),
    "a value set where there is none": training(
        "add(kept, 'a', loss)", "def add(d, k, v): d.setdefault(k, v)", "kept = {}"
    ),
    "a value set where there is none, by step": training(
        "add(kept, i, loss)  # TLK402", "def add(d, k, v): d.setdefault(k, v)", "kept = {}"
    ),
    "updated by name": training("add(kept, {'a': loss})", "def add(d, new): d.update(new, b=1)", "kept = {}"),
    "updated, then kept": training(
        "row = {}\nadd(row, v=loss)\nrows.append(row)  # TLK402", "def add(d, **new): d.update(**new)", "rows = []"
    ),
    "merged": training("row = {**{'a': i}, 'b': loss}\nkeep(kept, row)  # TLK402", KEEP),
    "merged, then replaced": training("row = {**{'b': loss}, 'b': i}\nkeep(kept, row)", KEEP),
    "values of a dict": training("keep(kept, list({'a': loss}.values()))  # TLK402", KEEP),
    "keys of a dict": training("keep(kept, list({'a': loss}.keys()))", KEEP),
    "items of a dict": training("for k, v in {'a': loss}.items():\n    keep(kept, v)  # TLK402", KEEP),
    "items' keys": training("for k, v in {'a': loss}.items():\n    keep(kept, k)", KEEP),
    "got from a dict": training("keep(kept, {'a': loss}.get('a', 0))  # TLK402", KEEP),
    "got from a dict of numbers": training("keep(kept, {'a': loss, 'n': i}.get('n'))", KEEP),
    "a copy of a dict": training("keep(kept, {'a': loss}.copy())  # TLK402", KEEP),
    "a copy of a list": training("keep(kept, [loss].copy())  # TLK402", KEEP),
    "taken out": training("keep(kept, {'a': loss, 'n': i}.pop('a'))  # TLK402", KEEP),
    "what is left": training("row = {'a': loss, 'n': i}\nrow.pop('a')\nkeep(kept, row)", KEEP),
    "what is left after a pop by place": training("row = [loss]\nrow.pop(0).item()\nprint(row)", KEEP),
    "a union": training("keep(kept, {loss}.union([i]))  # TLK402", KEEP),
    "how many": training("keep(kept, [loss].count(i))", KEEP),
    "sorted there": training("row = [i, 2]\nrow.sort()\nkeep(kept, row)", KEEP),
    "a dict of a comprehension": training("keep(kept, {k: loss * k for k in range(2)})  # TLK402", KEEP),
    "a dict of a comprehension, by name": training("keep(kept, {'a': v for v in [loss]})  # TLK402", KEEP),
    "parts of pairs": training("keep(kept, [v for k, (v, *w) in [(1, (loss, 2))]])  # TLK402", KEEP),
    "a comprehension over batches": program("""
        def train(model, loader, criterion, optimizer):
            rows = [one(model, x, y, criterion) for x, y in loader]  # TLK402
            print(len(rows))
        def one(model, x, y, criterion): return criterion(model(x), y)
    """),
    "a set of a comprehension over batches": program("""
        def train(model, loader, criterion, optimizer):
            return {one(model, x, y, criterion).item() for x, y in loader}
        def one(model, x, y, criterion): return criterion(model(x), y)
    """),
    "many in a row": training("keep(kept, [1, 2, 3, 4, 5, 6, 7, 8, loss])  # TLK402", KEEP),
    "many but numbers": training("keep(kept, [1, 2, 3, 4, 5, 6, 7, 8, i])", KEEP),
    "spread": training("keep(kept, [*[loss], 1])  # TLK402", KEEP),
    "joined lists": training("keep(kept, [loss] + [1])  # TLK402", KEEP),
    "repeated": training("keep(kept, [loss] * 2)  # TLK402", KEEP),
    "the last few of a list": training("kept = last(kept, loss)", "def last(s, v): return [*s, v][-2:]"),
    "an entry by its method": training("keep(kept, [loss].__getitem__(0))  # TLK402", KEEP),
    "whether it is in": training("keep(kept, [i].__contains__(i))", KEEP),
    "keys of another": training("keep(kept, {'a': i}.fromkeys(['a']))", KEEP),
    "a list that nothing is known of": training("keep(kept, loss)  # TLK402", KEEP, "kept = eval('[]')"),
    "more in a list that nothing is known of": training(
        "more(kept, loss)  # TLK402", "def more(store, v): store.extend([v])", "kept = eval('[]')"
    ),
    "got from a dict that nothing is known of": training(
        "keep(kept, d.get('a', 0))\nkeep(kept, list(d.keys()))", KEEP, "kept, d = [], eval('dict(a=1)')"
    ),
    "an optimizer that nothing is known of": training("keep(kept, o.step())", KEEP, "kept, o = [], eval('optimizer')"),
    # -- what ends it -------------------------------------------------------------------------------------------
    "emptied by a helper": training(
        "keep(kept, loss)\nif i % 2:\n    flush(kept)", KEEP + "\ndef flush(store): store.clear()"
    ),
    "emptied by a method": training(
        "log.add(loss)\nlog.clear()", LOG.format(rows="[]", clear="self.rows.clear()"), "log = Log()"
    ),
    "emptied by a delete": training(
        "log.add(loss)\nlog.clear()", LOG.format(rows="[]", clear="del self.rows[:]"), "log = Log()"
    ),
    "made anew by a method": training(
        "log.add(loss)\nlog.clear()", LOG.format(rows="[]", clear="self.rows = []"), "log = Log()"
    ),
    "popped by a helper": training(
        "keep(kept, loss)\ntrim(kept)", KEEP + "\ndef trim(store):\n    if len(store) > 2:\n        store.pop(0)"
    ),
    "bounded in an object": training(
        "log.add(loss)", LOG.format(rows="collections.deque(maxlen=2)", clear="pass"), "log = Log()"
    ),
    "made anew in each step": training("fresh = []\nkeep(fresh, loss)", KEEP),
    "differentiated later": program("""
        def keep(store, value): store.append(value)
        def train(model, loader, criterion, optimizer):
            for epoch in range(3):
                kept = []
                for part in range(2):
                    for x, y in itertools.islice(loader, 2):
                        keep(kept, criterion(model(x), y))
                sum(kept).backward()
                optimizer.step()
    """),
    "differentiated later, each": program("""
        def keep(store, value): store.append(value)
        def train(model, loader, criterion, optimizer):
            for epoch in range(3):
                kept = []
                for x, y in itertools.islice(loader, 2):
                    keep(kept, criterion(model(x), y))
                torch.autograd.backward(kept)
                optimizer.step()
    """),
    "history's end in a dict of sums": training(
        "for k, v in {'a': loss, 'b': loss * 2}.items():\n    kept[k] = plus(kept.get(k, 0), v)  # TLK401",
        "def plus(a, b): return a + b",
        "kept = {}",
    ),
}

FRAMEWORKS: dict[str, str] = {
    "closure of an optimizer": program("""
        def fit(model, loader, criterion):
            history, optimizer = [], torch.optim.LBFGS(model.parameters())
            for x, y in loader:
                def closure():
                    optimizer.zero_grad()
                    loss = criterion(model(x), y)
                    loss.backward()
                    keep(history, loss)  # TLK402
                    return loss
                optimizer.step(closure)
            return history
        def keep(store, value): store.append(value)
    """),
    "a step of an engine": program("""
        from ignite.engine import Engine
        def keep(store, value): store.append(value)
        def make(model, optimizer, criterion):
            losses = []
            def step(engine, batch):
                loss = criterion(model(batch[0]), batch[1])
                loss.backward()
                optimizer.step()
                keep(losses, loss)  # TLK402
                return loss.item()
            return Engine(step)
    """),
    "a training step of a framework": program("""
        import lightning as L
        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.outputs, self.total = [], 0
            def training_step(self, batch, i):
                loss = self.compute(batch)
                keep(self.outputs, loss)  # TLK402
                return {"loss": loss}
            def compute(self, batch):
                return self.net(batch[0]).mean()
        def keep(store, value): store.append(value)
    """),
    "a training step that keeps numbers": program("""
        import lightning as L
        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.outputs = []
            def training_step(self, batch, i):
                loss = self.net(batch[0]).mean()
                keep(self.outputs, loss.item())
                return loss, 1
        def keep(store, value): store.append(value)
    """),
    "a trainer that starts at once": program("""
        class Trainer:
            def once(self, x):
                self.net(x).mean().backward()
            def __init__(self, net, loader):
                self.net, self.kept = net, []
                for x in loader:
                    loss = net(x).mean()
                    loss.backward()
                    keep(self.kept, loss)  # TLK402
        def keep(store, value): store.append(value)
    """),
    "a trainer whose list is made by classes below": program("""
        class Trainer:
            def fit(self, loader):
                for x in loader:
                    loss = self.net(x).mean()
                    loss.backward()
                    keep(self.kept, loss)  # TLK402
        class Own(Trainer):
            def __init__(self, net):
                self.net, self.kept = net, []
        def keep(store, value): store.append(value)
    """),
    "a trainer whose list is short": program("""
        class Trainer:
            def fit(self, loader):
                for x in loader:
                    loss = self.net(x).mean()
                    loss.backward()
                    keep(self.kept, loss)
        class Own(Trainer):
            def __init__(self, net):
                self.net, self.kept = net, collections.deque(maxlen=2)
        def keep(store, value): store.append(value)
    """),
    "a model that a library makes": program("""
        from lib import build_model
        def fit(loader):
            net, kept = build_model(), []
            for x in loader:
                keep(kept, net(x))  # TLK402
        def keep(store, value): store.append(value)
    """),
    "batches of workers": program("""
        def fit(rows, kept):
            for x in DataLoader(rows, num_workers=2):
                keep(kept, x)  # TLK404
        def keep(store, value): store.append(value)
    """),
    "batches of workers, gathered": program("""
        def batches(rows):
            for x in DataLoader(rows, num_workers=2):
                yield x
        def fit(rows):
            return list(batches(rows))  # TLK404
    """),
    "copies of batches of workers": program("""
        def fit(rows, kept):
            for x in DataLoader(rows, num_workers=2):
                keep(kept, x.clone())
        def keep(store, value): store.append(value)
    """),
    "batches without workers": program("""
        def fit(rows, kept):
            for x in DataLoader(rows):
                keep(kept, x)
        def keep(store, value): store.append(value)
    """),
    "a validation step of a framework": program("""
        import lightning as L
        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.outputs = []
            def validation_step(self, batch, i):
                keep(self.outputs, self.net(batch[0]).mean())
        def keep(store, value): store.append(value)
    """),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kept(name: str) -> None:
    assert reported(PROGRAMS[name]) == marked(PROGRAMS[name])


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_steps_of_frameworks(name: str) -> None:
    assert reported(FRAMEWORKS[name]) == marked(FRAMEWORKS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    assert grows(PROGRAMS[name]) is bool(marked(PROGRAMS[name]))


def test_the_calls_between_are_shown() -> None:
    text = program("""
        def keep(where, what):
            where.append(what)
        def put(where, what):
            keep(where, what)
        def train(model, loader, criterion, optimizer):
            kept = []
            for x, y in loader:
                STEP
                put(kept, loss)
    """)
    (found,) = findings(text)
    said = [(note.text, text.splitlines()[note.span.line - 1].strip()) for note in found.notes[:2]]
    assert said == [("passed on here", "keep(where, what)"), ("stored here", "where.append(what)")]


ALL_FORWARD = """
def step(model, loader, receive):
    inputs, outputs = [], []
    for _ in range(loader.count):
        batch = next(loader)
        inputs.append(batch["ids"] + 0)
        outputs.append(nn.functional.cross_entropy(model(batch["ids"]), batch["target"])){}
    {}
    return len(outputs)
"""
"""All forward, then all backward: what is kept is differentiated one by one."""


@pytest.mark.parametrize(
    ("later", "mark"),
    [
        ("while outputs:\n        outputs.pop().backward()", ""),
        ("for _ in range(loader.count):\n        torch.autograd.backward(tensors=outputs.pop(0))", ""),
        (
            "for _ in range(loader.count):\n        x, output = inputs.pop(0), outputs.pop(0)\n"
            "        model.backward(x, output, receive())",
            "",
        ),
        ("for _ in range(loader.count):\n        model.backward(1, outputs.pop(0), receive())", ""),
        ("last = outputs[0]\n    last.backward()", "  # TLK402"),
    ],
)
def test_what_is_taken_out_is_differentiated(later: str, mark: str) -> None:
    text = program(ALL_FORWARD.format(mark, later))
    assert reported(text) == marked(text)


def test_a_sum_in_an_entry_is_one_finding() -> None:
    text = program("""
        def train(model, loaders, criterion, optimizer, phases):
            for epoch in range(10):
                totals = {phase: 0.0 for phase in phases}
                for phase in phases:
                    for x, y in loaders[phase]:
                        STEP
                        totals[phase] += loss * x.size(0)  # TLK401
                print(totals)
    """)
    assert reported(text) == marked(text)
