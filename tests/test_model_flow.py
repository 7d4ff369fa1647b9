"""Names, scopes and reaching definitions: each case is a fact about code."""

from __future__ import annotations

import ast

import pytest

from flake8_torchleak.model.values import Kind
from tests.model import module, value

REACHING = {
    "a walrus in a branch": ("x = 0\nif a:\n    f(x := 1)\nuse(x)", "1 0"),
    "the nearest of two": ("x = 1\nx = 2\nuse(x)", "2"),
    "both branches": ("if a:\n    x = 1\nelse:\n    x = 2\nuse(x)", "2 1"),
    "both branches, and nothing above them": ("x = 0\nif a:\n    x = 1\nelse:\n    x = 2\nuse(x)", "2 1"),
    "one branch, and what stands above": ("x = 0\nif a:\n    x = 1\nuse(x)", "1 0"),
    "nested branches, of which one leaves a way round": (
        "x = 0\nif a:\n    if b:\n        x = 1\n    else:\n        x = 2\nuse(x)", "2 1 0"),
    "nested branches that cover everything": (
        "x = 0\nif a:\n    if b:\n        x = 1\n    else:\n        x = 2\nelse:\n    x = 3\nuse(x)", "3 2 1"),
    "branches in a loop cover the rest of the loop alone": (
        "x = 0\nfor i in a:\n    if b:\n        x = 1\n    else:\n        x = 2\n    use(x)", "2 1"),
    "branches in a try": ("x = 0\ntry:\n    x = 1\nexcept E:\n    x = 2\nuse(x)", "2 1 0"),
    "the other branch": ("x = 0\nif a:\n    x = 1\nelse:\n    use(x)", "0"),
    "a branch that returned": ("def f():\n    x = 0\n    if a:\n        x = 1\n        return\n    use(x)", "0"),
    "a branch that returned, seen from inside": ("def f():\n    x = 0\n    if a:\n        x = 1\n        use(x)\n        return", "1"),
    "a finally": ("x = 0\ntry:\n    f()\nfinally:\n    x = 1\nuse(x)", "1"),
    "a with block": ("x = 0\nwith a:\n    x = 1\nuse(x)", "1"),
    "a with block's own name": ("x = 0\nwith 1 as x:\n    use(x)", "1"),
    "later in the loop": ("x = 0\nfor i in a:\n    use(x)\n    x = 1", "0 1"),
    "later in a loop that sets it first": ("for i in a:\n    x = 0\n    use(x)\n    x = 1", "0"),
    "the loop's own variable": ("x = 0\nfor x in 1:\n    use(x)", "1"),
    "a test in the loop's head": ("x = 0\nwhile use(x):\n    x = 1", "0 1"),
    "from outside, anything": ("x = 0\ndef f():\n    use(x)\nx = 1", "0 1"),
    "of a builtin, nothing": ("use(x)", ""),
    "an attribute of a name": ("x.a = 1\nx.a = 2\nuse(x.a)", "2"),
    "an exception's name is no value": ("x = 0\ntry:\n    f()\nexcept E as x:\n    use(x)", "?"),
    "an exception's name ends with its handler": ("x = 0\ntry:\n    f()\nexcept E as x:\n    g(x)\nuse(x)", "0"),
    "a capture of the whole": ("x = 0\nmatch a:\n    case [x]: pass\n    case x:\n        use(x)", "a"),
    "a capture of a part": ("x = 0\nmatch a:\n    case [x, *y]:\n        use(x)", "?"),
    "a capture of the rest": ("match a:\n    case {'b': 1, **x}:\n        use(x)", "?"),
    "a capture, behind the match": ("x = 0\nmatch a:\n    case [x]: pass\nuse(x)", "? 0"),
    "a parameter": ("def f(x):\n    use(x)", "?"),
    "unpacked, one by one": ("x, y = 1, 2\nuse(x)", "1"),
    "unpacked, from one value": ("x, y = 1\nuse(x)", "1"),
    "unpacked, with a star": ("x, *y = 1\nuse(y)", "1"),
    "unpacked from a display with a star": ("x, y = *a, 1\nuse(x)", "(*a, 1)"),
    "a declaration gives nothing": ("def f():\n    x: int\n    use(x)", ""),
    "a declaration in a class counts": ("class A:\n    x: int\n    use(x)", "?"),
    "a match": ("x = 0\nmatch a:\n    case 1:\n        x = 1\nuse(x)", "1 0"),
    "a lambda's parameter": ("x = 0\nf = lambda x: use(x)", "?"),
    "an assignment that a subscript makes is none": ("x = 0\nx[0] = 1\nuse(x)", "0"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), REACHING.values(), ids=REACHING)
def test_reaching(text: str, found: str) -> None:
    model = module(text)
    use = next(each for each in model.tree.all(ast.Call) if isinstance(each.func, ast.Name) and each.func.id == "use")
    key = ast.unparse(use.args[0])
    reaching = model.flow.reaching(key, use.args[0])
    assert " ".join("?" if each.value is None else ast.unparse(each.value) for each in reaching) == found


def test_the_name_that_is_asked_for_may_be_the_module_itself() -> None:
    model = module("x = 0")
    assert model.flow.reaching("x", model.root, model.root) == []


MUTATIONS = {
    "x.append(1)": ("append", 0), "x[0] = 1": ("setitem", 0), "x[0][1] = 1": ("setitem", 1), "del x[0]": ("del", 0),
    "x += [1]": ("augment", 0), "x[0] += 1": ("augitem", 0), "x.setdefault(0, []).append(1)": ("append", 1),
    "x[0].update(a=1)": ("update", 1), "y, x[0] = 1, 2": ("setitem", 0),
}  # fmt: skip


@pytest.mark.parametrize(("text", "change"), MUTATIONS.items(), ids=MUTATIONS)
def test_mutations(text: str, change: tuple[str, int]) -> None:
    model = module(text)
    first = model.flow.mutations(model.root)["x"][0]
    assert (first.method, first.depth) == change


@pytest.mark.parametrize("text", ["f().append(1)", "f()[0] = 1", "f().x += 1", "x" + "[0]" * 30 + " = 1"])
def test_changes_of_what_has_no_name_are_nobodys(text: str) -> None:
    model = module(text)
    assert not model.flow.mutations(model.root)


QUALNAMES = {
    "import a.b.c\na.b.c.d": "a.b.c.d", "import a.b as x\nx.c": "a.b.c", "from a import b as x\nx.c": "a.b.c",
    "from . import a\na.b": ".a.b", "from .a import b\nb": ".a.b", "from a import *\nb": "b", "len": "len", "f()": "",
    "a = 1\na.b": "", "def f():\n    import a\na": "a", "import a.b\nimport a.c\na.c": "a.c",
    "try:\n    import a\nexcept ImportError as a:\n    pass\na.b": "a.b",
    "try:\n    f()\nexcept ValueError:\n    pass\na": "a", "try:\n    f()\nexcept ValueError as a:\n    pass\na": "",
    "class A:\n    a = 1\n    def f(self):\n        pass\na": "a",
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), QUALNAMES.items(), ids=QUALNAMES)
def test_qualname(text: str, name: str) -> None:
    model = module(text)
    last = model.root.body[-1]
    assert isinstance(last, ast.Expr)
    assert model.names.qualname(last.value) == name


def test_imports_are_of_this_module_and_not_of_the_project() -> None:
    assert module("from . import one\nfrom .two import a\nimport three.b\nfrom four import c").names.imports >= {
        "three",
        "four",
    }
    assert not module("from . import one\nfrom .two import a").names.imports & {"one", "two", "a"}


def test_global_and_nonlocal_names_belong_to_the_scope_they_name() -> None:
    model = module("def f():\n    global x\n    x = 1\n    y = 2\n    def g():\n        nonlocal y\n        y = 3\n")
    names = {each.id: each for each in model.tree.all(ast.Name)}
    outer = next(each for each in model.tree.all(ast.FunctionDef) if each.name == "f")
    assert model.names.scope_of("x", names["x"]) is model.root
    assert model.names.scope_of("y", names["y"]) is outer


def test_a_class_body_is_not_seen_from_its_methods() -> None:
    assert value("x = 'a'\nclass A:\n    x = 1\n    def f(self):\n        y = x").kind is Kind.STRING


def test_functions_and_classes_around_a_node() -> None:
    model = module(
        "class A:\n    if x:\n        def f(self):\n            g = lambda: one\n            def h():\n                two\n"
    )
    names = {each.id: each for each in model.tree.all(ast.Name)}
    function = model.tree.function(names["one"])
    assert function is not None
    assert function.name == "f"
    assert model.tree.class_of(function) is not None
    for each in (names["one"], names["two"], function):
        facts = model.classes.around(each)
        assert facts is not None
        assert facts.node.name == "A"
    assert model.classes.around(model.root.body[0]) is None


def test_the_first_classes_below_one_without_a_constructor_say_what_it_has() -> None:
    below = "".join(f"class C{n}(Base):\n    def __init__(self):\n        self.x = {n}\n" for n in range(6))
    for own, found in (("", [0, 1, 2, 3]), ("    def set(self):\n        self.x = 9\n", [9])):
        model = module(f"class Base:\n    def first(self):\n        return self.x\n{own}{below}")
        values = [each.value for each in model.classes.own[0].attributes["self.x"]]
        assert [ast.literal_eval(each) for each in values if each is not None] == found


def test_loops_around_a_node() -> None:
    text = "while one:\n    for x in two:\n        three\n        def f(a=four):\n            five\n        class A:\n            six\n    else:\n        seven\n"
    model = module(text)
    names = {each.id: each for each in model.tree.all(ast.Name)}
    count = {
        name: len(model.tree.loops(names[name])) for name in ("one", "two", "three", "four", "five", "six", "seven")
    }
    assert count == {"one": 1, "two": 1, "three": 2, "four": 2, "five": 0, "six": 0, "seven": 1}


ARGUMENTS = {"f(1)": "1", "f(b=2, a=1)": "1", "f(b=2)": None, "f(*x)": None, "A().m(1)": "1", "f(**x)": None}


@pytest.mark.parametrize(("call", "found"), ARGUMENTS.items(), ids=ARGUMENTS)
def test_the_argument_that_a_call_hands_over(call: str, found: str | None) -> None:
    model = module(f"def f(a=0, b=0): pass\nclass A:\n    def m(self, a=0): pass\n{call}")
    last = model.root.body[-1]
    assert isinstance(last, ast.Expr)
    assert isinstance(last.value, ast.Call)
    function = next(each for each in model.tree.all(ast.FunctionDef) if each.name == ("m" if "m(" in call else "f"))
    argument = model.classes.argument(last.value, next(p for p in function.args.args if p.arg == "a"), function)
    assert (argument and ast.unparse(argument)) == found
