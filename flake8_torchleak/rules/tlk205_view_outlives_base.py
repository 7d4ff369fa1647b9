"""view-outlives-base: a slice of a large temporary array is kept, and with it the whole array.

Leaks
-----
    crops = []
    for path in paths:
        image = cv2.imread(path)
        crops.append(image[:64, :64])

Instead
-------
    crops = []
    for path in paths:
        image = cv2.imread(path)
        crops.append(image[:64, :64].copy())

Why
---
A slice is a view: it keeps the array that it was taken from, all of it, however small the slice. A container of such
views holds every array that was loaded. The same is true of torch: `output[:, 0]` keeps the output of every step.
A view of an array that lives on anyway costs nothing, and neither do views that make up all of their array.
Source: NumPy's documentation on copies and views (numpy/numpy#10273).

Measured
--------
Crops of 1 KB, kept of 40 images of 1 MB each: 1024 KB for each crop, fixed 0.9 KB.

Run by `fixtures/TLK205_view_outlives_base/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The slice is copied (`.copy()`, `.clone()`, `.cpu()`, a list or mask as the index, arithmetic), leaves out only a few
elements at the ends, or is one of several views of its array; the container keeps no objects (an array, a tensor,
h5py), starts anew with each array, or is replaced by what is made of it (`rows = np.array(rows)`); the array is
memory-mapped.

A note where the view is a slice, `row[:n]`: how much of its base it leaves out nobody sees; `rows[0]` is one of many.
And where the array is read from a text file or made of a list: how large it is, nobody sees.

What a program keeps through helpers, methods, records and other files is found by following it, where the file itself
loads arrays, or creates some and cuts parts out of them: notes. Of one index of an array nobody sees whether it gives a
row, or a number, which is a copy.

How to fix it
-------------
Safe: `.copy()` for arrays, `.clone()` for what is proven a tensor: same values, and the rest is freed. Unsafe where the
module asks what shares whose memory; none where an array is edited in place in the same function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.following import FOLLOWED
from flake8_torchleak.gate import Subject
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.viewed import followed_views
from flake8_torchleak.lifetime.viewing import base_of, is_one
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.outline import Outline
from flake8_torchleak.model.stores import stored
from flake8_torchleak.model.values import Kind
from flake8_torchleak.model.viewgate import may_cut, may_find_views, may_keep_views
from flake8_torchleak.model.views import KeptView, kept_views
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.telling import notes
from flake8_torchleak.wording import short

_OF_TENSORS = frozenset({"detach", "cpu"})
"""Methods that arrays do not have."""
_WORDS = {Kind.ARRAY: " array", Kind.TENSOR: " tensor"}
_WRITTEN = "how large an array of a text file, or of a list, is, is not seen"
"""Why a view of one is a note: of seven that readers judged one was worth a change."""
_COPIED = {Kind.ARRAY: "`.copy()`", Kind.TENSOR: "`.clone()`"}
_FOLLOWED = "views that were followed"
_EITHER = "arrays `.copy()`, tensors `.clone()`"
_ONE = "of six such parts that a reader judged one was worth a change, and an entry of a flat array is a copy"
_SLICED = "how much of it the slice leaves out is not seen"


@rule(
    "TLK205",
    "view-outlives-base",
    fix=FixLevel.SAFE,
    also=FixLevel.UNSAFE,
    severity=Severity.WARNING,
    subject=Subject.TORCH,
    words=(
        ".load(",
        "imread(",
        "fromfile(",
        "txt(",
        "imdecode(",
        "read_image(",
        "zeros(",
        "ones(",
        "empty(",
        "full(",
        ".rand(",
        ".randn(",
        ".random(",
        "hidden_state",
        "logits",
        "model(",
        "net(",
        "encoder(",
        "backbone(",
    ),
    shape=may_find_views,
    elsewhere=True,
)
def check(module: Module) -> Iterator[Report]:
    told: set[int] = set()
    in_sight = may_keep_views(Outline(module.root, module.source.text))  # most need no index
    for kept in kept_views(module) if in_sight else ():
        if module.infer.value(kept.view).graph or _is_replaced(kept.node, module):
            continue  # where it has a history, that is more than its memory: TLK402
        told |= {kept.node.lineno, kept.view.lineno}
        yield _in_sight(kept, module)
    for report in _by_longer_ways(module):
        if getattr(report.node, "lineno", 0) not in told:
            yield report


def _by_longer_ways(module: Module) -> list[Report]:
    """What following the program finds, once, however often the rules are asked."""
    known = module.shared.get(_FOLLOWED)
    if not isinstance(known, list):
        wanted = module.notes and may_cut(module.root, module.source.text)
        kept = followed_views(module) if wanted else ()
        kept = (each for each in kept if not _is_replaced(each.at, module))
        by_line = {getattr(each.node, "lineno", 0): _followed(each, module) for each in kept}
        known = module.shared[_FOLLOWED] = list(by_line.values())
    return known


def _in_sight(kept: KeptView, module: Module) -> Report:
    """A view that stands where it is kept, or a name away."""
    kind = Kind.ARRAY if kept.is_array else module.infer.value(kept.view).kind
    if any(isinstance(each, ast.Attribute) and each.attr in _OF_TENSORS for each in ast.walk(kept.view)):
        kind = Kind.TENSOR
    copied = _COPIED.get(kind, _EITHER)
    return Report(
        kept.node,
        f"each{_WORDS.get(kind, '')} `{kept.base.key}` stays in memory whole: `{kept.key}` keeps its slice "
        f"`{short(kept.view)}`; store a copy ({copied})",
        notes=((kept.base.statement, f"a new `{kept.base.key}` is made here each time, and its view keeps it"),),
        severity=None if _drops_an_axis(kept.view) and not kept.is_written else Severity.NOTE,
        why=_WRITTEN if kept.is_written else _SLICED,
        target=kept,
    )


def _followed(kept: Kept, module: Module) -> Report:
    """A part of an array that gets to what keeps it by a longer way."""
    base = base_of(kept.value)
    is_here = base in module.tree.parents
    made = ((base, "a new array is made here each time, and its part keeps it"),) if is_here else ()
    return Report(
        kept.node,
        f"each array{f' of `{short(base)}`' if is_here else ''} stays in memory whole: {_keeper(kept)} a part of it; "
        f"store a copy ({_EITHER})",
        notes=(*made, *notes(kept, module)),
        severity=Severity.NOTE,
        why=_ONE if is_one(kept.value) else _SLICED,
        target=kept,
    )


def _is_replaced(node: ast.AST, module: Module) -> bool:
    """Whether what a statement fills is bound anew, behind it, to what is made of it: `rows = np.array(rows)`."""
    store = stored(node) if node in module.tree.parents else None
    if store is None:
        return False
    holder, scope = ast.unparse(store.holder), module.tree.function(node) or module.root
    return any(
        isinstance(each, ast.Assign)
        and each.lineno > store.node.lineno
        and isinstance(each.value, ast.Call)
        and any(ast.unparse(target) == holder for target in each.targets)
        and any(ast.unparse(given) == holder for given in each.value.args)
        for each in module.tree.within(scope)
    )


def _keeper(kept: Kept) -> str:
    """What keeps a part, in words."""
    store = stored(kept.at) if kept.node is kept.at else None
    if store is not None:
        return f"`{short(store.holder)}` keeps"
    return f"`{short(kept.node)}` stores" if isinstance(kept.node, ast.expr) else "this keeps"


def _drops_an_axis(view: ast.expr) -> bool:
    """Whether a view is one row, or column, of many: of a slice nobody sees how much of its base it is."""
    indices = [each.slice for each in ast.walk(view) if isinstance(each, ast.Subscript)]
    parts = [part for each in indices for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return any(not isinstance(part, ast.Slice) for part in parts)


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.copy()` on an array, `.clone()` on what is proven a tensor."""
    kept = report.target
    if not isinstance(kept, KeptView):
        raise Unfixable(FOLLOWED)
    if kept.is_array or build.module.infer.value(kept.view).kind is Kind.ARRAY:
        method = "copy"
    elif build.module.proof.is_tensor(kept.view):
        method = "clone"
    else:
        raise Unfixable(f"`{short(kept.view)}` is not proven to be a tensor")
    sharing, scope = build.module.release.sharing, build.module.tree.scope(kept.node)
    if sharing.edits_content(kept.key, kept.node) or sharing.edits_arrays(kept.key, scope):
        raise Unfixable("an array is edited in place here, and a view sees it")
    yield Fix(sharing.asking(), f"store a copy (`.{method}()`)", build.method(kept.view, method))
