"""Networks that may be frozen: some parameters are, in the file that runs them, or in one that uses it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_torchleak.model import hints
from flake8_torchleak.model.bindings import How, key_of
from flake8_torchleak.model.firstparty import Finder, text_of
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, FunctionNode

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_WORD = "requires_grad"
_FREEZES = re.compile(rf"\.{_WORD}\s*=(?!=|\s*True\b)|\b{_WORD}_\((?!\s*(?:{_WORD}\s*=\s*)?True\b|\s*\))|\.freeze\(\)")
"""What turns gradients of parameters off, or may: `each.requires_grad = False`, `net.requires_grad_(flag)`, Lightning's
`net.freeze()`. A keyword of a function that makes tensors does not."""


_PARTS = ("parameters", "named_parameters", "children", "named_children", "modules", "named_modules")
"""Methods of a network that give all that it consists of."""

_LOSES = re.compile(r"(?<!\bself)\._parameters\.(?:pop|clear)\(")
"""What takes the parameters out of a network, which has plain tensors in their place: stochastic weight averaging.

`del net._parameters[name]` makes room for what is computed of another one, with a graph: spectral norm.
"""


class _Freeze(NamedTuple):
    """Where gradients of parameters are turned off, or may be.

    network: the variable of the network whose they are, "" if that is not seen; is_whole: whether they are all of them.
    """

    network: str
    node: ast.AST
    is_whole: bool


def may_be_frozen(module: Module, call: ast.Call | None) -> bool:
    """Whether a file, or one that imports it, freezes all of what may be the network of a call, by what it is called.

    Without gradients in its parameters a network builds no graph; where a part of them is frozen, it builds one. For
    no call, or one of a function of the project, it may be any network.
    """
    called = "" if call is None or module.classes.callee(call) is not None else key_of(call.func)
    if _FREEZES.search(module.source.text):
        whole = [each for each in _freezing(module) if each.is_whole]
        names = {name for each in whole for name in _names(module, each.network, each.node)}
        mine = _names(module, called, call) if call is not None and called else [called]
        if any(not one or _is_part(one, each) for each in names for one in mine):
            return True
    made = {each.name for each in module.tree.all(*FUNCTIONS, ast.ClassDef)}
    return any(
        found
        for word in (_WORD, ".freeze()")
        for _, found in module.users.answers(lambda user: _hands_over(user, called, made), word)
    )


def frozen_in(module: Module, function: FunctionNode) -> dict[str, int]:
    """The networks of which a function freezes all, by its own variables for them, each with the line of the last."""
    nodes = (each for each in ast.walk(function) if isinstance(each, ast.Attribute))
    return {each.network: getattr(each.node, "lineno", 0) for each in _freezes(module, nodes) if each.is_whole}


def _hands_over(user: Module, called: str, made: set[str]) -> bool:
    """Whether a file freezes all of a network that it calls as another file does, or that it hands over to that.

    made: the functions and classes of the other file.
    """
    whole = {each.network for each in _freezing(user) if each.is_whole}
    if not called or any(each.rpartition(".")[2] in called.split(".") for each in whole):
        return bool(whole)
    calls = (each for each in user.tree.all(ast.Call) if last_name(each.func) in made)
    return any(key_of(each) in whole for call in calls for each in (*call.args, *(k.value for k in call.keywords)))


def may_freeze(module: Module, call: ast.Call) -> bool:
    """Whether a file, or one that imports it, freezes parameters: of how large a part of a network nobody sees.

    Not where the file freezes other networks alone.
    """
    return may_freeze_here(module, call) or _may_be_frozen_elsewhere(module)


def seems_frozen(module: Module, call: ast.Call) -> bool:
    """Whether names say that the network of a call is frozen, or a file freezes parameters that this one imports.

    `self.teacher = self.net.frozen_copy()`, `freeze(teacher)`.
    """
    called = key_of(call.func)
    if hints.is_frozen(called) or _may_be_made_frozen(module):
        return True
    return any(
        not each or _is_part(each, called) or _is_part(called, each)
        for said in module.tree.all(ast.Call)
        if hints.is_frozen(last_name(said.func))
        for each in _concerned(module, said)
    )


def seems_taught(module: Module, call: ast.Call) -> bool:
    """Whether a teacher is run, by its name, and a file freezes parameters that this one imports: its, as a rule."""
    return "teacher" in key_of(call.func).lower() and _may_be_made_frozen(module)


def _concerned(module: Module, call: ast.Call) -> list[str]:
    """The names of what a call is given, is a method of, and is bound to; "" for what has none."""
    statement = module.tree.statement(call)
    bound = statement.targets if isinstance(statement, ast.Assign) and statement.value is call else []
    owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return [key_of(each) for each in (*call.args, *owner, *bound)]


def may_lose_parameters(module: Module) -> bool:
    """Whether a file, or one of the project that it imports, takes parameters out of networks."""
    return bool(_LOSES.search(module.source.text)) or _is_imported(module, _LOSES)


def _may_be_made_frozen(module: Module) -> bool:
    """Whether a file of the project that this one imports freezes parameters: there, networks may be made."""
    return _is_imported(module, _FREEZES)


def _is_imported(module: Module, sought: re.Pattern[str]) -> bool:
    """Whether something stands in a file of the project that this one imports."""
    project = module.project
    if project is None or module.path is None:
        return False
    statements = [each for each in module.tree.all(ast.Import, ast.ImportFrom) if module.tree.is_own(each)]
    texts = (text_of(each, project.top) for each in Finder(module.path).imports(statements))
    return any(text is not None and sought.search(text) for text in texts)


def may_freeze_here(module: Module, call: ast.Call) -> bool:
    """Whether a file freezes the network of a call, by its name, or by what it is called where that is done."""
    called = key_of(call.func)
    frozen = (name for each in _freezing(module) for name in _names(module, each.network, each.node))
    return any(not each or _is_part(each, called) or _is_part(called, each) for each in frozen)


def _names(module: Module, network: str, node: ast.AST) -> list[str]:
    """What a network is called where it is frozen, and by those who hand it over to be; "" where that is not seen."""
    function = module.tree.function(node)
    parameter = next((each for each in parameters(function) if each.arg == network), None) if function else None
    if function is None or parameter is None:
        return [network]
    given = (module.classes.argument(each, parameter, function) for each in module.classes.calls_of(function))
    return [network, *(key_of(each) if each is not None else "" for each in given)]


def _is_part(name: str, whole: str) -> bool:
    return name == whole or name.startswith(f"{whole}.")


def _freezing(module: Module) -> Iterator[_Freeze]:
    """Where the file turns gradients of parameters off, or may."""
    return _freezes(module, module.tree.all(ast.Attribute))


def _freezes(module: Module, nodes: Iterable[ast.Attribute]) -> Iterator[_Freeze]:
    for node in nodes:
        up = module.tree.parents[node]
        if node.attr == _WORD and isinstance(node.ctx, ast.Store):
            told = getattr(up, "value", None)
        elif node.attr in (f"{_WORD}_", "freeze") and isinstance(up, ast.Call) and up.func is node:
            told = up.args[0] if up.args else None
            if told is None and node.attr == f"{_WORD}_" and not up.keywords:
                continue
        else:
            continue
        if getattr(told, "value", None) is not True:
            network, is_whole = _owner(module, node.value, module.tree.statement(node))
            yield _Freeze(network, node.value, is_whole)


def _owner(module: Module, frozen: ast.expr, statement: ast.AST) -> tuple[str, bool]:
    """The network that something is, or one of whose parameters, a loop's; and whether the loop does it to all of them.

    statement: what is done to it.
    """
    ways = module.flow.reaching(frozen.id, frozen) if isinstance(frozen, ast.Name) else []
    loop = next((each for each in ways if each.how is How.ITERATE), None)
    if loop is None:
        return key_of(frozen), bool(key_of(frozen))
    asked = loop.value.func if isinstance(loop.value, ast.Call) else None
    if not isinstance(asked, ast.Attribute) or asked.attr not in _PARTS:
        return "", False
    around = module.tree.parents[statement]
    while isinstance(around, ast.If) and _asks_whether_learning(around.test, frozen) and statement in around.body:
        statement, around = around, module.tree.parents[around]
    network, is_whole = _owner(module, asked.value, around) if isinstance(around, LOOPS) else ("", False)
    return network or key_of(asked.value), is_whole


def _asks_whether_learning(test: ast.expr, frozen: ast.expr) -> bool:
    """Whether a condition is that a parameter has gradients: the others need not be told."""
    return isinstance(test, ast.Attribute) and test.attr == _WORD and key_of(test.value) == key_of(frozen)


def _may_be_frozen_elsewhere(module: Module) -> bool:
    project = module.project
    if project is None:
        return False
    texts = (text_of(each, project.top) for words in ((_WORD,), (".freeze()",)) for each in module.users.paths(*words))
    return any(text is not None and _FREEZES.search(text) for text in texts)
