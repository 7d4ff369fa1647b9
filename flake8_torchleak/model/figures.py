"""What becomes of a pyplot figure in the round of the loop that makes it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flake8_torchleak.model.names import last_name, parameters

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

MAKES = ("figure", "subplots", "subplot_mosaic")
"""What makes a new figure each time it is called."""
_CLEARS = frozenset({"clf", "cla", "clear", "show"})
"""What drops what was drawn, or shows it to somebody who closes it: little is left of the figure, if anything."""

_LIBRARIES = ("matplotlib", "mpl_toolkits")
"""What puts axes on a figure (`plt.Axes(fig, ...)`, `Axes3D(fig)`), and closes none."""


def makes(module: Module, call: ast.Call) -> bool:
    """Whether a call makes a new figure: one with a number, or a name, is found again."""
    name = last_name(call.func)
    if name not in MAKES or not _is_of_pyplot(module, call):
        return False
    return not ((name == "figure" and call.args) or any(each.arg == "num" for each in call.keywords))


def saves(module: Module, call: ast.Call) -> bool:
    """Whether a call draws a figure into a file or an image, and leaves it open.

    Measured with wandb 0.31: `wandb.Image(fig)` and `wandb.Image(plt)` do.
    """
    return last_name(call.func) == "savefig" or module.names.qualname(call.func) == "wandb.Image"


def is_returned(module: Module, call: ast.Call) -> bool:
    """Whether a function returns the figure that a call in it makes, by its name."""
    scope, statement = module.tree.function(call), module.tree.statement(call)
    if isinstance(statement, ast.Return):
        return statement.value is call
    names = _bound(call, statement)
    if scope is None or not names:
        return False
    returns = [each.value for each in module.tree.within(scope) if isinstance(each, ast.Return)]
    return any(each is not None and _hands(module, each, names) for each in returns)


def settles(module: Module, call: ast.Call) -> bool:
    """Whether the function around a call closes, clears or shows the figures of pyplot that it has no name for."""
    scope = module.tree.function(call) or module.root
    return any(
        (_closes(module, each) and not any(isinstance(name, ast.Name) for name in _arguments(each)))
        or _clears(module, each, [])
        for each in module.tree.calls(scope)
    )


def is_let_go(module: Module, call: ast.Call, around: ast.AST, returned: bool = False) -> bool:
    """Whether the figure that a call makes, or gives, may be closed, cleared, shown or given away.

    around: the loop that makes one in each round, or the function that is called in a loop.
    returned: whether it is known what becomes of those that the function returns.
    """
    if returned and isinstance(module.tree.statement(call), ast.Return):
        return False
    tree = module.tree
    scope = tree.function(call) or module.root
    names = _bound(call, tree.statement(call))
    if names is None:
        return True  # an attribute, an entry, an argument: who has that may close it
    figure, inside = names[:1], set(tree.within(around))
    for node in tree.within(scope):
        if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None and _hands(module, node.value, names):
            if not returned or isinstance(node, ast.Yield):
                return True
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call) and _hands(module, node.value, figure):
            return True  # another name, an entry, an attribute
        if not isinstance(node, ast.Call) or node is call:
            continue
        if node in inside:
            if _clears(module, node, names) or _is_closing(module, node):
                return True
        elif _closes(module, node) and tree.number(node) > tree.number(call):
            if any(not _hands(module, each, figure) for each in _arguments(node)):
                return True  # all of them, when the loop is over, and not the last one alone
        handed = not saves(module, node) and any(_hands(module, each, figure) for each in _arguments(node))
        if handed and not _only_draws(module, node, figure):
            return True
    return call not in _left_open(module, call, [each for each in tree.calls(scope) if each in inside])


def _only_draws(module: Module, call: ast.Call, figure: list[str]) -> bool:
    """Whether a call does no more with the figure than to call methods of it; what closes it is asked elsewhere."""
    if _closes(module, call) or module.names.qualname(call.func).partition(".")[0] in _LIBRARIES:
        return True
    helper = module.classes.callee(call)
    if helper is None or any(_closes(module, each) for each in module.tree.calls(helper)):
        return False
    given = {each: module.classes.argument(call, each, helper) for each in parameters(helper)}
    names = {each.arg for each, value in given.items() if isinstance(value, ast.Name) and value.id in figure}
    handed = [each for each in _arguments(call) if _hands(module, each, figure)]
    uses = [each for each in ast.walk(helper) if isinstance(each, ast.Name) and each.id in names]
    return len(names) == len(handed) and all(isinstance(module.tree.parents[each], ast.Attribute) for each in uses)


def _left_open(module: Module, call: ast.Call, calls: list[ast.Call]) -> list[ast.Call]:
    """What makes figures that are open still after all these calls: `plt.close()` closes the last one."""
    tree = module.tree
    left: list[ast.Call] = []
    for each in calls:
        if each is call or makes(module, each):
            left.append(each)
        elif _closes(module, each) and not _is_of_another(module, each, left):
            mine = [one for one in left if _is_handed(module, one, each)]
            if not mine and (_arguments(each) or not left) and tree.number(each) < tree.number(call):
                return []  # a round closes what the one before made
            if _arguments(each):
                left = [one for one in left if mine and one not in mine]
            else:
                last = left.pop() if left else call
                left = [one for one in left if not _is_instead(module, one, last)]
    return left


def _is_of_another(module: Module, close: ast.Call, left: list[ast.Call]) -> bool:
    """Whether a call closes what another call than these gave, by its name."""
    names = [each for each in _arguments(close) if isinstance(each, ast.Name)]
    made = [each.statement for name in names for each in module.flow.reaching(name.id, name)]
    values = [each.value if isinstance(each, ast.Assign) else None for each in made]
    return bool(values) and all(isinstance(each, ast.Call) and each not in left for each in values)


def _is_handed(module: Module, made: ast.Call, call: ast.Call) -> bool:
    """Whether a call is given the figure that another one made."""
    names = _bound(made, module.tree.statement(made)) or []
    return any(_hands(module, each, names) for each in call.args)


def _is_instead(module: Module, one: ast.AST, other: ast.AST) -> bool:
    """Whether only one of two calls is run: they stand in different branches of one statement."""
    parents = module.tree.parents
    above: dict[ast.AST, ast.AST] = {}
    while one in parents:
        above[parents[one]] = one
        one = parents[one]
    while parents[other] not in above:
        other = parents[other]
    meeting = parents[other]
    part = above[meeting]
    return isinstance(meeting, (ast.If, ast.Try)) and not any(
        isinstance(block, list) and part in block and other in block for _, block in ast.iter_fields(meeting)
    )


def _is_of_pyplot(module: Module, call: ast.Call) -> bool:
    return module.names.qualname(call.func).startswith("matplotlib.pyplot.")


def _closes(module: Module, call: ast.Call) -> bool:
    return module.names.called(call.func) == "close" and _is_of_pyplot(module, call)


def _clears(module: Module, call: ast.Call, names: list[str]) -> bool:
    """Whether a call clears or shows the current figure, or one of these names: not a list of something else."""
    if last_name(call.func) not in _CLEARS:
        return False
    held: ast.expr = call.func
    while isinstance(held, (ast.Attribute, ast.Subscript, ast.Call)):
        held = held.func if isinstance(held, ast.Call) else held.value
    return _is_of_pyplot(module, call) or (isinstance(held, ast.Name) and held.id in names)


def _is_closing(module: Module, call: ast.Call) -> bool:
    """Whether what is called is, by its name, a function or method of the file that closes figures."""
    name = last_name(call.func)
    return any(
        each.name == name and any(_closes(module, inner) for inner in module.tree.calls(each))
        for each in module.tree.below(module.root, ast.FunctionDef)
    )


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _hands(module: Module, node: ast.expr, names: list[str]) -> bool:
    """Whether an expression is, or holds, what one of the names is bound to, or the current figure."""
    stack: list[ast.AST] = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, ast.Name) and each.id in names:
            return True
        if isinstance(each, ast.Call):
            if last_name(each.func) == "gcf":
                return True
            stack += [] if saves(module, each) else _arguments(each)
        elif not isinstance(each, ast.Attribute):
            stack += ast.iter_child_nodes(each)
    return False


def _bound(call: ast.Call, statement: ast.stmt) -> list[str] | None:
    """The names of the figure and its axes; none of a figure that is the current one only, None if it is elsewhere."""
    if isinstance(statement, ast.Expr) and statement.value is call:
        return []
    if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        return None
    names = [each for each in ast.walk(statement.targets[0]) if isinstance(each, (ast.Name, ast.Attribute))]
    if not all(isinstance(each, ast.Name) for each in names):
        return None
    return [each.id for each in names if isinstance(each, ast.Name)]
