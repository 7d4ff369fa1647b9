"""Laws about what holds a value, and the class that the holder lives in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeGuard

from tests.laws.program import (
    FUNCTIONS,
    LOOPS,
    Function,
    Program,
    expression,
    instead,
    is_docstring,
    lines,
    named,
    of_self,
    places,
    replaced,
    stored_names,
)
from tests.laws.stores import Store, is_append, is_number, stores


def in_record(program: Program) -> int:
    """What is appended is wrapped in a NamedTuple, and unwrapped where the list is read."""
    return _wrapped(program, "from typing import NamedTuple\n\n\nclass {name}(NamedTuple):\n    value: object")


def dataclass(program: Program) -> int:
    """What is appended is wrapped in a dataclass, and unwrapped where the list is read."""
    return _wrapped(program, "import dataclasses\n\n\n@dataclasses.dataclass\nclass {name}:\n    value: object")


def _wrapped(program: Program, definition: str) -> int:
    name = program.fresh("Row")
    found = [each for each in stores(program) if not each.summed and not _constructs(each)]
    found = [each for each in found if not _known_else(program, each)]
    for each in found:
        call = each.at.statement
        assert isinstance(call, ast.Expr)
        assert isinstance(call.value, ast.Call)
        call.value.args = [ast.Call(ast.Name(name, ast.Load()), [each.value], [])]
        instead(call, call)
    for root, holder in {(_around(program, each), ast.unparse(each.holder)) for each in found}:
        _Unwrapped(holder).generic_visit(root)
    if found:
        program.after_imports(lines(definition.format(name=name)))
    return len(found)


def _around(program: Program, store: Store) -> ast.AST:
    """Where the holder is read: its class, if it is of self, or the function whose name it is."""
    if of_self(store.holder):
        return store.at.owner or program.tree
    scope = store.at.scope
    names = {each.id for each in ast.walk(store.holder) if isinstance(each, ast.Name)}
    return scope if scope is not None and names <= stored_names(scope.body) else program.tree


def _constructs(store: Store) -> bool:
    """In a constructor every record would be one more object that workers share: more is retained, not the same."""
    return store.at.scope is not None and store.at.scope.name == "__init__"


def _known_else(program: Program, store: Store) -> bool:
    """Whether the holder gets elements in another way, has another name, or is read by who cannot be told to unwrap."""
    holder, root = ast.unparse(store.holder), _around(program, store)
    if of_self(store.holder):
        assert isinstance(store.holder, ast.Attribute)
        reads = [each for each in ast.walk(program.tree) if isinstance(each, ast.Attribute)]
        inside = {*ast.walk(root)}
        if any(each.attr == store.holder.attr and not (of_self(each) and each in inside) for each in reads):
            return True
    elif root is program.tree and store.at.scope is not None:
        names = {each.arg for each in ast.walk(store.at.scope.args) if isinstance(each, ast.arg)}
        if names & {each.id for each in ast.walk(store.holder) if isinstance(each, ast.Name)}:
            return True
    for node in ast.walk(root):
        if isinstance(node, ast.Attribute) and node.attr in ("extend", "insert", "appendleft"):
            if ast.unparse(node.value) == holder:
                return True
        elif isinstance(node, ast.AugAssign) and ast.unparse(node.target) == holder:
            return True
        elif isinstance(node, ast.Assign) and ast.unparse(node.value) == holder:
            return True
        elif isinstance(node, ast.Assign) and holder in map(ast.unparse, node.targets) and not _empty(node.value):
            return True
    return False


def _empty(node: ast.expr) -> bool:
    """A list or another container with nothing in it."""
    return (isinstance(node, ast.List) and not node.elts) or (isinstance(node, ast.Call) and not node.args)


class _Unwrapped(ast.NodeTransformer):
    """Where the elements of a holder are read, reads their `value`."""

    def __init__(self, holder: str) -> None:
        self.holder = holder

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == self.holder:
            return node  # its methods
        if isinstance(node, ast.Call) and ast.unparse(node) == f"len({self.holder})":
            return node
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == self.holder:
            if not isinstance(node.ctx, ast.Load):
                return node
            if not isinstance(node.slice, ast.Slice):
                return instead(expression(f"{ast.unparse(node)}.value"), node)
            return instead(expression(f"[row.value for row in {ast.unparse(node)}]"), node)
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", None), ast.Load):
            if ast.unparse(node) == self.holder:
                return instead(expression(f"[row.value for row in {self.holder}]"), node)
        return self.generic_visit(node)


def in_dict(program: Program) -> int:
    """A local name that grows becomes an entry of a dict."""
    return _boxed(program, "{}", lambda box, name, ctx: ast.Subscript(box, ast.Constant(name), ctx))


def in_attribute(program: Program) -> int:
    """A local name that grows becomes an attribute of an object."""
    name = program.fresh("SimpleNamespace")
    count = _boxed(program, f"{name}()", lambda box, name, ctx: ast.Attribute(box, name, ctx))
    if count:
        program.after_imports(
            lines("from types import SimpleNamespace" + (f" as {name}" if name[-1:].isdigit() else ""))
        )
    return count


def _boxed(program: Program, empty: str, entry: Callable[[ast.expr, str, ast.expr_context], ast.expr]) -> int:
    count = 0
    for function in [each for each in ast.walk(program.tree) if isinstance(each, FUNCTIONS)]:
        chosen = _growing(function)
        if not chosen:
            continue
        box = program.fresh("box")

        def swap(node: ast.expr, chosen: set[str] = chosen, box: str = box) -> ast.expr | None:
            if isinstance(node, ast.Name) and node.id in chosen:
                return entry(ast.Name(box, ast.Load()), node.id, node.ctx)
            return None

        function.body = [replaced(each, swap) for each in function.body]
        function.body.insert(int(is_docstring(function.body[0])), lines(f"{box} = {empty}")[0])
        count += len(chosen)
    return count


def _growing(function: Function) -> set[str]:
    """Locals that begin empty or as a number, and grow; none where another scope might see them."""
    inner = [each for each in ast.walk(function) if each is not function]
    if any(isinstance(each, (ast.Lambda, *FUNCTIONS, ast.Global, ast.Nonlocal, ast.Delete)) for each in inner):
        return set()
    grown = {each.target.id for each in inner if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)}
    for each in inner:
        if is_append(each):
            assert isinstance(each, ast.Expr)
            assert isinstance(each.value, ast.Call)
            assert isinstance(each.value.func, ast.Attribute)
            if isinstance(each.value.func.value, ast.Name):
                grown.add(each.value.func.value.id)
    begun = {
        each.targets[0].id
        for each in function.body
        if isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and (is_number(each.value) or isinstance(each.value, ast.List))
    }
    loops = [each.target for each in inner if isinstance(each, (ast.For, ast.comprehension))]
    named = [each.target for each in inner if isinstance(each, ast.NamedExpr)]
    parameters = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    return (grown & begun) - stored_names([*loops, *named]) - parameters


def in_method(program: Program) -> int:
    """A module's functions become methods of a class: those with a loop, that nothing in the file names."""
    tree = program.tree
    read = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    chosen: list[ast.stmt] = [
        each
        for each in tree.body
        if isinstance(each, FUNCTIONS)
        and each.name not in read
        and not each.decorator_list
        and any(isinstance(inner, LOOPS) for inner in ast.walk(each))
    ]
    for each in chosen:
        assert isinstance(each, FUNCTIONS)
        tree.body.remove(each)
        (each.args.posonlyargs or each.args.args).insert(0, ast.arg("self"))
    if chosen:
        new = lines(f"class {program.fresh('Runner')}:\n    pass")[0]
        assert isinstance(new, ast.ClassDef)
        new.body = chosen
        tree.body.append(new)
    return len(chosen)


def read_method(program: Program) -> int:
    """What a sample reads from self by its index goes through a method."""
    count = 0
    for owner, method, index in _samples(program):
        for node in ast.walk(method):
            for name, value in ast.iter_fields(node):
                if _read(value, index):
                    assert isinstance(value.value, ast.Attribute)
                    fetch = f"fetch_{value.value.attr.strip('_')}"
                    setattr(node, name, instead(expression(f"self.{fetch}({index})"), value))
                    if not any(isinstance(each, FUNCTIONS) and each.name == fetch for each in owner.body):
                        owner.body += lines(
                            f"def {fetch}(self, position):\n    return self.{value.value.attr}[position]"
                        )
                    count += 1
    return count


def _samples(program: Program) -> Iterator[tuple[ast.ClassDef, Function, str]]:
    for owner in [each for each in ast.walk(program.tree) if isinstance(each, ast.ClassDef)]:
        for method in list(owner.body):
            if isinstance(method, FUNCTIONS) and method.name == "__getitem__" and len(method.args.args) == 2:
                yield owner, method, method.args.args[1].arg


def _read(node: object, index: str) -> TypeGuard[ast.Subscript]:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and of_self(node.value)
        and isinstance(node.slice, ast.Name)
        and node.slice.id == index
    )


def as_property(program: Program) -> int:
    """What a class grows or indexes in its own attribute is reached through a property of it."""
    count = 0
    for owner in [each for each in ast.walk(program.tree) if isinstance(each, ast.ClassDef)]:
        if any(isinstance(each, FUNCTIONS) and each.name == "__getattr__" for each in owner.body):
            continue
        grown = [each for each in stores(program) if each.at.owner is owner and not each.summed]
        read = [each.holder for each in grown]
        for _, method, index in _samples(program):
            read += [each.value for each in ast.walk(method) if isinstance(each, ast.Subscript) and _read(each, index)]
        inside = {*ast.walk(owner)}
        for node in read:
            if of_self(node) and node in inside:
                assert isinstance(node, ast.Attribute)
                name = f"{node.attr.strip('_')}_view"
                if not any(isinstance(each, FUNCTIONS) and each.name == name for each in owner.body):
                    owner.body += lines(f"@property\ndef {name}(self):\n    return self.{node.attr}")
                node.attr = name
                count += 1
    return count


def base_class(program: Program) -> int:
    """A class's constructor moves into a base class of its own; the methods stay."""
    count = 0
    for at in places(program.tree):
        owner = at.statement
        if not isinstance(owner, ast.ClassDef) or owner.decorator_list or _mangles(owner):
            continue
        made = [each for each in owner.body if isinstance(each, FUNCTIONS) and each.name == "__init__"]
        others = [each for each in owner.body if isinstance(each, FUNCTIONS) and each.name != "__init__"]
        if len(made) != 1 or not others:
            continue
        name = program.fresh(f"{owner.name}Base")
        base = lines(f"class {name}:\n    pass")[0]
        assert isinstance(base, ast.ClassDef)
        base.bases, base.keywords, base.body = owner.bases, owner.keywords, [made[0]]
        for each in ast.walk(made[0]):
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "super" and each.args:
                each.args[0] = instead(ast.Name(name, ast.Load()), each)
        owner.bases, owner.keywords = [ast.Name(name, ast.Load())], []
        owner.body.remove(made[0])
        at.block.insert(at.block.index(owner), base)
        count += 1
    return count


def methods_in_base(program: Program) -> int:
    """A class's other methods move into a base class of its own; the constructor stays."""
    count = 0
    for at in places(program.tree):
        owner = at.statement
        if not isinstance(owner, ast.ClassDef) or owner.decorator_list or _mangles(owner):
            continue
        made = [each for each in owner.body if isinstance(each, FUNCTIONS) and each.name == "__init__"]
        moved: list[ast.stmt] = [
            each
            for each in owner.body
            if isinstance(each, FUNCTIONS) and each not in made and not each.decorator_list and not _super(each)
        ]
        left = named(each for each in owner.body if not isinstance(each, FUNCTIONS))
        if len(made) != 1 or not moved or any(isinstance(each, FUNCTIONS) and each.name in left for each in moved):
            continue
        name = program.fresh(f"{owner.name}Base")
        base = lines(f"class {name}:\n    pass")[0]
        assert isinstance(base, ast.ClassDef)
        base.bases, base.keywords, base.body = owner.bases, owner.keywords, moved
        owner.bases, owner.keywords = [ast.Name(name, ast.Load())], []
        owner.body = [each for each in owner.body if each not in moved]
        at.block.insert(at.block.index(owner), base)
        count += 1
    return count


def _super(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Name) and each.id in ("super", "__class__") for each in ast.walk(node))


def _mangles(owner: ast.ClassDef) -> bool:
    """Whether its names depend on its own name."""
    attributes = [each.attr for each in ast.walk(owner) if isinstance(each, ast.Attribute)]
    return any(each.startswith("__") and not each.endswith("__") for each in attributes)
