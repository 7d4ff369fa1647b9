"""The holders: names, containers, objects, closures, generators, caches: statements over a place and a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.training.draft import Lines, block, function
from tests.truth.draft import Choices, keeping, making
from tests.truth.inner import AT, VALUE, Inner, any_inner, binds, of_lists, put, rows, running, table, tuple_

Release = Callable[[str], str]
"""What is applied to a value where it is kept: from an expression to an expression."""


@dataclass
class Holder:
    """make: the expression that makes it; keep: statements over AT and VALUE; prime: statements after it was made.

    items, empty: as in Inner; items is empty where nobody can read what is kept. released: whether the release is
    applied inside, by the holder's own code. alone: lives in the module, under the name `make`. item: as in Inner.
    """

    make: str
    keep: Lines
    items: str
    empty: Lines
    rebinds: bool = False
    adds: bool = False
    prime: Lines = field(default_factory=list)
    released: bool = False
    alone: bool = False
    item: str = ""


def _plain(inner: Inner) -> Holder:
    return Holder(inner.start, inner.keep, inner.items, inner.empty, inner.rebinds, inner.adds, item=inner.item)


def _name(d: Choices, bounded: bool, release: Release) -> Holder:
    return _plain(d.pick(running, running, running, tuple_)(d, bounded))


def _list(d: Choices, bounded: bool, release: Release) -> Holder:
    item = d.pick(VALUE, VALUE, VALUE, f"({VALUE}, 1)", f"{{'loss': {VALUE}}}", f"[{VALUE}]")
    inner = rows(d, bounded, item)
    if item != VALUE:
        read = {"(": "r[0]", "{": "r['loss']", "[": "r[0]"}[item[0]]
        inner.items = f"[{read} for r in {AT}]"
    return _plain(inner)


def _dict(d: Choices, bounded: bool, release: Release) -> Holder:
    if not bounded and d.chance(0.3):
        key = d.pick("'loss'", "'total'")
        keep = d.pick(f"{AT}[{key}] += {VALUE}", f"{AT}[{key}] = {AT}.get({key}, 0) + {VALUE}")
        return Holder(f"{{{key}: 0}}", [keep], f"[{AT}[{key}]]", [f"{AT}[{key}] = 0"], adds=True)
    return _plain(table(d, bounded))


def _dict_of_lists(d: Choices, bounded: bool, release: Release) -> Holder:
    return _plain(of_lists(d, bounded))


def _deque(d: Choices, bounded: bool, release: Release) -> Holder:
    d.need("from collections import deque")
    keep = d.pick(f"{AT}.append({VALUE})", f"{AT}.append({VALUE})", f"{AT}.appendleft({VALUE})")
    made = d.pick("deque(maxlen=3)", "deque([], 4)", "deque([], maxlen=2)") if bounded else "deque()"
    return Holder(made, [keep], AT, [f"{AT}.clear()"], item="" if bounded else VALUE)


def _named_tuple(d: Choices, bounded: bool, release: Release) -> Holder:
    name, a, b = d.new("class"), d.new("temp"), d.new("temp")
    if d.chance(0.6):
        text = "\n".join(block(f"class {name}(NamedTuple):", [f"{a}: object", f"{b}: int = 0"]))
        need = "from typing import NamedTuple"
    else:
        text, need = f"{name} = namedtuple('{name}', ['{a}', '{b}'])", "from collections import namedtuple"
    called = _placed(d, name, text, [need])
    item = d.pick(f"{called}({VALUE}, 1)", f"{called}({a}={VALUE}, {b}=2)")
    inner = rows(d, bounded, item)
    return Holder(inner.start, inner.keep, f"[r.{a} for r in {AT}]", inner.empty, item=inner.item)


def _object(d: Choices, bounded: bool, release: Release) -> Holder:
    """An attribute of a plain object, of a namespace, of a class or of a function."""
    inner = any_inner(d, bounded)
    a = d.new("losses")
    at = f"{AT}.{a}"
    way = d.pick("object", "object", "namespace", "class")
    if way == "namespace":
        d.need("import types")
        make = f"types.SimpleNamespace({a}={inner.start})"
    else:
        name = d.new("class")
        body = [making(f"{a} = {inner.start}")]
        if way == "object":
            body = block("def __init__(self):", [making(f"self.{a} = {inner.start}")])
        called = _placed(d, name, "\n".join(block(f"class {name}:", body)), ["import torch"])
        make = f"{called}()" if way == "object" else called
    return _around(inner, make, at)


def _around(inner: Inner, make: str, at: str) -> Holder:
    """A holder whose values are at `at`, a place inside of it."""
    empty = [each.replace(AT, at) for each in inner.empty]
    keep = [each.replace(AT, at) for each in inner.keep]
    return Holder(make, keep, inner.items.replace(AT, at), empty, adds=inner.adds)


def _dataclass(d: Choices, bounded: bool, release: Release) -> Holder:
    inner = d.pick(running, rows, rows, table)(d, bounded)
    name, a = d.new("class"), d.new("losses")
    kind = {"[]": "list", "{}": "dict", "dict()": "dict"}.get(inner.start)
    made = f"field(default_factory={kind})" if kind else "0" if inner.start.startswith("torch") else inner.start
    fields = [making(f"{a}: object = {made}"), "steps: int = 0"]
    text = "\n".join(["@dataclass", *block(f"class {name}:", fields)])
    called = _placed(d, name, text, ["from dataclasses import dataclass, field"])
    return _around(inner, f"{called}()", f"{AT}.{a}")


def _meter(d: Choices, bounded: bool, release: Release) -> Holder:
    """A class with a method that keeps what it is given, and perhaps one that begins anew."""
    inner = any_inner(d, bounded)
    name, a, v = d.new("class"), d.new("total"), d.new("temp")
    method = d.pick("update", "update", "add", "__call__", d.new("helper"))
    at = f"self.{a}"
    keep = put(inner.keep, at, release(v))
    if inner.adds and d.chance(0.3):
        keep = [each + " * n" if each.startswith(f"{at} +=") else each for each in keep]
    begin = [making(f"{at} = {inner.start}"), "self.count = 0"]
    if d.chance(0.5):
        lines = [*block("def __init__(self):", ["self.reset()"]), *block("def reset(self):", begin)]
        empty = [f"{AT}.reset()"]
    else:
        lines, empty = block("def __init__(self):", begin), [f"{AT}.__init__()"]
    lines += block(f"def {method}(self, {v}, n=1):", [*keeping(keep), "self.count += n"])
    if d.chance(0.4):
        lines += ["@property", *block("def avg(self):", [f"return {at}"])]
    if d.form == "base class" or d.chance(0.15):
        base = d.new("class")
        called = _placed(d, base, "\n".join(block(f"class {base}:", lines)), ["import torch"])
        text = "\n".join(block(f"class {name}({called}):", [d.pick("pass", "title = 'loss'")]))
        d.define(text)
        called = name
    else:
        called = _placed(d, name, "\n".join(block(f"class {name}:", lines)), ["import torch"])
    call = f"{AT}({VALUE})" if method == "__call__" else f"{AT}.{method}({VALUE})"
    items = inner.items.replace(AT, f"{AT}.{a}")
    return Holder(f"{called}()", [call], items, empty, adds=inner.adds, released=True)


def _closure(d: Choices, bounded: bool, release: Release) -> Holder:
    """A function that keeps what it is given in a variable of the function that made it."""
    inner = any_inner(d, bounded)
    name, push, a, v = d.new("helper"), d.new("helper"), d.new("losses"), d.new("temp")
    keep = put(inner.keep, a, release(v))
    head = [f"nonlocal {a}"] if binds(inner.keep) else []
    result = [f"return {a}"] if d.chance(0.2) else []
    body = [making(f"{a} = {inner.start}"), *function(push, v, [*head, *keeping(keep), *result]).split("\n")]
    called = _placed(d, name, function(name, "", [*body, f"return {push}"]), ["import torch"])
    return Holder(f"{called}()", [f"{AT}({VALUE})"], "", [], adds=inner.adds, released=True)


def _generator(d: Choices, bounded: bool, release: Release) -> Holder:
    """A coroutine that is sent values, and keeps them in a variable of its own."""
    inner = any_inner(d, bounded)
    name, a, v = d.new("helper"), d.new("losses"), d.new("temp")
    keep = keeping(put(inner.keep, a, release(v)))
    loop = block("while True:", [f"{v} = yield {d.pick('', f'len({a})' if not inner.rebinds else a)}".rstrip(), *keep])
    called = _placed(d, name, function(name, "", [making(f"{a} = {inner.start}"), *loop]), ["import torch"])
    return Holder(f"{called}()", [f"{AT}.send({VALUE})"], "", [], adds=inner.adds, prime=[f"next({AT})"], released=True)


def _cache(d: Choices, bounded: bool, release: Release) -> Holder:
    """A memo: a dict of a class or of the module, or functools' own."""
    name, v = d.new("helper"), d.new("temp")
    way = d.pick("lru", "memo", "memo", "default")
    hashable = not any(each in d.cell["release"] for each in ("numpy", "np.", "tolist", "slice", "row", "array"))
    if (
        way == "lru"
        and (hashable or d.cell["kind"] in ("loss", "output", "metric"))
        and d.cell["release"] not in _LISTS
    ):
        size = d.pick("maxsize=3", "2") if bounded else d.pick("None", "maxsize=None")
        result = d.pick(f"{v}", f"len(str({v}.shape))", "None") if release(v) == v else release(v)
        text = "\n".join([f"@functools.lru_cache({size})", *function(name, v, [f"return {result}"]).split("\n")])
        called = _placed(d, name, text, ["import functools", "import torch"])
        return Holder(called, [f"{AT}({VALUE})"], "", [f"{AT}.cache_clear()"], alone=True)
    key = d.pick("'last'", "0") if bounded else f"len({name}_memo)"
    memo = f"{name}_memo"
    keep = keeping([d.pick(f"{memo}[{key}] = {release(v)}", f"{memo}.update({{{key}: {release(v)}}})")])
    if way in ("default", "lru"):
        way = "default"
        keep = [each.replace(f"{name}_memo", "memo") for each in keep]
        text = mark_default(function(name, f"{v}, memo={{}}", [*keep, "return memo"]))
    else:
        lines = [*keep, f"return {memo}[{key}]" if bounded else f"return {v}"]
        text = making(f"{memo} = {{}}") + "\n\n\n" + function(name, v, lines)
    called = _placed(d, name, text, ["import torch"])
    return Holder(called, [f"{AT}({VALUE})"], "", [], alone=True, released=True)


_LISTS = (".tolist()", "numpy")


def mark_default(text: str) -> str:
    """A function's default holds: its header makes the holder."""
    first, _, rest = text.partition("\n")
    return making(first) + "\n" + rest


def _global(d: Choices, bounded: bool, release: Release) -> Holder:
    return _plain(d.pick(running, rows, rows, table, of_lists)(d, bounded))


def _placed(d: Choices, name: str, text: str, imports: list[str]) -> str:
    """A definition of a holder: in another file where that is the form."""
    if d.form == "other module":
        return d.exported(name, text, imports)
    d.need(*imports)
    d.define(text)
    return name


MAKERS: dict[str, Callable[[Choices, bool, Release], Holder]] = {
    "name": _name,
    "list": _list,
    "dict": _dict,
    "dict of lists": _dict_of_lists,
    "deque": _deque,
    "NamedTuple": _named_tuple,
    "attribute": _object,
    "dataclass": _dataclass,
    "meter": _meter,
    "closure": _closure,
    "global": _global,
    "generator": _generator,
    "cache": _cache,
}
