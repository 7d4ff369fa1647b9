"""kept-exception: an exception keeps the tensors of its frames, stored across steps or during a retry.

Leaks
-----
    errors = []
    for x, y in loader:
        try:
            train_step(model, x, y)
        except RuntimeError as error:
            errors.append(error)

Instead
-------
    errors = []
    for x, y in loader:
        try:
            train_step(model, x, y)
        except RuntimeError as error:
            errors.append(str(error))

Why
---
An exception refers to its traceback, which refers to every frame that it passed, with their local variables: inputs,
activations, the loss. Stored, it keeps them. While an `except` block runs, it is alive as well: a second try inside
it has less memory than the first. Source: the PyTorch FAQ, "My out of memory exception handler can't allocate memory".

Measured
--------
A network of four 512-wide layers, batch 64, whose loss fails in each step: 530 KB kept per stored exception, 1
KB where its text is stored, or one variable is overwritten; 0 KB where the loop that stores it raised it. A
step that fails for lack of memory and is tried again: 518 KB of the first try are still there when it is tried
inside the `except` block, 0.0 KB below it.

Run by `fixtures/TLK408_kept_exception/proof.py`: torch 2.13.0+cpu, Python 3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- The text is stored, one variable is overwritten, or the traceback is dropped.
- The retry comes after the block.
- What is caught was raised in the very loop that stores it: all such exceptions keep one frame, that of the function.

How to fix it
-------------
By hand: store `str(error)`. To retry, leave the `except` block first:

    def with_smaller_batch(step, batch):
        while True:
            try:
                return step(batch)
            except torch.OutOfMemoryError:
                if len(batch) == 1:
                    raise
            batch = batch[: len(batch) // 2]  # here the exception, and what it kept, is gone
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.following import Said, reports
from flake8_torchleak.gate import Subject
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.model.bindings import How, container_of, key_of
from flake8_torchleak.model.index import HOLDERS
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.stores import Store, stored
from flake8_torchleak.model.tree import FunctionNode
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short
from flake8_torchleak.words import holds_any

_MOST_NAMES = 3
"""Names that one thing is given, one after the other."""
_BY_TORCH = frozenset({"", "RuntimeError", "Exception", "BaseException"})
"""What operations raise too, from frames of their own."""


_OUT_OF_MEMORY = ("out of memory", "OutOfMemory", "oom")


def _may_retry(text: str) -> bool:
    return holds_any(text, _OUT_OF_MEMORY)


@rule(
    "TLK408",
    "kept-exception",
    fix=FixLevel.HINT,
    severity=Severity.WARNING,
    subject=Subject.STEPS,
    words=("except ",),
    apart=_may_retry,
)
def check(module: Module) -> Iterator[Report]:
    yield from reports(module, "TLK408", _said, lambda kept: _is_harmless(module, kept.value.site))
    if _may_retry(module.source.text):
        yield from _retried(module)


def _is_harmless(module: Module, handler: object) -> bool:
    """Whether what a handler catches has lost its frames, or has but one, where the calls were followed."""
    assert isinstance(handler, ast.ExceptHandler)
    return _drops_traceback(handler) or (handler in module.tree.parents and _is_of_own_frame(module, handler))


def _said(kept: Kept) -> Said | None:
    store, handler = stored(kept.at), kept.value.site
    if store is None or not isinstance(handler, ast.ExceptHandler) or not _holds(store, handler):
        return None
    name = short(store.holder)
    return Said(
        f"memory grows with each error: `{name}` keeps the exception `{handler.name}`, and with it the tensors of "
        "all functions it passed; "
        f"store `str({handler.name})`",
        kept,
        f"store `str({handler.name})` or `traceback.format_exc()` in `{name}`",
    )


def _retried(module: Module) -> Iterator[Report]:
    """Steps that are tried again while the exception of the first try is alive."""
    for handler in module.loops.steps(ast.ExceptHandler):
        retry = _retry(module, handler) if not _drops_traceback(handler) else None
        if retry is not None:
            yield Report(
                retry,
                f"the retry has less memory: while `{short(retry.func)}` runs in `except`, the exception keeps "
                "the first try's "
                "tensors; retry after the `except` block",
                notes=((handler, "the exception is alive until this block ends"),),
                remedy=(
                    "set a flag in the `except` block, and retry below it (the code is in `torchleak explain TLK408`)"
                ),
            )


def _holds(store: Store, handler: ast.ExceptHandler) -> bool:
    """Whether what is stored is the exception, or has it as a part."""
    parts = store.value.elts if isinstance(store.value, (ast.Tuple, ast.List)) else [store.value]
    return any(isinstance(part, ast.Name) and part.id == handler.name for part in parts)


def _drops_traceback(handler: ast.ExceptHandler) -> bool:
    if mentions(handler, "with_traceback") or mentions(handler, "clear_frames"):
        return True
    return mentions(handler, "__traceback__") and any(
        isinstance(each, ast.Attribute) and each.attr == "__traceback__" and isinstance(each.ctx, ast.Store)
        for each in ast.walk(handler)
    )


def _is_of_own_frame(module: Module, handler: ast.ExceptHandler) -> bool:
    """Whether what is caught is raised by the very function whose loop catches it, and by nothing that it calls.

    Such exceptions keep one frame, however many they are: that of the function, whose variables are overwritten.
    """
    tried = module.tree.parents[handler]
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    kinds = {last_name(each) for each in caught if each is not None}
    if not module.tree.loops(handler) or kinds & _BY_TORCH:
        return False
    body: list[ast.stmt] = [each for each in tried.body if not isinstance(each, HOLDERS)]  # type: ignore[attr-defined]
    inner = [node for statement in body for node in (statement, *module.tree.within(statement))]
    return _raised(inner) >= kinds and not any(_raised(module.tree.within(each)) for each in _called(module, inner))


def _called(module: Module, nodes: list[ast.AST]) -> list[FunctionNode]:
    """The functions of the file that are called there, and those that these call."""
    found: dict[FunctionNode, None] = {}
    stack = [each for each in nodes if isinstance(each, ast.Call)]
    while stack:
        callee = module.classes.callee(stack.pop())
        if callee is not None and callee not in found:
            found[callee] = None
            stack += module.tree.calls(callee)
    return list(found)


def _raised(nodes: list[ast.AST]) -> set[str]:
    """The names of the exceptions that statements raise."""
    found = {last_name(_made(each.exc)) for each in nodes if isinstance(each, ast.Raise) and each.exc is not None}
    return found | {"AssertionError" for each in nodes if isinstance(each, ast.Assert)}


def _made(exception: ast.expr) -> ast.expr:
    return exception.func if isinstance(exception, ast.Call) else exception


def _is_in(module: Module, node: ast.AST, statements: list[ast.stmt]) -> bool:
    return any(module.tree.inside(node, statement) for statement in statements)


def _retry(module: Module, handler: ast.ExceptHandler) -> ast.Call | None:
    """The first call of the handler that runs a model or trains again, where it handles a lack of memory."""
    if not any(mentions(handler, each) for each in _OUT_OF_MEMORY):
        return None
    tried = module.tree.parents[handler]
    for call in module.tree.calls(handler):
        helper = module.classes.callee(call)
        trains = helper is not None and module.loops.trains(helper)
        runs = bool(call.args) and module.infer.value(call.func).kind is Kind.MODULE
        if (trains or (runs and not module.infer.calls.is_construction(call))) and _is_in_body(module, call, tried):
            return call
    return None


def _is_in_body(module: Module, call: ast.Call, tried: ast.AST) -> bool:
    """Whether the `try` calls the same."""
    key = _key(module, container_of(call.func)[0])
    return any(
        _key(module, other.func) == key and _is_in(module, other, tried.body)  # type: ignore[attr-defined]
        for other in module.tree.calls(tried)
    )


def _key(module: Module, called: ast.AST) -> str:
    """What is called, by the name that it had first: `again = model` is another name of it."""
    for _ in range(_MOST_NAMES):
        found = module.flow.reaching(called.id, called) if isinstance(called, ast.Name) else []
        if (
            len(found) != 1
            or found[0].how is not How.ASSIGN
            or not isinstance(found[0].value, (ast.Name, ast.Attribute))
        ):
            break
        called = found[0].value
    return key_of(called)
