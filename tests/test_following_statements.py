"""Following a program: statements, branches, loops and patterns."""

from __future__ import annotations

import sys

import pytest

from tests.kept import grows, marked, program, reported, training

KEEP = "def keep(store, value): store.append(value)"

PROGRAMS: dict[str, str] = {
    # -- branches -----------------------------------------------------------------------------------------------
    "one branch of two": training(
        "if i % 2:\n    value = loss\nelse:\n    value = loss.item()\nkeep(kept, value)  # TLK402", KEEP
    ),
    "no branch": training(
        "if i % 2:\n    value = 1\nelif i % 3:\n    value = loss.item()\nelse:\n    value = 2\nkeep(kept, value)", KEEP
    ),
    "skipped": training("value = loss\nif i > -1:\n    value = 0\nif True:\n    value = 0\nkeep(kept, value)", KEEP),
    "never": training("if False:\n    keep(kept, loss)", KEEP),
    "certain after unsure": training(
        "if i == 1:\n    value = 1\nelif True:\n    value = loss.item()\nkeep(kept, value)", KEEP
    ),
    "returned from one branch": training(
        "keep(kept, pick(loss, i))  # TLK402",
        KEEP + "\ndef pick(v, i):\n    if i % 2:\n        return v.item()\n    return v",
    ),
    "returned from each branch": training(
        "keep(kept, pick(loss, i))",
        KEEP + "\ndef pick(v, i):\n    if i % 2:\n        return v.item()\n    else:\n        return 0",
    ),
    "nothing returned": training("keep(kept, look(loss))", KEEP + "\ndef look(v):\n    if v > 0:\n        return\n"),
    # -- try ----------------------------------------------------------------------------------------------------
    "tried": training(
        "try:\n    value = loss\nexcept RuntimeError as error:\n    value = str(error)\nkeep(kept, value)  # TLK402",
        KEEP,
    ),
    "tried, else": training(
        "try:\n    value = loss\nexcept (ValueError, RuntimeError):\n    value = 0\nelse:\n    value = value.item()\n"
        "finally:\n    print(i)\nkeep(kept, value)",
        KEEP,
    ),
    "returned from a try": training(
        "keep(kept, pick(loss))  # TLK402",
        KEEP + "\ndef pick(v):\n    try:\n        return v\n    except RuntimeError:\n        return 0",
    ),
    "returned at last": training(
        "keep(kept, pick(loss))",
        KEEP + "\ndef pick(v):\n    try:\n        print(v)\n    finally:\n        return 0",
    ),
    "raised": training(
        "if i > 100:\n    keep(kept, loss)\n    raise RuntimeError('far')\nif i > 200:\n    raise", KEEP
    ),
    # -- loops --------------------------------------------------------------------------------------------------
    "kept once": training("keep(kept, loss)\nbreak", KEEP),
    "kept once by a branch": training("if i == 3:\n    keep(kept, loss)\n    break", KEEP),
    "kept a few times": training("if i < 3:\n    keep(kept, loss)", KEEP),
    "kept the first time": training("if i == 0:\n    keep(kept, loss)", KEEP),
    "kept while there are few": training("if len(kept) < 3:\n    keep(kept, loss)", KEEP),
    "kept while there are few, the other way": training("if not 3 <= len(kept):\n    keep(kept, loss)", KEEP),
    "kept while there are few, else": training("if len(kept) >= 3:\n    pass\nelse:\n    keep(kept, loss)", KEEP),
    "kept while there are few, and more": training("if 3 > len(kept) and i % 1 == 0:\n    keep(kept, loss)", KEEP),
    "kept every second time": training("if i % 2 == 0:\n    keep(kept, loss)  # TLK402", KEEP),
    "kept from the third time": training("if i >= 3:\n    keep(kept, loss)  # TLK402", KEEP),
    "kept but for the third time": training("if i != 3:\n    keep(kept, loss)  # TLK402", KEEP),
    "left after a few": training("if i >= 2:\n    break\nkeep(kept, loss)", KEEP),
    "left after a few, not": training("if not i < 2:\n    break\nkeep(kept, loss)", KEEP),
    "left after a few in a list": training("if len(kept) == 2:\n    break\nkeep(kept, loss)", KEEP),
    "left after many": training("if i >= 20_000:\n    break\nkeep(kept, loss)  # TLK402", KEEP),
    "left when the training is over": training("if i >= int('9' * 4):\n    break\nkeep(kept, loss)  # TLK402", KEEP),
    "left when it is nan": training("if math.isnan(loss.item()):\n    break\nkeep(kept, loss)  # TLK402", KEEP),
    "gone on": training("if i % 2:\n    continue\nkeep(kept, loss)  # TLK402", KEEP),
    "gone on before": training("if i % 2:\n    value = loss\n    continue\nkeep(kept, i)", KEEP),
    "a short loop inside": training("for k in range(3):\n    keep(kept, loss)  # TLK402", KEEP),
    "a short loop alone": program("""
        def keep(store, value): store.append(value)
        def train(model, loader, criterion, optimizer):
            for x, y in loader:
                parts = []
                for k in (1, 2, 3):
                    keep(parts, criterion(model(x), y))
                sum(parts).backward()
                optimizer.step()
    """),
    "while": program("""
        def keep(store, value): store.append(value)
        def train(model, loader, criterion, optimizer):
            kept, batches, i = [], iter(loader), 0
            while i < 10:
                x, y = next(batches)
                loss = criterion(model(x), y)
                keep(kept, loss)  # TLK402
                i += 1
            else:
                print("done")
            list(batches)
    """),
    "endless": program("""
        def train(model, loader, criterion, optimizer):
            kept = []
            fill(model, loader, criterion, kept)
        def fill(model, loader, criterion, kept):
            batches = iter(loader)
            while True:
                batch = next(batches, None)
                if batch is None:
                    return kept
                kept.append(criterion(model(batch[0]), batch[1]))  # TLK402
    """),
    "for, else": training(
        "keep(parts, loss)", KEEP, "for k in range(2):\n    parts = []\nelse:\n    parts = collections.deque(maxlen=2)"
    ),
    "returned from an endless loop": training(
        "keep(kept, pick(loss))  # TLK402", KEEP + "\ndef pick(v):\n    while True:\n        return v"
    ),
    "left after a few, turned round": training("if 2 <= i:\n    break\nkeep(kept, loss)", KEEP),
    # -- bindings -----------------------------------------------------------------------------------------------
    "taken apart": training("a, *rest = loss, i, loss\nkeep(kept, rest)  # TLK402", KEEP),
    "taken apart, numbers": training("a, (b, c) = loss, (i, 2)\nkeep(kept, [b, c])", KEEP),
    "chained": training("a = b = loss\nkeep(kept, b)  # TLK402", KEEP),
    "annotated": training("a: Any = loss\nb: Any\nkeep(kept, a)  # TLK402", KEEP),
    "walrus": training("print(a := loss)\nkeep(kept, a)  # TLK402", KEEP),
    "deleted": training("a = [loss]\nkeep(kept, a)\ndel kept[0], a", KEEP, "kept = [0]"),
    "an attribute is deleted": training(
        "box.value = loss\ndel box.value\nkeep(kept, box)",
        KEEP + "\nclass Box:\n    pass",
        "box, kept = Box(), collections.deque(maxlen=3)",
    ),
    "asserted": training("assert keep(kept, loss) is None  # TLK402", KEEP),
    "imported there": training(
        "from typing import cast as same\nimport os.path\nkeep(kept, same(Any, loss))  # TLK402", KEEP
    ),
    "defined there": training("def same(v):\n    return v\nkeep(kept, same(loss))  # TLK402", KEEP),
    "a class is made there": training(
        "class Row:\n    def __init__(self, v):\n        self.v = v\nkeep(kept, Row(loss))  # TLK402", KEEP
    ),
    "a global list": training(
        "keep(loss)  # TLK402",
        "def keep(v):\n    global seen\n    seen = [*seen, v]\nseen = []",
    ),
    "a nonlocal sum": program("""
        def train(model, loader, criterion, optimizer):
            total = 0
            def add(v):
                nonlocal total
                total = total + v
            for x, y in loader:
                STEP
                add(loss)  # TLK401
            return total
    """),
    "a nonlocal last one": program("""
        def train(model, loader, criterion, optimizer):
            last = 0
            def put(v):
                nonlocal last
                last = v
            for x, y in loader:
                STEP
                put(loss)
            return last
    """),
    "replaced in a slice": training("kept[:] = [loss]\nkeep(kept, i)", KEEP),
    "a list grown by a list": training("grow(kept, loss)  # TLK402", "def grow(store, v):\n    store += [v]"),
    "a list made anew": training("kept = grow(kept, loss)  # TLK402", "def grow(store, v):\n    return store + [v]"),
    "a list cut anew": training("kept = grow(kept, loss)", "def grow(store, v):\n    return (store + [v])[-2:]"),
    "a dict by step": training("put(kept, i, loss)  # TLK402", "def put(d, k, v): d[k] = v", "kept = {}"),
    "a dict by name": training("put(kept, 'a', loss)", "def put(d, k, v): d[k] = v", "kept = {}"),
    "a dict of lists": training(
        "put(kept, 'a', loss)  # TLK402",
        "def put(d, k, v):\n    if k not in d:\n        d[k] = []\n    d[k].append(v)",
        "kept = {}",
    ),
    "a list in an object, made when needed": training(
        "box.put(loss)  # TLK403",
        "class Box:\n    rows = None\n    def put(self, v):\n        if self.rows is None:\n"
        "            self.rows = []\n        self.rows.append(v)",
        "box = Box()",
    ),
    "a context of the project": training(
        "with Held() as held:\n    keep(held, loss)",
        KEEP
        + "\nclass Held:\n    def __enter__(self):\n        return []\n    def __exit__(self, *args):\n        pass",
    ),
    "a context that hands out what stays": training(
        "with Held(kept) as held:\n    keep(held, loss)  # TLK402",
        KEEP + "\nclass Held:\n    def __init__(self, store):\n        self.store = store\n"
        "    def __enter__(self):\n        return self.store\n    def __exit__(self, *args):\n        pass",
    ),
    "moved in place": training("x.to('cpu')\nkeep(kept, model(x))  # TLK402", KEEP),
    "defined under a condition": training(
        "keep(kept, loss)  # TLK402",
        "try:\n    import absent\nexcept ImportError:\n    absent = None\nif absent is None:\n"
        "    def keep(s, v): s.append(v)\nelse:\n    keep = None",
    ),
    "nonlocal, two functions out": program("""
        def train(model, loader, criterion, optimizer):
            last = 0
            def outer(v):
                def inner():
                    nonlocal last
                    last = v
                inner()
            for x, y in loader:
                STEP
                outer(loss)
            return last
    """),
    # -- patterns -----------------------------------------------------------------------------------------------
    "a sequence": training(
        "match [loss, i]:\n    case [v, *rest]:\n        keep(kept, v)  # TLK402\n    case _:\n        pass", KEEP
    ),
    "a sequence's number": training("match [loss, i]:\n    case [_, k]:\n        keep(kept, k)", KEEP),
    "a mapping": training(
        "match {'loss': loss, 'n': i}:\n    case {'loss': v, **rest}:\n        keep(kept, v)  # TLK402", KEEP
    ),
    "a mapping's number": training("match {'loss': loss, 'n': i}:\n    case {'n': v}:\n        keep(kept, v)", KEEP),
    "the rest of a mapping": training(
        "match {'n': i, 'loss': loss}:\n    case {'n': _, **rest}:\n        keep(kept, rest)  # TLK402", KEEP
    ),
    "one of two patterns": training(
        "match (loss, i):\n    case (v, 0) | (v, _):\n        keep(kept, v)  # TLK402", KEEP
    ),
    "a class pattern": training(
        "match Row(loss, i):\n    case Row(loss=v) if i > -1:\n        keep(kept, v)  # TLK402",
        KEEP + "\n@dataclass\nclass Row:\n    loss: Any\n    n: int",
    ),
    "a class pattern's number": training(
        "match Row(loss, i):\n    case Row(n=v) as row:\n        keep(kept, v)",
        KEEP + "\n@dataclass\nclass Row:\n    loss: Any\n    n: int",
    ),
    "a class pattern by place": training(
        "match Row(loss, i):\n    case Row(_, n):\n        keep(kept, n)",
        KEEP + "\n@dataclass\nclass Row:\n    loss: Any\n    n: int",
    ),
    "the whole": training("match loss:\n    case whole:\n        keep(kept, whole)  # TLK402", KEEP),
    "in each case": training(
        "match i:\n    case 0:\n        v = 1\n    case _:\n        v = loss.item()\nkeep(kept, v)", KEEP
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_statements(name: str) -> None:
    assert reported(PROGRAMS[name]) == marked(PROGRAMS[name])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`except*` came with Python 3.11")
def test_groups_of_exceptions() -> None:
    text = training("try:\n    v = loss\nexcept* RuntimeError:\n    v = 0\nkeep(kept, v)  # TLK402", KEEP)
    assert reported(text) == marked(text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    assert grows(PROGRAMS[name]) is bool(marked(PROGRAMS[name]))
