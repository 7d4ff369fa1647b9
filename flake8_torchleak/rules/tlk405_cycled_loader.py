"""cycled-loader: every batch of a DataLoader is kept at once, by itertools.cycle, tee, list or the like.

Leaks
-----
    for (x, y), (u, _) in zip(loader, itertools.cycle(unlabeled_loader)):
        ...

Instead
-------
    for (x, y), (u, _) in zip(loader, itertools.chain.from_iterable(itertools.cycle([unlabeled_loader]))):
        ...

Why
---
`itertools.cycle` saves each batch that it gives out, to give the same ones again: after the first round a whole
epoch is in memory, shuffling and augmentation stand still, and every tensor from a worker holds a file descriptor
("Too many open files"). `itertools.tee` saves what one of its iterators is ahead of the others by; `list`, `tuple`,
`set`, `sorted`, `deque`, `[*loader]` and a comprehension that gives out each batch as it comes collect everything
before the first batch is used, and so does a loop that does nothing but append each batch. Source: documentation of
itertools; pytorch issue 23900.

Measured
--------
40 shuffled batches of two tensors from two workers, descriptors more at the end of the first round: 72 under
`itertools.cycle`, fixed 0; none more in the second, which gives 40 of the 40 batches again, fixed 0. `list` 78,
where a plain loop has 0; `tuple` 90; `tee` 74, when one of its iterators is an epoch behind. 40 batches of one
tensor in `[*loader]`, `(*loader,)` and `{*loader}`: 121 together; in `sorted`, `dict`, `deque` and `set`: 160;
40 of two tensors in four comprehensions: 320; clones of them: 0.

Run by `fixtures/TLK405_cycled_loader/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
- The function that repeats is the project's own (`def cycle(loader): while True: yield from loader`).
- What is cycled is no loader, or the code is a test.
- There is one batch: `DataLoader(data, batch_size=len(data))`.
- Nobody reads the variable that a cycle is bound to: it is asked for no batch.
- A `deque` has a largest length; a comprehension has a condition; it, or a loop, gives out something
  other than whole batches.
- Only a name makes it a loader, and it is sorted, or used as a list or a dict. (A note where only the name suggests a
  loader and nothing speaks against it, where a `TensorDataset` has all data in memory anyway and the loader is not
  seen to have workers, and where what `itertools.cycle` keeps goes with a loop that is run once an epoch.)

How to fix it
-------------
Unsafe, for `itertools.cycle`: repeat the loader, not its batches. It shuffles and augments anew in each round, so that
the data come in another order than before, and starts its workers again (persistent_workers=True keeps them). For
`list(loader)`: `len(loader)`, or a loop over the loader; where the batches are used elsewhere, hand the loader on, and
loop over it there. Where some part of every batch must stay, store that alone (numbers, or a `.clone()` of one field).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject, imports_pytorch
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.collected import ends_with_its_loop, instead, is_in_memory
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.tensors import gives_one_batch
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.model.values import Kind
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import fitting, short

_COLLECTING = ("list", "tuple", "set", "frozenset", "sorted", "dict", "collections.deque")
_REMEDY = {
    "itertools.cycle": "",
    "itertools.tee": "take `iter({})` twice instead",
    **dict.fromkeys(_COLLECTING, ""),
}
"""By function; none for what depends on what is repeated, or on where the result goes."""
_NAMES = ("cycle", "tee", "list", "tuple", "set", "frozenset", "sorted", "dict", "deque")
_OF_CONTAINERS = frozenset({"items", "keys", "values", "append", "get", "pop", "index", "count", "sort", "copy"})
"""Methods that lists and dicts have, and DataLoaders have not."""
_OF_SORTED = ("key", "reverse")
"""The arguments by name that leave all batches in: a `deque` has `maxlen`."""
_MARKS: dict[type[ast.expr], tuple[str, str]] = {ast.List: ("[", "]"), ast.Tuple: ("(", ",)"), ast.Set: ("{", "}")}
_NAMED = r"\([\w.\[\('\", =]*?(?:oader|dls?\b)"
# A literal first: it is sought fastest.
_COLLECTED = [re.compile(f"{name}{_NAMED}") for name in ("list", "tuple", "set", "sorted", "dict", "deque")]
_STARRED = re.compile(r"[\[({,]\s*\*[\w.\('\", =]*?(?:oader|dls?\b)")
_SHORT = re.compile(r"dls?\b")


def _speaks_of_loaders(text: str) -> bool:
    """Whether a name that may be a loader's is in a text, or what repeats one."""
    if "oader" in text or _SHORT.search(text) is not None:
        return True
    return "itertools" in text and ("cycle(" in text or "tee(" in text)


def _may_collect(outline: Outline) -> bool:
    """Whether a loader is made in the file, or one by its name is collected."""
    text = outline.text
    if "itertools" in text and ("cycle(" in text or "tee(" in text):
        return True
    if not _speaks_of_loaders(text):
        return False
    if any(each.search(text) is not None for each in (*_COLLECTED, _STARRED)) or outline.may_comprehend:
        return True
    if any(_put_by(each) is not None for each in outline.all(ast.For)):
        return True
    return ("oader(" in text or "dl(" in text) and any(f"{name}(" in text for name in _NAMES)


@rule(
    "TLK405",
    "cycled-loader",
    fix=FixLevel.UNSAFE,
    severity=Severity.WARNING,
    subject=Subject.TORCH,
    words=(" in ", "*", "cycle(", "tee(", "list(", "tuple(", "set(", "sorted(", "dict(", "deque("),
    prospect=_speaks_of_loaders,
    shape=_may_collect,
)
def check(module: Module) -> Iterator[Report]:
    yield from _called(module)
    yield from _unpacked(module)
    yield from _comprehended(module)
    yield from _looped(module)


def _called(module: Module) -> Iterator[Report]:
    """`list(loader)` and its like."""
    for call in module.classes.own_calls(*_NAMES):
        qualname = module.names.qualname(call.func)
        if qualname not in _REMEDY or len(call.args) != 1 or any(each.arg not in _OF_SORTED for each in call.keywords):
            continue
        remedy = _REMEDY[qualname]
        if isinstance(module.tree.parents[call], ast.Call) and qualname == "list":
            counted = module.tree.parents[call]
            if last_name(getattr(counted, "func", call)) == "len":
                name = short(call.args[0])
                remedy = f"use `len({name})`, or count in the loop"
        target = call if qualname == "itertools.cycle" else None
        if target is not None and _is_unread(module, call):
            continue
        if target is not None:
            remedy = _repeated(module, call)
        elif qualname == "itertools.tee":
            remedy = remedy.format(short(call.args[0]))
        shown = f"{short(call.func)}({short(call.args[0])})"
        yield from _report(module, call, call.args[0], shown, remedy, target)


def _is_unread(module: Module, call: ast.Call) -> bool:
    """Whether a call is bound to a variable that nobody reads: what goes round is never asked for a batch."""
    statement = module.tree.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return False
    value, target = statement.value, statement.targets[0]
    arms = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
    scope = module.names.scope_of(target.id, target) if isinstance(target, ast.Name) else None
    if call not in arms or not isinstance(target, ast.Name) or not isinstance(scope, FUNCTIONS):
        return False
    names = [each for each in ast.walk(scope) if isinstance(each, ast.Name)]
    return not any(each.id == "locals" or (each.id == target.id and isinstance(each.ctx, ast.Load)) for each in names)


def _unpacked(module: Module) -> Iterator[Report]:
    """`[*loader]` and its like."""
    for starred in module.tree.all(ast.Starred):
        display = module.tree.parents[starred]
        if not isinstance(display, (ast.List, ast.Tuple, ast.Set)) or not isinstance(starred.ctx, ast.Load):
            continue
        first, last = _MARKS[type(display)]
        shown = f"{first}*{short(starred.value)}{last}"
        yield from _report(module, display, starred.value, shown)


def _comprehended(module: Module) -> Iterator[Report]:
    """`[batch for batch in loader]`, and a generator of the same that a list is made of."""
    every = module.tree.all
    for node in (*every(ast.ListComp, ast.SetComp), *every(ast.DictComp), *every(ast.GeneratorExp)):
        loop = node.generators[0]
        given = node.value if isinstance(node, ast.DictComp) else node.elt
        if len(node.generators) > 1 or loop.ifs or loop.is_async or not _is_whole_batch(given, loop):
            continue
        told: ast.expr = given
        if isinstance(node, ast.GeneratorExp):
            call = module.tree.parents[node]
            if not isinstance(call, ast.Call) or module.names.qualname(call.func) not in _COLLECTING:
                continue
            told = call
        place = told if isinstance(told, ast.Call) else node
        yield from _report(module, place, loop.iter, short(place), under=("TLK404", told))


def _looped(module: Module) -> Iterator[Report]:
    """A loop that does nothing but put each batch into a container: a list in more words."""
    for loop in module.tree.all(ast.For):
        call = _put_by(loop)
        if call is not None and not loop.orelse and _is_whole_batch(call.args[0], loop):
            yield from _report(module, call, loop.iter, short(call), under=("TLK404", call))


def _put_by(loop: ast.For) -> ast.Call | None:
    """The one statement of a loop, if it puts something into a container."""
    call = loop.body[0].value if len(loop.body) == 1 and isinstance(loop.body[0], ast.Expr) else None
    puts = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "add")
    return call if isinstance(call, ast.Call) and puts and len(call.args) == 1 else None


def _is_whole_batch(given: ast.expr, loop: ast.comprehension | ast.For) -> bool:
    """Whether what a comprehension, or a loop, gives out is its variable, or a tuple of all variables of a batch."""
    target = loop.target
    if isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[-1]
    wanted = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    parts = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
    names = {each.id for each in parts if isinstance(each, ast.Name)}
    return all(isinstance(each, ast.Name) and each.id in names for each in wanted)


def _report(
    module: Module,
    node: ast.expr,
    iterable: ast.expr,
    shown: str,
    remedy: str = "",
    target: ast.Call | None = None,
    under: tuple[str, ast.AST] | None = None,
) -> Iterator[Report]:
    """A report if what is collected is a loader."""
    if _is_test(module, node) or mentions(iterable, "islice") or mentions(iterable, "range"):
        return
    loader = module.infer.loader_of(iterable)
    if loader is None or (loader.made is None and last_name(iterable).endswith("s")):
        return  # a name like `loaders` may be a list of them
    if isinstance(loader.made, ast.Call) and gives_one_batch(loader.made):
        return
    text = module.source.text
    if loader.made is None and not imports_pytorch(text) and ".backward(" not in text:
        return
    by_name = loader.made is None
    if by_name and (shown.startswith("sorted(") and not _is_told_how(node) or _is_other(module, iterable)):
        return
    if by_name and under is None:  # a comprehension goes over whatever there is
        by_name = "DataLoader" not in text and ".backward(" not in text
    if _is_first(module.tree.parents[node]):
        remedy = f"use `next(iter({short(iterable)}))`"
    ends = target is not None and ends_with_its_loop(module, target)
    stays = "stay in memory until the loop ends" if ends else "stay in memory"
    remedy = remedy or instead(module, node, iterable)
    yield Report(
        node,
        fitting(f"all batches {stays}: `{shown}` keeps every batch", *([f"{remedy}{_ANEW}"] if target else []), remedy),
        notes=((loader.made, "the loader is made here"),) if loader.made is not None else (),
        severity=Severity.NOTE if by_name or ends or is_in_memory(module, loader.made) else None,
        why=_BY_NAME if by_name else "they are freed when the loop ends" if ends else "the data is in memory anyway",
        remedy=f"{remedy}: what is shuffled and drawn at random is so anew in each round, which changes the order of "
        "the data"
        if target is not None
        else "",
        target=target,
        under=under,
    )


def _is_first(node: ast.AST) -> bool:
    """Whether only the first of all batches is asked for (`list(loader)[0]`)."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0


def _is_told_how(node: ast.expr) -> bool:
    """Whether `sorted` is told by what: tensors are neither smaller nor larger."""
    return isinstance(node, ast.Call) and any(each.arg == "key" for each in node.keywords)


def _is_other(module: Module, iterable: ast.expr) -> bool:
    """Whether what is done with a variable shows that it is a list or a dict."""
    key = key_of(iterable)
    if not key:
        return False
    for node in module.tree.within(module.tree.scope(iterable)):
        if isinstance(node, ast.Subscript) and key_of(node.value) == key:
            return True
        if isinstance(node, ast.Attribute) and node.attr in _OF_CONTAINERS and key_of(node.value) == key:
            return True
    return False


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`chain.from_iterable(cycle([loader]))`: what is saved is the loader, not its batches."""
    if not isinstance(report.target, ast.Call):
        raise Unfixable("the collected batches may be used in other ways than by iterating over them")
    chain, imported = build.reference("itertools.chain", report.target)
    (loader,) = report.target.args
    if not _is_read_again(build.module, loader):
        raise Unfixable(f"`{short(loader)}` may be an iterator, which gives its batches only once")
    edits = (*build.wrapped(loader, "[", "]"), *build.wrapped(report.target, f"{chain}.from_iterable(", ")"))
    yield Fix(FixLevel.UNSAFE, "repeat the loader, not its batches", (*imported, *edits))


def _is_read_again(module: Module, loader: ast.expr) -> bool:
    """Whether it gives its batches as often as it is asked: a loader, not an iterator over one."""
    named = loader.func if isinstance(loader, ast.Call) else loader
    return module.infer.value(loader).kind is Kind.LOADER and "iter" not in last_name(named)


def _repeated(module: Module, call: ast.Call) -> str:
    """The expression that gives the same batches without end; a generator where it is long, or no loader is given."""
    (given,) = call.args
    while isinstance(given, ast.Call) and last_name(given.func) == "iter" and given.args:
        given = given.args[0]
    code = f"itertools.chain.from_iterable({short(call.func)}([{short(given)}]))"
    if _is_read_again(module, given) and len(code) <= _LONGEST:
        return f"use `{code}`"
    return f"in a generator `while True: yield from {short(given)}`"


_LONGEST = 65
_BY_NAME = "that it is a loader is told by its name alone"
_ANEW = " (shuffles anew each round)"


def _is_test(module: Module, node: ast.AST) -> bool:
    """Inside a test function: a few batches, for the moment."""
    return any(
        isinstance(up, FUNCTIONS) and up.name.lstrip("_").startswith("test") for up in module.tree.ancestors(node)
    )
