"""Following a program: what conditions tell of values and of iterations, and what loops carry on."""

from __future__ import annotations

import pytest

from tests.kept import grows, marked, program, reported, training

KEEP = "def keep(store, value): store.append(value)\n"
MAYBE = KEEP + "def maybe(v, i):\n    if i % 2:\n        return v\n    return {other}\n"
OR_NONE, OR_NUMBER, OR_TEXT = (MAYBE.format(other=each) for each in ("None", "0", "'x'"))
MANY = KEEP + "def many(v, i):\n    if i % 2:\n        return [v]\n    return v\n"
ROW = OR_NUMBER.replace("return v\n", "return Row(v)\n") + "@dataclass\nclass Row:\n    v: Any\n"
BOX = OR_NONE + "class Box:\n    pass\n"
SIZES = "class Sizes:\n    def __init__(self):\n        self.dim = 2\n"
PUT = "def put(d, k, v): d[k] = v"
PLUS = "def plus(a, b): return a + b"

NODE = "class Node:\n    def __init__(self, value, before):\n        self.value, self.before = value, before"

LAZY = (
    "class Lazy:\n    rows = None\n    def put(self, v):\n        if self.rows is None:\n"
    "            self.rows = []\n        self.rows.append(v)"
)

PROGRAMS: dict[str, str] = {
    # -- holders that are made where there is none yet -------------------------------------------------------------
    "a list of the first iteration": training("if i == 0:\n    own = []\nkeep(own, loss)  # TLK402", KEEP),
    "a list of the first iteration, by a flag": training(
        "if not begun:\n    own, begun = [], True\nkeep(own, loss)  # TLK402", KEEP, "begun = False"
    ),
    "a list where there is none": training("box.put(loss)  # TLK403", LAZY, "box = Lazy()"),
    "a list where there is none, put away": training(
        "box.put(loss)\nif i % 2 == 0:\n    box.rows = None", LAZY, "box = Lazy()"
    ),
    "a list of the first iteration, made anew": training(
        "if i == 0:\n    own = []\nkeep(own, loss)\nif i % 2 == 0:\n    own = []", KEEP
    ),
    "a list made anew at the end": training("keep(kept, loss)\nkept = []", KEEP),
    "a list made anew at the end, and another name of it": training("keep(kept, loss)\nkept, before = [], kept", KEEP),
    # -- parameters that a call does not give -----------------------------------------------------------------
    "only where somebody asks for it": program("""
        def gather(loader, model, criterion, optimizer, more=False):
            kept = []
            for x, y in loader:
                STEP
                if more:
                    keep(kept, loss)
            return kept
        def keep(store, value): store.append(value)
        def train(model, loader, criterion, optimizer):
            gather(loader, model, criterion, optimizer)
    """),
    # -- single numbers ------------------------------------------------------------------------------------------
    **{
        f"a single number, by {asks}": training(f"v = loss\nkeep(kept, v.item() if {asks} else v)", KEEP)
        for asks in ("v.dim() == 0", "v.ndim == 0", "v.numel() == 1")
    },
    "a single number, or not": training("v = loss\nkeep(kept, v if v.dim() != 0 else v.item())", KEEP),
    "a number that is called so": training(
        "keep(kept, loss.item() if sizes.dim == 0 else loss)  # TLK402", KEEP + SIZES, "sizes, kept = Sizes(), []"
    ),
    "a single number, kept": training("v = loss\nkeep(kept, v if v.dim() == 0 else v.item())  # TLK402", KEEP),
    # -- objects that hold the one before ------------------------------------------------------------------------
    "linked": training("node = Node(loss, node)  # TLK402", NODE, "node = None"),
    "linked by pairs": training("node = (loss, node)  # TLK402", "", "node = None"),
    "linked, and cut": training("node = Node(loss, None)", NODE, "node = None"),
    "linked to what one of the last held": training(
        "node = Node(loss, node.value.item() if node is not None else 0)", NODE, "node = None"
    ),
    "numbers, linked": training("node = Node(loss.item(), node)", NODE, "node = None"),
    # -- what a condition leaves of a value ---------------------------------------------------------------------
    "released where it is a tensor": training(
        "v = maybe(loss, i)\nif isinstance(v, torch.Tensor):\n    v = v.item()\nkeep(kept, v)", OR_NUMBER
    ),
    "released where the step's number says so": training("keep(kept, float(loss) if i % 2 else loss)  # TLK402", KEEP),
    "released where it says that it is a tensor": training(
        "v = maybe(loss, i)\nkeep(kept, v.item() if hasattr(v, 'item') else v)", OR_NUMBER
    ),
    "kept where it is text": training("v = maybe(loss, i)\nif isinstance(v, str):\n    keep(kept, v)", OR_TEXT),
    "kept where it is a number": training(
        "v = maybe(loss, i)\nif isinstance(v, (int, float)):\n    keep(kept, v)", OR_NUMBER
    ),
    "kept where it is no tensor": training(
        "v = maybe(loss, i)\nif not torch.is_tensor(v):\n    keep(kept, v)", OR_NUMBER
    ),
    "kept where it is a tensor": training(
        "v = maybe(loss, i)\nif torch.is_tensor(v):\n    keep(kept, v)  # TLK402", OR_NUMBER
    ),
    "kept where it is None": training("v = maybe(loss, i)\nif v is None:\n    keep(kept, v)", OR_NONE),
    "kept where it is not None": training(
        "v = maybe(loss, i)\nif v is not None:\n    keep(kept, v)  # TLK402", OR_NONE
    ),
    "kept where it is None and something else": training(
        "v = maybe(loss, i)\nif i >= 0 and v is None:\n    keep(kept, v)", OR_NONE
    ),
    "kept where neither holds": training(
        "v = maybe(loss, i)\nif v is None or i > 100:\n    pass\nelse:\n    keep(kept, v)  # TLK402", OR_NONE
    ),
    "kept where one of two holds": training(
        "v = maybe(loss, i)\nif v is None or i > -1:\n    keep(kept, v)  # TLK402", OR_NONE
    ),
    "kept in a later arm": training(
        "v = maybe(loss, i)\nif v is not None:\n    v = 1\nelif i % 2:\n    keep(kept, v)\nelse:\n    keep(kept, v)",
        OR_NONE,
    ),
    "kept below what asked": training(
        "keep(kept, text(maybe(loss, i)))",
        OR_NONE + "def text(v):\n    if v is None:\n        return v\n    return v.item()",
    ),
    "kept below what left": training("v = maybe(loss, i)\nif v is not None:\n    continue\nkeep(kept, v)", OR_NONE),
    "kept below what did not leave": training(
        "v = maybe(loss, i)\nif v is None:\n    continue\nkeep(kept, v)  # TLK402", OR_NONE
    ),
    "an attribute that is None": training(
        "box.v = maybe(loss, i)\nif box.v is None:\n    keep(kept, box.v)", BOX, "box, kept = Box(), []"
    ),
    "an attribute that is not None": training(
        "box.v = maybe(loss, i)\nif box.v is not None:\n    keep(kept, box.v)  # TLK402", BOX, "box, kept = Box(), []"
    ),
    "an attribute of a global object": training(
        "box.v = maybe(loss, i)\nif box.v is None:\n    keep(kept, box.v)", BOX + "box = Box()"
    ),
    "a global that is None": training(
        "put(loss)\nif last is None:\n    keep(kept, last)",
        KEEP + "last = None\ndef put(v):\n    global last\n    last = v",
    ),
    "what a call gives is asked": training(
        "if isinstance(maybe(loss, i), torch.Tensor):\n    keep(kept, maybe(loss, i))  # TLK402", OR_NUMBER
    ),
    "asked whether it is something else": training(
        "v = maybe(loss, i)\nif v is kept:\n    pass\nelse:\n    keep(kept, v)  # TLK402", OR_NUMBER
    ),
    "asked by another function": training(
        "v = maybe(loss, i)\nif math.isnan(float(v)) is False:\n    keep(kept, v)  # TLK402", OR_NUMBER
    ),
    "a choice of what it is": training("v = maybe(loss, i)\nkeep(kept, v if v is None else v.item())", OR_NONE),
    "a choice of what it is not": training("v = maybe(loss, i)\nkeep(kept, 0 if v is None else v)  # TLK402", OR_NONE),
    "a choice that binds": training(
        "v = maybe(loss, i)\nkeep(kept, (v := 0) if v is not None else v)\nkeep(kept, v)", OR_NONE
    ),
    "behind a choice": training("v = maybe(loss, i)\nw = 0 if v is None else 1\nkeep(kept, v)  # TLK402", OR_NONE),
    "a choice that releases tensors": training(
        "keep(kept, put(loss))", KEEP + "def put(v): return v.detach() if isinstance(v, torch.Tensor) else v"
    ),
    "a choice that releases what has a value": training(
        "keep(kept, put(loss))", KEEP + "def put(v): return v.item() if hasattr(v, 'item') else v"
    ),
    "a choice that releases by a function": training(
        "n = float(v) if known else v\nkeep(kept, n)", KEEP, "v, known, kept = eval('1'), eval('True'), []"
    ),
    "a choice that releases in the other arm": training(
        "keep(kept, put(loss))", KEEP + "def put(v): return v if not torch.is_tensor(v) else v.detach()"
    ),
    "a choice that says that the other is a number": training(
        "keep(kept, put(loss.item(), i > 3))", KEEP + "def put(v, known): return v if known else float(v)"
    ),
    "a list of numbers or one tensor": training(
        "v = many(loss, i)\nif isinstance(v, list):\n    v = [e.item() for e in v]\nkeep(kept, v)  # TLK402", MANY
    ),
    "a list of numbers or a number": training(
        "v = many(loss, i)\nif isinstance(v, (list, tuple)):\n    v = [e.item() for e in v]\nelse:\n    v = v.item()\n"
        "keep(kept, v)",
        MANY,
    ),
    "a sequence of numbers or a number": training(
        "v = many(loss, i)\nif isinstance(v, collections.abc.Sequence):\n    v = [e.item() for e in v]\nelse:\n"
        "    v = v.item()\nkeep(kept, v)",
        MANY + "import collections.abc",
    ),
    "a record": training("v = maybe(loss, i)\nif isinstance(v, Row):\n    keep(kept, v)  # TLK402", ROW),
    "no record": training("v = maybe(loss, i)\nif not isinstance(v, Row):\n    keep(kept, v)", ROW),
    "whether gradients are required": training(
        "v = loss.detach() if loss.requires_grad else loss\nkeep(kept, v)", KEEP
    ),
    # -- the first iteration ------------------------------------------------------------------------------------
    "a sum that begins at the first": training(
        "if i == 0:\n    total = loss\nelse:\n    total = plus(total, loss)  # TLK401", PLUS, "total = None"
    ),
    "numbers that begin at the first": training(
        "if i == 0:\n    total = loss.item()\nelse:\n    total = plus(total, loss.item())", PLUS, "total = None"
    ),
    "at the first": training("if not i:\n    keep(kept, loss)", KEEP),
    "at all but the first": training("if i:\n    keep(kept, loss)  # TLK402", KEEP),
    "above none": training("if i > 0:\n    keep(kept, loss)  # TLK402", KEEP),
    "one or more": training("if i >= 1:\n    keep(kept, loss)  # TLK402", KEEP),
    "below one": training("if i < 1:\n    keep(kept, loss)", KEEP),
    "none or less": training("if i <= 0:\n    keep(kept, loss)", KEEP),
    "not none": training("if i != 0:\n    keep(kept, loss)  # TLK402", KEEP),
    "made anew at all but the first": training("if i != 0:\n    kept = []\nkeep(kept, loss)", KEEP),
    "released at all but the first": training("v = loss\nif i > 0:\n    v = v.item()\nkeep(kept, v)", KEEP),
    "released at the first": training("v = loss\nif i == 0:\n    v = v.item()\nkeep(kept, v)  # TLK402", KEEP),
    "a choice at the first": training("keep(kept, loss if i == 0 else loss.item())", KEEP),
    "a choice at all but the first": training("keep(kept, loss if i else loss.item())  # TLK402", KEEP),
    "counted from one": training("v = loss\nif n == 0:\n    v = loss.item()\nkeep(kept, v)  # TLK402", KEEP).replace(
        "i, (x, y) in enumerate(loader)", "n, (x, y) in enumerate(loader, 1)"
    ),
    "counted by itself": training(
        "if n == 0:\n    total = loss\nelse:\n    total = plus(total, loss)  # TLK401\nn += 1",
        PLUS,
        "total, n = None, 0",
    ),
    "a flag": training(
        "if first:\n    total, first = loss, False\nelse:\n    total = plus(total, loss)  # TLK401",
        PLUS,
        "total, first = None, True",
    ),
    "None before the first": training(
        "total = loss if total is None else plus(total, loss)  # TLK401", PLUS, "total = None"
    ),
    "numbers, None before the first": training(
        "if total is None:\n    total = loss.detach()\nelse:\n    total = plus(total, loss.detach())",
        PLUS,
        "total = None",
    ),
    "the first of a loop over numbers": training(
        "for k in range(2, 4):\n    keep(kept, loss if k == 2 else i)  # TLK402", KEEP
    ),
    # -- what a loop carries ------------------------------------------------------------------------------------
    "a list in the next one": training("new = [loss]\nkeep(new, kept)\nkept = new  # TLK402", KEEP),
    "a tuple in the next one": training("node = (loss, node)  # TLK402", "", "node = None"),
    "a dict in the next one": training("node = dict(v=loss, below=node)  # TLK402", "", "node = None"),
    "beside the one before": training("pair = (loss, before)\nbefore = loss", "", "before = None"),
    "beside the first of the pair": training("pair = (loss, pair[0])", "", "pair = (None, None)"),
    "beside what is taken out of the pair": training("a, b = pair\npair = (loss, a)", "", "pair = (None, None)"),
    "beside an entry": training("d = {'now': loss, 'before': d.get('now')}", "", "d = {}"),
    "beside the last of a list": training("two = [*two[-1:], loss]", "", "two = []"),
    "beside the last, in a function": training("two = [*last(two), loss]", "def last(s): return s[-1:]", "two = []"),
    "beside the last, added": training("two = two[-1:] + [loss]", "", "two = []"),
    "beside all of a slice": training("kept = [*kept[:], loss]  # TLK402"),
    "a copy and more": training(
        "kept = more(kept, loss)  # TLK402", "def more(s, v):\n    new = s.copy()\n    new.append(v)\n    return new"
    ),
    "a list of all and more": training("kept = list(kept) + [loss]  # TLK402"),
    "all that a comprehension takes": training("kept = [v for v in kept] + [loss]  # TLK402"),
    "the first few of a sorted list": training("kept = sorted([*kept, loss])[:3]"),
    "a tuple and more": training("kept = kept + (loss,)  # TLK402", "", "kept = ()"),
    "a set and more": training("kept = kept | {loss}  # TLK402", "", "kept = set()"),
    "a dict and more": training("kept = kept | {i: loss}  # TLK402", "", "kept = {}"),
    "a dict and the same": training("kept = kept | {'a': loss}", "", "kept = {}"),
    "a dict spread and more": training("kept = {**kept, i: loss}  # TLK402", "", "kept = {}"),
    "a dict spread and the same": training("kept = {**kept, 'a': loss}", "", "kept = {}"),
    "rows in a state": training("state = dict(rows=[*state['rows'], loss])  # TLK402", "", "state = dict(rows=[])"),
    # -- what starts anew now and then --------------------------------------------------------------------------
    "a list that starts anew": training("if i % 4 == 0:\n    kept = []\nkeep(kept, loss)", KEEP),
    "a list that starts anew, bound": training("if i % 4 == 0:\n    kept = []\nkept = [*kept, loss]"),
    "a dict that starts anew": training("if i % 4 == 0:\n    kept = {}\nput(kept, i, loss)", PUT, "kept = {}"),
    "keys that come again": training("put(kept, i % 3, loss)", PUT, "kept = {}"),
    "keys that come three times": training("put(kept, i // 3, loss)  # TLK402", PUT, "kept = {}"),
    "keys that do not come again": training("put(kept, i % (i + 1), loss)  # TLK402", PUT, "kept = {}"),
    "keys of text": training("put(kept, 'step %d' % i, loss)  # TLK402", PUT, "kept = {}"),
    "an unknown list that is cut": training("keep(rows, loss)\ndel rows[:-2]", KEEP, "rows = eval('[]')"),
    "a list that is cut": training("keep(rows, loss)\ndel rows[:-2]", KEEP, "rows = []"),
    "put behind the last": training("put(kept, loss)  # TLK402", "def put(s, v): s[len(s):] = [v]"),
    "differentiated now and then": program("""
        class Memory:
            def __init__(self):
                self.rows = []
            def add(self, v):
                self.rows.append({"v": v, "n": 1})
            def loss(self):
                return torch.stack([row["v"] for row in self.rows]).sum()
        def train(model, loader, criterion, optimizer):
            memory = Memory()
            for x, y in loader:
                memory.add(criterion(model(x), y))
                if len(memory.rows) == 2:
                    memory.loss().backward()
                    optimizer.step()
                    memory = Memory()
    """),
    "records differentiated at last": program("""
        def keep(store, value): store.append(value)
        @dataclass
        class Row:
            v: Any
        def train(model, loader, criterion, optimizer):
            for epoch in range(3):
                kept = []
                for x, y in itertools.islice(loader, 3):
                    keep(kept, Row(criterion(model(x), y)))
                sum(row.v for row in kept).backward()
    """),
    "pairs differentiated at last": program("""
        def keep(store, value): store.append(value)
        def train(model, loader, criterion, optimizer):
            for epoch in range(3):
                kept, total = [], 0
                for x, y in itertools.islice(loader, 3):
                    keep(kept, (criterion(model(x), y), 1))
                for v, n in kept:
                    total = total + v * n
                total.backward()
    """),
}


UNCALLED: dict[str, str] = {
    "only where it is asked for": program("""
        def train(model, loader, criterion, optimizer, more=False):
            kept = []
            for x, y in loader:
                STEP
                if more:
                    kept.append(loss)  # TLK402
            return kept
    """),
    "only where there is something": program("""
        def train(model, loader, criterion, optimizer, kept=None):
            for x, y in loader:
                STEP
                if kept is not None:
                    kept.append(loss)  # TLK402
    """),
}
"""Functions that nobody calls, with parameters that somebody may give."""


@pytest.mark.parametrize("name", UNCALLED)
def test_what_somebody_may_ask_for(name: str) -> None:
    assert reported(UNCALLED[name]) == marked(UNCALLED[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_knowing(name: str) -> None:
    assert reported(PROGRAMS[name]) == marked(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    assert grows(PROGRAMS[name]) is bool(marked(PROGRAMS[name]))
