"""Calls that raise for what they are given, as following the program shows: what is behind them never runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_failing import program, severity

HELPERS = """
    import contextlib
    from elsewhere import Other, load, mark

    def shown(x, size): print(x, size)

    class Row:
        def __init__(self, x, size): self.x = x
        def show(self, name): print(name)
        @mark
        def wrapped(self, name): print(name)
        @staticmethod
        def of(x): return x
        @classmethod
        def any(cls, x): return cls(x)

    class Child(Row): pass
    class Plain: pass
    class Mixed(Row, Other): pass
    class Below(Mixed): pass
    class New(Row):
        def __new__(cls, *given): return None
    @mark
    class Marked(Row): pass
    class Made(Row, metaclass=Other): pass
    class Calls(Row):
        def __init__(self): super().__init__(1)
    class Fits(Row):
        def __init__(self): super().__init__(1, 2)
    class MixedCalls(Row, Other):
        def __init__(self): super().__init__(1)
    class Holder:
        def __init__(self): self.row = Row(1)
    class Shows:
        def show(self, name): print(name)
    class Free:
        def show(self): print(self)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)
        def forward(self, x, y): return self.layer(x)

    def outer(): shown(1)
    def deep(): outer()
    def assigns(): found = shown(1)
    def returns(): return shown(1)
    def tests():
        if shown(1): print(1)
    def loops():
        while shown(1): print(1)
    def goes_over():
        for each in shown(1): print(each)
    def adds():
        total = 0
        total += shown(1)
    def perhaps(flag=1):
        if flag: shown(1)
    def tries():
        try: shown(1)
        except TypeError: pass
    def chooses(flag=1): return flag and shown(1)
    def gathers(rows=()): return [shown(1) for each in rows]
    def early(flag=1):
        if flag: return
        shown(1)
    def late(flag=1):
        def inner(): return 1
        class Kept: pass
        shown(1)
    def behind():
        return 1
        shown(1)
    def makes():
        def inner(a, b): return a + b
        return inner
    lazy = lambda: shown(1)
    short = lambda a, b: a
    @mark
    def hidden(): shown(1)
    def yields():
        shown(1)
        yield 1
    async def waits(): shown(1)
    class Kind(type):
        def __call__(cls, *given): return 1
    class Single(metaclass=Kind):
        def __init__(self, x, size): self.x = x
    class OfKind(Single):
        def __init__(self, x, size): self.x = x
    class OfOther(Other):
        def __init__(self, x, size): self.x = x
    class Twice:
        if load:
            def show(self): print(1)
        def show(self, name): print(name)
    class Bound:
        def __init__(self): self.x = 1
        def run(self, name): print(name)
        __call__ = run
        show = Row.show
        call = shown
        def of(x): return x
        of = staticmethod(of)
    class Renamed(Row):
        def make(self, *given): print(given)
        __init__ = make
    class Set(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)
            self.forward = self.layer
        def forward(self, x, y): return self.layer(x)
    def taken(call): return load(call)
"""

CALLS = {
    "a class": ("Row(1)", "note"),
    "a class that gets what it takes": ("Row(1, 2)", "warning"),
    "by name": ("Row(1, size=2)", "warning"),
    "by a wrong name": ("Row(1, colour=2)", "note"),
    "what is spread": ("Row(*rows)", "warning"),
    "a class without a constructor": ("Plain(1)", "warning"),
    "an inherited constructor": ("Child(1)", "note"),
    "beside a class that nobody sees": ("Mixed(1)", "warning"),
    "below such a one": ("Below(1)", "warning"),
    "a constructor before it": ("New(1)", "warning"),
    "a decorated class": ("Marked(1)", "warning"),
    "a class of another kind": ("Made(1)", "warning"),
    "another name": ("kind = Row\n        kind(1)", "warning"),
    "a method": ("Row(1, 2).show()", "note"),
    "a method that gets what it takes": ("Row(1, 2).show(1)", "warning"),
    "a decorated method": ("Row(1, 2).wrapped()", "warning"),
    "a static method": ("Row(1, 2).of()", "warning"),
    "the class that is told": ("Row.any(1)", "warning"),
    "an object that somebody else made": ("flag.show()", "warning"),
    "one of two objects": ("(Row(1, 2) if flag else Shows()).show()", "note"),
    "one that takes nothing": ("(Row(1, 2) if flag else Free()).show()", "warning"),
    "one that nobody sees": ("(Row(1, 2) if flag else load()).show()", "warning"),
    "one of two functions": ("(shown if flag else load)(1)", "warning"),
    "the constructor above": ("Calls()", "note"),
    "the constructor above, as it should be": ("Fits()", "warning"),
    "above one that nobody sees": ("MixedCalls()", "warning"),
    "what a constructor makes": ("Holder()", "note"),
    "a network": ("Net()(1)", "note"),
    "a network that gets what it takes": ("Net()(1, 2)", "warning"),
    "in a function": ("outer()", "note"),
    "in a function's function": ("deep()", "note"),
    "assigned": ("assigns()", "note"),
    "returned": ("returns()", "note"),
    "tested": ("tests()", "note"),
    "tested by a loop": ("loops()", "note"),
    "gone over": ("goes_over()", "note"),
    "added": ("adds()", "note"),
    "behind definitions": ("late()", "note"),
    "under a condition": ("perhaps()", "warning"),
    "caught": ("tries()", "warning"),
    "half of a condition": ("chooses()", "warning"),
    "for each of none": ("gathers()", "warning"),
    "behind a way out": ("early()", "warning"),
    "behind the end": ("behind()", "warning"),
    "of a closure": ("makes()(1)", "warning"),
    "in a lambda": ("lazy()", "warning"),
    "a lambda": ("short(1)", "warning"),
    "in a decorated function": ("hidden()", "warning"),
    "in a generator": ("yields()", "warning"),
    "in a coroutine": ("load(waits())", "warning"),
    "below a class of another kind": ("OfKind(1)", "warning"),
    "below a class that nobody sees": ("OfOther(1)", "warning"),
    "one of two methods": ("Twice().show()", "warning"),
    "a method under another name": ("Bound()(1)", "warning"),
    "another class's method": ("Bound().show(1)", "warning"),
    "a function of the class": ("Bound().call(1)", "warning"),
    "a function that is made static": ("Bound().of(1)", "warning"),
    "a constructor under another name": ("Renamed(1)", "warning"),
    "a pass that is set": ("Set()(1)", "warning"),
    "in a context that swallows it": ("with contextlib.suppress(TypeError): shown(1)", "warning"),
    "in a context that is not told": ("with flag: shown(1)", "warning"),
    "in a context": ("with torch.no_grad(): shown(1)", "note"),
    "in a comprehension": ("print([shown(1) for each in rows])", "warning"),
    "when a loop is over": ("for each in rows: pass\n        else: shown(1)", "warning"),
    "a function that is handed on": ("taken(shown)", "warning"),
    "twice, and once it fits": ("for each in (Row(1, 2), Free()): each.show()", "warning"),
}


@pytest.mark.parametrize(("call", "expected"), CALLS.values(), ids=CALLS)
def test_calls_that_raise_for_what_they_are_given(tmp_path: Path, call: str, expected: str) -> None:
    assert severity(tmp_path, program(above=HELPERS, before=call)) == expected


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ("print(Row)", "note"),
        ("Row.show = print", "warning"),
        ("setattr(Row, 'show', print)", "warning"),
        ("setattr(load(), 'show', print); load().x = 1", "note"),
        ("import tools as t\n    t.shown = print", "warning"),
        ("rows = load()\n    rows.show = print", "note"),
        ("from tools import *", "warning"),
        ("globals().update(load())", "warning"),
        ("nn.Linear(1, 1).register_forward_pre_hook(print)", "warning"),
    ],
)
def test_what_may_be_called_instead(tmp_path: Path, above: str, expected: str) -> None:
    text = program(above=f"{HELPERS}\n    {above}", before="Row(1, 2).show()")
    assert severity(tmp_path, text, tools="other = 1") == expected


def test_beside_a_star_import(tmp_path: Path) -> None:
    stars = "from tools import *\n"
    assert severity(tmp_path, program(above=stars + HELPERS, before="outer()"), tools="other = 1") == "note"


@pytest.mark.parametrize(
    ("end", "files", "expected"),
    [
        ('    if __name__ == "__main__": evaluate(nn.Linear(1, 1), [], 1)', {}, "note"),
        ("    evaluate(nn.Linear(1, 1), [], 1)", {}, "warning"),
        (
            '    if __name__ == "__main__": evaluate(nn.Linear(1, 1), [], 1)',
            {"rows": "def Row(x, y): print(x)"},
            "warning",
        ),
    ],
)
def test_a_program_imports_what_lies_beside_it(tmp_path: Path, end: str, files: dict[str, str], expected: str) -> None:
    """Also in a package's folder, where Python looks first, if it is run as a program; other modules it finds above."""
    text = program(above="from rows import Row", before="Row(1, 2)") + f"{end}\n"
    beside = {"jobs____init__": "", "jobs__rows": "def Row(x): print(x)"}
    assert severity(tmp_path, text, name="jobs__run", **beside, **files) == expected


@pytest.mark.parametrize(("patch", "expected"), [("Row.show = print", "warning"), ("print(Row)", "note")])
def test_a_method_that_another_module_puts_in_its_place(tmp_path: Path, patch: str, expected: str) -> None:
    tools = f"class Row:\n    def show(self, name): print(name)\n\ndef change():\n    {patch}\n"
    text = program(above="from tools import Row, change", before="change(); Row().show()")
    assert severity(tmp_path, text, tools=tools) == expected
