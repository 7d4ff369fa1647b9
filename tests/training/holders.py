"""What keeps a value over the steps, and the ways in which a value gets there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.training.draft import Draft, Lines, block, function

VALUE = "VALUE"
"""Stands for what is kept in the statements of a holder."""


@dataclass
class Holder:
    """kind: its name; keeping: the statements that keep VALUE; items: an iterable of all that is kept.

    total: an expression, the sum of what is kept; empty: statements that begin anew. first: new items come first.
    """

    kind: str
    place: str
    keeping: Lines
    items: str
    total: str
    empty: Lines
    first: bool = False

    def keep(self, value: str) -> Lines:
        """The statements that keep an expression."""
        return [line.replace(VALUE, value) for line in self.keeping]


KINDS = (
    "list", "list", "list", "sum", "sum", "dict", "dict of lists", "dict sum", "record", "dataclass", "deque", "tuple",
    "meter", "queue", "slots", "nested",
)  # fmt: skip
TAGS = {
    "dict": "dicts", "dict of lists": "dicts", "dict sum": "dicts", "list": "lists", "record": "records",
    "dataclass": "records", "deque": "records", "tuple": "records", "meter": "metrics", "slots": "attributes",
    "nested": "dicts",
}  # fmt: skip


def holder(d: Draft, kind: str = "", shared: bool | None = None) -> Holder:
    """A holder of that kind, or of any. shared: whether functions other than the one with the loop read it."""
    kind = kind or d.rng.choice(KINDS)
    d.cell["holder"] = kind
    made = _MAKERS[kind](d, shared)
    if kind in TAGS:
        d.tag(TAGS[kind])
    if made.place.startswith("self."):
        d.tag("attributes")
    return made


def _total(d: Draft, items: str) -> str:
    return d.pick(f"sum({items})", f"torch.stack(list({items})).sum()", f"torch.stack([*{items}]).mean()")


def _list(d: Draft, shared: bool | None) -> Holder:
    at = d.bind("losses", "[]", shared)
    forms = {
        "append": [f"{at}.append({VALUE})"],
        "augment": [f"{at} += [{VALUE}]"],
        "extend": [f"{at}.extend([{VALUE}])"],
        "insert": [f"{at}.insert(0, {VALUE})"],
        "star": [f"{at} = [*{at}, {VALUE}]"],
        "plus": [f"{at} = {at} + [{VALUE}]"],
    }
    form = d.pick("append", "append", "append", "append", *forms, "bound", "helper", "lambda")
    if form in ("bound", "lambda"):
        push = d.new("helper")
        made = f"{at}.append" if form == "bound" else f"lambda v: {at}.append(v)"
        forms[form] = [f"{push} = {made}", f"{push}({VALUE})"]
    elif form == "helper":
        d.tag("helpers")
        name, where, what = d.new("helper"), d.new("temp"), d.new("temp")
        body = d.pick(f"{where}.append({what})", f"{where} += [{what}]", f"{where}.insert(len({where}), {what})")
        forms[form] = [f"{d.placed(name, function(name, f'{where}, {what}', [body]))}({at}, {VALUE})"]
    d.cell["form"] = form
    empty = d.pick(f"{at} = []", f"{at}.clear()", f"del {at}[:]")
    return Holder("list", at, forms[form], at, _total(d, at), [empty], first=form == "insert")


def _sum(d: Draft, shared: bool | None) -> Holder:
    start = d.pick("0", "0", "0.0", "torch.zeros(())")
    at = d.bind("total", start, shared)
    forms = {
        "+=": f"{at} += {VALUE}",
        "a = a + v": f"{at} = {at} + {VALUE}",
        "a = v + a": f"{at} = {VALUE} + {at}",
        "torch.add": f"{at} = torch.add(torch.as_tensor({at}), {VALUE})",
        "sum": f"{at} = sum([{at}, {VALUE}])",
        "conditional": f"{at} = {at} + {VALUE} if torch.is_tensor({at}) else {VALUE}",
        "helper": "",
    }
    form = d.pick("+=", "+=", "+=", *forms)
    if form == "+=" and start.startswith("torch"):
        form = "a = a + v"
    if form == "helper":
        d.tag("helpers")
        name, a, b = d.new("helper"), d.new("temp"), d.new("temp")
        body = d.pick([f"return {a} + {b}"], [f"{a} = {a} + {b}", f"return {a}"])
        forms[form] = f"{at} = {d.placed(name, function(name, f'{a}, {b}', body))}({at}, {VALUE})"
    d.cell["form"] = form
    return Holder("sum", at, [forms[form]], f"[{at}]", at, [f"{at} = 0"])


def _dict(d: Draft, shared: bool | None) -> Holder:
    at = d.bind("losses", d.pick("{}", "dict()"), shared)
    keep = d.pick(
        f"{at}[len({at})] = {VALUE}",
        f"{at}.update({{len({at}): {VALUE}}})",
        f"{at}.setdefault(len({at}), {VALUE})",
    )
    items = f"list({at}.values())"
    return Holder("dict", at, [keep], items, _total(d, items), [f"{at}.clear()"])


def _dict_of_lists(d: Draft, shared: bool | None) -> Holder:
    key = d.pick("'loss'", "'train'", "0", "('a', 1)")
    made = f"{{{key}: []}}"
    if d.chance(0.5):
        d.need("import collections")
        made = "collections.defaultdict(list)"
    at = d.bind("losses", made, shared)
    keep = d.pick(
        f"{at}[{key}].append({VALUE})",
        f"{at}.setdefault({key}, []).append({VALUE})",
        f"{at}[{key}] += [{VALUE}]",
    )
    items = f"{at}[{key}]"
    return Holder("dict of lists", at, [keep], items, _total(d, items), [f"{items} = []"])


def _dict_sum(d: Draft, shared: bool | None) -> Holder:
    key = d.pick("'loss'", "'total'", "'mse'")
    at = d.bind("total", f"{{{key}: 0}}", shared)
    item = f"{at}[{key}]"
    keep = d.pick(f"{item} += {VALUE}", f"{item} = {at}.get({key}, 0) + {VALUE}", f"{item} = {item} + {VALUE}")
    return Holder("dict sum", at, [keep], f"[{item}]", item, [f"{item} = 0"])


def _record(d: Draft, shared: bool | None) -> Holder:
    name, a, b = d.new("class"), d.new("temp"), d.new("temp")
    at = d.bind("losses", "[]", shared)
    if d.chance(0.5):
        text = "\n".join(block(f"class {name}(NamedTuple):", [f"{a}: object", f"{b}: int = 0"]))
        need = "from typing import NamedTuple"
    else:
        text, need = f"{name} = collections.namedtuple('{name}', ['{a}', '{b}'])", "import collections"
    called = d.placed(name, text, [need])
    keep = d.pick(
        f"{at}.append({called}({VALUE}, 1))",
        f"{at}.append({called}({a}={VALUE}, {b}=2))",
        f"{at} += [{called}({VALUE}, len({at}))]",
    )
    items = f"[r.{a} for r in {at}]"
    return Holder("record", at, [keep], items, _total(d, items), [f"{at}.clear()"])


def _dataclass(d: Draft, shared: bool | None) -> Holder:
    name, a = d.new("class"), d.new("temp")
    fields = [f"{a}: list = dataclasses.field(default_factory=list)", "count: int = 0"]
    text = "\n".join(["@dataclasses.dataclass", *block(f"class {name}:", fields)])
    at = d.bind("meter", f"{d.placed(name, text, ['import dataclasses'])}()", shared)
    items = f"{at}.{a}"
    keep = d.pick(f"{items}.append({VALUE})", f"{items} = {items} + [{VALUE}]", f"{items} += [{VALUE}]")
    return Holder("dataclass", at, [keep], items, _total(d, items), [f"{items} = []"])


def _deque(d: Draft, shared: bool | None) -> Holder:
    d.need("import collections")
    made = d.pick("collections.deque()", "collections.deque()", "collections.deque(maxlen=50)")
    at = d.bind("losses", made, shared)
    keep = d.pick(f"{at}.append({VALUE})", f"{at}.appendleft({VALUE})", f"{at}.extend([{VALUE}])")
    return Holder("deque", at, [keep], at, _total(d, at), [f"{at}.clear()"], first="left" in keep)


def _tuple(d: Draft, shared: bool | None) -> Holder:
    at = d.bind("losses", "()", shared)
    keep = d.pick(f"{at} = {at} + ({VALUE},)", f"{at} += ({VALUE},)", f"{at} = (*{at}, {VALUE})")
    return Holder("tuple", at, [keep], at, _total(d, at), [f"{at} = ()"])


def _slots(d: Draft, shared: bool | None) -> Holder:
    """An attribute of an object, of a class, of a namespace or of a function."""
    name, a = d.new("class"), d.new("temp")
    way = d.pick("class", "namespace", "function", "object", "object")
    if way == "namespace":
        d.need("import types")
        at = d.bind("meter", f"types.SimpleNamespace({a}=0)", shared)
    elif way == "class":
        at = d.bind("meter", d.placed(name, "\n".join(block(f"class {name}:", [f"{a} = 0"]))), shared)
    elif way == "object":
        text = "\n".join(block(f"class {name}:", block("def __init__(self):", [f"self.{a} = 0"])))
        at = d.bind("meter", f"{d.placed(name, text)}()", shared)
    else:
        at = d.new("helper")
        d.define(function(at, "", [f"return {at}.{a}"]) + f"\n\n\n{at}.{a} = 0")
    item = f"{at}.{a}"
    keep = d.pick(f"{item} += {VALUE}", f"{item} = {item} + {VALUE}", f"setattr({at}, '{a}', {item} + {VALUE})")
    return Holder("slots", at, [keep], f"[{item}]", item, [f"{item} = 0"])


def _queue(d: Draft, shared: bool | None) -> Holder:
    d.need("import queue")
    at = d.bind("losses", d.pick("queue.Queue()", "queue.SimpleQueue()", "queue.LifoQueue()"), shared)
    items = f"[{at}.get() for _ in range({at}.qsize())]"
    return Holder("queue", at, [f"{at}.put({VALUE})"], items, f"sum({items})", [f"{at} = queue.Queue()"])


def _nested(d: Draft, shared: bool | None) -> Holder:
    at = d.bind("losses", "[]", shared)
    shape = d.pick(f"{{'loss': {VALUE}, 'n': len({at})}}", f"dict(loss={VALUE})", f"{{'loss': ({VALUE})}}")
    keep = d.pick(f"{at}.append({shape})", f"{at} += [{shape}]")
    items = f"[r['loss'] for r in {at}]"
    return Holder("nested", at, [keep], items, _total(d, items), [f"{at}.clear()"])


def _meter(d: Draft, shared: bool | None) -> Holder:
    """A class of the program that keeps what its method is given: a sum or a list, by itself or by a base's method."""
    name, a, v = d.new("class"), d.new("total"), d.new("temp")
    method = d.pick("update", "add", "__call__", "push", d.new("helper"))
    sums = d.chance(0.5)
    kept = f"self.{a}"
    if sums:
        start = d.pick("0", "0.0")
        keep = d.pick(f"{kept} += {v} * n", f"{kept} = {kept} + {v}", f"{kept} += {v}")
        mean = f"return {kept} / max(1, self.n)"
    else:
        start = "[]"
        keep = d.pick(f"{kept}.append({v})", f"{kept} += [{v}]", f"{kept}.extend([{v}] * n)")
        mean = f"return sum({kept}) / max(1, self.n)"
    methods = block("def __init__(self):", [f"{kept} = {start}", "self.n = 0"])
    methods += block(f"def {method}(self, {v}, n=1):", [keep, "self.n += n"])
    if d.chance(0.4):
        methods += block(d.pick("def mean(self):", "def compute(self):"), [mean])
    if d.chance(0.3):
        base = d.new("class")
        called = d.placed(base, "\n".join(block(f"class {base}:", methods)))
        d.define("\n".join(block(f"class {name}({called}):", ["pass"])))
        called = name
    else:
        called = d.placed(name, "\n".join(block(f"class {name}:", methods)))
    at = d.bind("meter", f"{called}()", shared)
    call = f"{at}({VALUE})" if method == "__call__" else f"{at}.{method}({VALUE})"
    items, total = (f"[{at}.{a}]", f"{at}.{a}") if sums else (f"{at}.{a}", f"sum({at}.{a})")
    return Holder("meter", at, [call], items, total, [f"{at}.__init__()"])


_MAKERS: dict[str, Callable[[Draft, bool | None], Holder]] = {
    "list": _list,
    "sum": _sum,
    "dict": _dict,
    "dict of lists": _dict_of_lists,
    "dict sum": _dict_sum,
    "record": _record,
    "dataclass": _dataclass,
    "deque": _deque,
    "tuple": _tuple,
    "meter": _meter,
    "queue": _queue,
    "slots": _slots,
    "nested": _nested,
}
