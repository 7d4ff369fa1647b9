"""What keeps a value over the steps, and the ways in which a value gets there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.training.draft import Draft, Lines, block, function


@dataclass
class Holder:
    """kind: its name; keep: the statements that keep an expression; items: an iterable of all that is kept.

    total: an expression, the sum of what is kept; empty: statements that begin anew.
    """

    kind: str
    place: str
    keep: Callable[[str], Lines]
    items: str
    total: str
    empty: Lines


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
    """A holder of that kind, or of any."""
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
    form = d.pick("append", "append", "append", "augment", "extend", "insert", "star", "bound", "helper", "helper", "lambda")
    d.cell["form"] = form
    keep: Callable[[str], Lines] = lambda value: [f"{at}.append({value})"]  # noqa: E731
    if form == "augment":
        keep = lambda value: [f"{at} += [{value}]"]  # noqa: E731
    elif form == "extend":
        keep = lambda value: [f"{at}.extend([{value}])"]  # noqa: E731
    elif form == "insert":
        keep = lambda value: [f"{at}.insert(0, {value})"]  # noqa: E731
    elif form == "star":
        keep = lambda value: [f"{at} = [*{at}, {value}]"]  # noqa: E731
    elif form == "bound":
        push = d.new("helper")
        keep = lambda value: [f"{push} = {at}.append", f"{push}({value})"]  # noqa: E731
    elif form == "lambda":
        push = d.new("helper")
        keep = lambda value: [f"{push} = lambda v: {at}.append(v)", f"{push}({value})"]  # noqa: E731
    elif form == "helper":
        d.tag("helpers")
        name = d.new("helper")
        where, what = d.new("temp"), d.new("temp")
        body = d.pick(f"{where}.append({what})", f"{where} += [{what}]", f"{where}.insert(len({where}), {what})")
        called = d.placed(name, function(name, f"{where}, {what}", [body]))
        keep = lambda value: [f"{called}({at}, {value})"]  # noqa: E731
    return Holder("list", at, keep, at, _total(d, at), [d.pick(f"{at} = []", f"{at}.clear()", f"del {at}[:]")])


def _sum(d: Draft, shared: bool | None) -> Holder:
    start = d.pick("0", "0", "0.0", "torch.zeros(())")
    at = d.bind("total", start, shared)
    form = d.pick("+=", "+=", "a = a + v", "a = v + a", "torch.add", "sum", "helper", "conditional")
    d.cell["form"] = form
    expressions = {
        "+=": "{at} += {value}",
        "a = a + v": "{at} = {at} + {value}",
        "a = v + a": "{at} = {value} + {at}",
        "torch.add": "{at} = torch.add(torch.as_tensor({at}), {value})",
        "sum": "{at} = sum([{at}, {value}])",
        "conditional": "{at} = {at} + {value} if torch.is_tensor({at}) else {value}",
    }
    if form == "helper":
        d.tag("helpers")
        name, a, b = d.new("helper"), d.new("temp"), d.new("temp")
        called = d.placed(name, function(name, f"{a}, {b}", [d.pick(f"return {a} + {b}", f"{a} = {a} + {b}; return {a}")]))
        return Holder("sum", at, lambda value: [f"{at} = {called}({at}, {value})"], f"[{at}]", at, [f"{at} = 0"])
    text = expressions[form]
    if form == "+=" and start.startswith("torch"):
        text = expressions["a = a + v"]
    return Holder("sum", at, lambda value: [text.format(at=at, value=value)], f"[{at}]", at, [f"{at} = 0"])


def _dict(d: Draft, shared: bool | None) -> Holder:
    at = d.bind("losses", d.pick("{}", "dict()"), shared)
    keep = d.pick("{at}[len({at})] = {value}", "{at}.update({{len({at}): {value}}})", "{at}.setdefault(len({at}), {value})")
    items = f"list({at}.values())"
    return Holder("dict", at, lambda value: [keep.format(at=at, value=value)], items, _total(d, items), [f"{at}.clear()"])


def _dict_of_lists(d: Draft, shared: bool | None) -> Holder:
    key = d.pick("'loss'", "'train'", "0", "'a', 1")
    at = d.bind("losses", f"{{({key}): []}}", shared)
    if d.chance(0.5):
        d.need("import collections")
        d.inits = [line.replace(f"{at} = {{({key}): []}}", f"{at} = collections.defaultdict(list)") for line in d.inits]
        d.before = [line.replace(f"{at} = {{({key}): []}}", f"{at} = collections.defaultdict(list)") for line in d.before]
    keep = d.pick("{at}[{key}].append({value})", "{at}.setdefault(({key}), []).append({value})", "{at}[{key}] += [{value}]")
    items = f"{at}[{key}]"
    made = lambda value: [keep.format(at=at, key=key, value=value)]  # noqa: E731
    return Holder("dict of lists", at, made, items, _total(d, items), [f"{items} = []"])


def _dict_sum(d: Draft, shared: bool | None) -> Holder:
    key = d.pick("'loss'", "'total'", "'mse'")
    at = d.bind("total", f"{{{key}: 0}}", shared)
    keep = d.pick("{at}[{key}] += {value}", "{at}[{key}] = {at}.get({key}, 0) + {value}", "{at}[{key}] = {at}[{key}] + {value}")
    item = f"{at}[{key}]"
    made = lambda value: [keep.format(at=at, key=key, value=value)]  # noqa: E731
    return Holder("dict sum", at, made, f"[{item}]", item, [f"{item} = 0"])


def _record(d: Draft, shared: bool | None) -> Holder:
    name, a, b = d.new("class"), d.new("temp"), d.new("temp")
    at = d.bind("losses", "[]", shared)
    if d.chance(0.5):
        text, need = "\n".join(block(f"class {name}(NamedTuple):", [f"{a}: object", f"{b}: int = 0"])), "from typing import NamedTuple"
    else:
        text, need = f"{name} = collections.namedtuple('{name}', ['{a}', '{b}'])", "import collections"
    called = d.placed(name, text, [need])
    keep = d.pick("{at}.append({called}({value}, 1))", "{at}.append({called}({a}={value}, {b}=2))", "{at} += [{called}({value}, len({at}))]")
    items = f"[r.{a} for r in {at}]"
    made = lambda value: [keep.format(at=at, called=called, value=value, a=a, b=b)]  # noqa: E731
    return Holder("record", at, made, items, _total(d, items), [f"{at}.clear()"])


def _dataclass(d: Draft, shared: bool | None) -> Holder:
    name, a = d.new("class"), d.new("temp")
    text = "\n".join(
        block(f"class {name}:", [f"{a}: list = dataclasses.field(default_factory=list)", "count: int = 0"])
    )
    called = d.placed(name, f"@dataclasses.dataclass\n{text}", ["import dataclasses"])
    at = d.bind("meter", f"{called}()", shared)
    keep = d.pick("{at}.{a}.append({value})", "{at}.{a} = {at}.{a} + [{value}]", "{at}.{a} += [{value}]")
    items = f"{at}.{a}"
    made = lambda value: [keep.format(at=at, a=a, value=value)]  # noqa: E731
    return Holder("dataclass", at, made, items, _total(d, items), [f"{items} = []"])


def _deque(d: Draft, shared: bool | None) -> Holder:
    d.need("import collections")
    at = d.bind("losses", d.pick("collections.deque()", "collections.deque()", "collections.deque(maxlen=50)"), shared)
    keep = d.pick("{at}.append({value})", "{at}.appendleft({value})", "{at}.extend([{value}])")
    return Holder("deque", at, lambda value: [keep.format(at=at, value=value)], at, _total(d, at), [f"{at}.clear()"])


def _tuple(d: Draft, shared: bool | None) -> Holder:
    at = d.bind("losses", "()", shared)
    keep = d.pick("{at} = {at} + ({value},)", "{at} += ({value},)", "{at} = (*{at}, {value})")
    return Holder("tuple", at, lambda value: [keep.format(at=at, value=value)], at, _total(d, at), [f"{at} = ()"])


def _slots(d: Draft, shared: bool | None) -> Holder:
    name, a = d.new("class"), d.new("temp")
    way = d.pick("class", "namespace", "function", "object")
    if way == "namespace":
        d.need("import types")
        at = d.bind("meter", f"types.SimpleNamespace({a}=0)", shared)
    elif way == "class":
        called = d.placed(name, "\n".join(block(f"class {name}:", [f"{a} = 0"])))
        at = d.bind("meter", called, shared)
    elif way == "object":
        text = "\n".join(block(f"class {name}:", block("def __init__(self):", [f"self.{a} = 0"])))
        at = d.bind("meter", f"{d.placed(name, text)}()", shared)
    else:
        at = d.placed(d.new("helper"), "")
        d.define(function(at, "", [f"return {at}.{a}"]))
        d.define(f"{at}.{a} = 0")
    item = f"{at}.{a}"
    keep = d.pick("{item} += {value}", "{item} = {item} + {value}", "setattr({at}, '{a}', {item} + {value})")
    made = lambda value: [keep.format(at=at, a=a, item=item, value=value)]  # noqa: E731
    return Holder("slots", at, made, f"[{item}]", item, [f"{item} = 0"])


def _queue(d: Draft, shared: bool | None) -> Holder:
    d.need("import queue")
    at = d.bind("losses", d.pick("queue.Queue()", "queue.SimpleQueue()", "queue.LifoQueue()"), shared)
    items = f"[{at}.get() for _ in range({at}.qsize())]"
    return Holder("queue", at, lambda value: [f"{at}.put({value})"], items, f"sum({items})", [f"{at} = queue.Queue()"])


def _nested(d: Draft, shared: bool | None) -> Holder:
    at = d.bind("losses", "[]", shared)
    shape = d.pick("{{'loss': {value}, 'n': len({at})}}", "dict(loss={value})", "{{'loss': ({value})}}")
    keep = d.pick("{at}.append({shape})", "{at} += [{shape}]")
    items = f"[r['loss'] for r in {at}]"
    made = lambda value: [keep.format(at=at, shape=shape.format(at=at, value=value))]  # noqa: E731
    return Holder("nested", at, made, items, _total(d, items), [f"{at}.clear()"])


def _meter(d: Draft, shared: bool | None) -> Holder:
    """A class of the program that keeps what its method is given: a sum, a list, both, by itself or a base's method."""
    name, method, a, b = d.new("class"), d.pick("update", "add", "__call__", "push", d.new("helper")), d.new("total"), d.new("losses")
    v = d.new("temp")
    sums = d.chance(0.5)
    if sums:
        init = [f"self.{a} = {d.pick('0', '0.0')}", "self.n = 0"]
        body = [d.pick(f"self.{a} += {v} * n", f"self.{a} = self.{a} + {v}", f"self.{a} += {v}"), "self.n += n"]
    else:
        init = [f"self.{b} = []", "self.n = 0"]
        body = [d.pick(f"self.{b}.append({v})", f"self.{b} += [{v}]", f"self.{b}.extend([{v}] * n)"), "self.n += n"]
    methods = [*block("def __init__(self):", init), *block(f"def {method}(self, {v}, n=1):", body)]
    if d.chance(0.4):
        methods += block("def mean(self):", [f"return self.{a} / max(1, self.n)" if sums else f"return sum(self.{b}) / max(1, self.n)"])
    if d.chance(0.3):
        base = d.new("class")
        methods = ["\n".join(methods)]
        base_called = d.placed(base, "\n".join(block(f"class {base}:", methods)))
        d.define("\n".join(block(f"class {name}({base_called}):", ["pass"])))
        called = name
    else:
        called = d.placed(name, "\n".join(block(f"class {name}:", methods)))
    at = d.bind("meter", f"{called}()", shared)
    call = f"{at}({{}})" if method == "__call__" else f"{at}.{method}({{}})"
    items = f"[{at}.{a}]" if sums else f"{at}.{b}"
    total = f"{at}.{a}" if sums else f"sum({at}.{b})"
    empty = [f"{at}.__init__()"]
    return Holder("meter", at, lambda value: [call.format(value)], items, total, empty)


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
