"""Following a program: exceptions that are kept, generators that are sent to, second derivatives."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.kept import grows, marked, reported, training

KEEP = "def keep(store, value): store.append(value)\n"
RISKY = KEEP + "def risky(model, x):\n    out = model(x)\n    return out @ torch.ones(7)\n"
ATTEMPT = (
    RISKY
    + "def attempt(model, x):\n    try:\n        return risky(model, x).item()\n    except RuntimeError as error:\n"
)
LOG = (
    "class Log:\n    def __init__(self):\n        self.rows = []\n    def add(self, e):\n        self.rows.append({})\n"
)
COLLECTS = "def collector(store):\n    while True:\n        value = yield\n        store.append(value)\n"
OWN = "def collector():\n    store = {}\n    while True:\n        value = yield\n        store.append(value)\n"
BEGUN = "kept = []\nsink = {}\nnext(sink)"


def tried(handler: str, above: str = "", before: str = "kept = []") -> str:
    """A step in which a helper fails with its output at hand."""
    body = f"try:\n    risky(model, x)\nexcept RuntimeError as error:\n{indent(handler, '    ')}"
    return training(body, RISKY + above, before)


PROGRAMS: dict[str, str] = {
    # -- exceptions ---------------------------------------------------------------------------------------------
    "an exception": tried("keep(kept, error)  # TLK408"),
    "an exception, stored there": tried("kept.append(error)  # TLK408"),
    "its text": tried("keep(kept, str(error))"),
    "its type": tried("keep(kept, type(error))"),
    "its arguments": tried("keep(kept, error.args)"),
    "without its traceback": tried("keep(kept, error.with_traceback(None))"),
    "in a pair": tried("keep(kept, (i, error))  # TLK408"),
    "in a record": tried("keep(kept, Row(i, error))  # TLK408", "@dataclass\nclass Row:\n    n: int\n    e: Any"),
    "by an object": tried("log.add(error)  # TLK408", LOG.format("e"), "log = Log()"),
    "its text by an object": tried("log.add(error)", LOG.format("f'{e}'"), "log = Log()"),
    "among others": tried("kept.extend([error])  # TLK408"),
    "added": tried("kept += [error]  # TLK408"),
    "by step": tried("put(kept, i, error)  # TLK408", "def put(d, k, v): d[k] = v", "kept = {}"),
    "under a name": tried("put(kept, 'a', error)", "def put(d, k, v): d[k] = v", "kept = {}"),
    "the last": tried("last = error", before="last = None"),
    "the last few": tried("keep(kept, error)", before="kept = collections.deque(maxlen=2)"),
    "the first few": tried("if i < 3:\n    keep(kept, error)"),
    "emptied by a helper": tried("kept.append(error)\nflush(kept)", "def flush(store): store.clear()"),
    "emptied by a helper, with a tensor": tried(
        "kept.append((error, x))\nflush(kept)", "def flush(store): store.clear()"
    ),
    "not emptied by a helper": tried("kept.append(error)  # TLK408\nlook(kept)", "def look(store): print(store)"),
    "of a function that returns it": training(
        "keep(kept, attempt(model, x))  # TLK408", ATTEMPT + "        return error"
    ),
    "of a function that returns its text": training(
        "keep(kept, attempt(model, x))", ATTEMPT + "        return repr(error)"
    ),
    "of a function that raises it": training(
        "keep(kept, attempt(model, x))  # TLK408",
        KEEP + "def attempt(model, x):\n    out = model(x)\n    try:\n        raise ValueError('no')\n"
        "    except ValueError as error:\n        return error",
    ),
    "of the loop that raises it": training(
        "try:\n    raise ValueError(i)\nexcept ValueError as error:\n    keep(kept, error)", KEEP
    ),
    "more and more": tried("kept = [*kept, error]  # TLK408"),
    "its frames": tried("keep(kept, error.__traceback__)  # TLK408"),
    "its frames, taken off": tried("error.__traceback__ = None\nkeep(kept, error)"),
    "what is being handled": tried("keep(kept, sys.exc_info())  # TLK408", "import sys"),
    "the frames of what is being handled": tried("keep(kept, sys.exc_info()[2])  # TLK408", "import sys"),
    "the class of what is being handled": tried("keep(kept, sys.exc_info()[0])", "import sys"),
    "what is being handled, unpacked": tried(
        "kind, value, frames = sys.exc_info()\nkeep(kept, value)  # TLK408", "import sys"
    ),
    "what is being handled, by its short name": tried("keep(kept, sys.exception())  # TLK408", "import sys"),
    "what is handled no more": training(
        "try:\n    risky(model, x)\nexcept RuntimeError:\n    pass\nkeep(kept, sys.exc_info())", RISKY + "import sys"
    ),
    # -- generators that are sent to ----------------------------------------------------------------------------
    "sent": training("sink.send(loss)  # TLK402", COLLECTS, BEGUN.format("collector(kept)")),
    "numbers are sent": training("sink.send(loss.item())", COLLECTS, BEGUN.format("collector(kept)")),
    "sent, to its own list": training("sink.send(loss)  # TLK402", OWN.format("[]"), BEGUN.format("collector()")),
    "sent, to a deque of a few": training(
        "sink.send(loss)", OWN.format("collections.deque(maxlen=3)"), BEGUN.format("collector()")
    ),
    "sent, made in each step": training("sink = collector()\nnext(sink)\nsink.send(loss)", OWN.format("[]")),
    "sent in a bounded loop": training(
        "sink.send(loss)  # TLK402",
        COLLECTS.replace("while True", "while len(store) < 1000"),
        BEGUN.format("collector(kept)"),
    ),
    "sent in a loop over numbers": training(
        "sink.send(loss)  # TLK402",
        COLLECTS.replace("while True", "for n in itertools.count()").replace("= yield", "= yield n"),
        BEGUN.format("collector(kept)"),
    ),
    "summed": training(
        "sink.send(loss)  # TLK401",
        "def averager():\n    total = 0\n    while True:\n        value = yield total\n        total = total + value\n",
        BEGUN.format("averager()"),
    ),
    "summed as numbers": training(
        "sink.send(loss)",
        "def averager():\n    total = 0\n    while True:\n        value = yield total\n        total += float(value)\n",
        BEGUN.format("averager()"),
    ),
    "the last one sent": training(
        "sink.send(loss)",
        "def same():\n    last = 0\n    while True:\n        last = yield last\n",
        BEGUN.format("same()"),
    ),
    "sent back": training(
        "keep(kept, sink.send(loss))  # TLK402",
        KEEP + "def doubles():\n    out = None\n    while True:\n        value = yield out\n        out = value * 2\n",
        BEGUN.format("doubles()"),
    ),
    "sent back as numbers": training(
        "keep(kept, sink.send(loss))",
        KEEP + "def same():\n    out = None\n    while True:\n        value = yield out\n        out = value.item()\n",
        BEGUN.format("same()"),
    ),
    "sent to one that only gives": training(
        "print(sink.send(loss))", "def gives():\n    while True:\n        yield 1\n", BEGUN.format("gives()")
    ),
    "sent to itself, at no time": training(
        "sink.send(loss)",
        "def odd(box):\n    while True:\n        value = yield\n        if len(box) > 5:\n"
        "            box[0].send(value)\n",
        "box = []\nsink = odd(box)\nbox.append(sink)\nnext(sink)",
    ),
    # -- derivatives --------------------------------------------------------------------------------------------
    "a jacobian": training("keep(kept, torch.autograd.functional.jacobian(model, x))", KEEP),
    "a jacobian to differentiate": training(
        "keep(kept, torch.autograd.functional.jacobian(model, x, create_graph=True))  # TLK402", KEEP
    ),
    "a product with it": training(
        "out, grad = torch.autograd.functional.vjp(lambda v: model(v).sum(), x)\nkeep(kept, grad)", KEEP
    ),
    "gradients": training("keep(kept, torch.autograd.grad(criterion(model(x), y), list(model.parameters())))", KEEP),
    "gradients to differentiate": training(
        "out = criterion(model(x), y) ** 2\n"
        "keep(kept, torch.autograd.grad(out, list(model.parameters()), create_graph=True))  # TLK402",
        KEEP,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sent(name: str) -> None:
    assert reported(PROGRAMS[name]) == marked(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    assert grows(PROGRAMS[name]) is bool(marked(PROGRAMS[name]))
