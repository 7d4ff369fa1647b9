"""A run that looks for views: which arrays steps make, what is cut out of these, and who keeps that.

The same program is followed as for histories, through the same parts; these know of memory instead. A value's `held`
says in whose memory it lies: it is all of an array that a step made, or a part of one.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.elements import Elements
from flake8_torchleak.lifetime.expressions import Expressions
from flake8_torchleak.lifetime.foreign import Foreign
from flake8_torchleak.lifetime.frames import Loop
from flake8_torchleak.lifetime.keeping import Keeper
from flake8_torchleak.lifetime.making import Making
from flake8_torchleak.lifetime.operations import Operations
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Atom, Graph, Keywords, Kind, Obj, Site, Value, constant, join
from flake8_torchleak.model.effects import ARRAY_METHODS, TENSOR_METHODS, Sharing
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.slices import CREATES, CUTTING, LOADS, SIZED, cuts_out
from flake8_torchleak.model.values import Kind as ModelKind

VIEW = "view"
"""How a holder keeps a part of an array: with all of it."""
MAKING = "one iteration per array that is made"
"""Why a loop is a step here."""
_WHOLE, _PART, _SPREAD = "all of", "rows of", "columns of"
"""How a value lies in memory: it is all of it, a part in one piece, or one that copies where it is made contiguous."""
MAKERS = frozenset(name.rpartition(".")[2] for name in LOADS) | SIZED
"""The last parts of the names of functions that make arrays."""
_ROOTS = frozenset({"numpy", "torch"})


class _Array(NamedTuple):
    """An array that a step made. made: the expression; born: when."""

    made: Site
    born: int


def _array(atom: Atom) -> _Array | None:
    """The array in whose memory a value lies, if a step made it."""
    return _Array(*atom.held[1:]) if isinstance(atom.held, tuple) else None


def is_whole(atom: Atom) -> bool:
    """Whether a value is all of an array that a step made."""
    return isinstance(atom.held, tuple) and atom.held[0] == _WHOLE


def base_of(atom: Atom) -> ast.expr:
    """What made the array in whose memory a value lies."""
    array = _array(atom)
    assert array is not None
    assert isinstance(array.made, ast.expr)
    return array.made


def makes_array(path: str) -> bool:
    """Whether a function, by its dotted name, makes an array of some size or loads one."""
    return path in LOADS or (path.partition(".")[0] in _ROOTS and path.rpartition(".")[2] in SIZED)


def _made(atom: Atom, node: Site) -> Atom:
    return atom.but(held=(_WHOLE, node, atom.born))


def _cut(atom: Atom, how: str) -> Atom:
    """A part of a value, or of what that is a part of."""
    assert isinstance(atom.held, tuple)
    before, base, born = atom.held
    return atom.but(held=(_SPREAD if _SPREAD in (before, how) else how, base, born))


class ViewedMaking(Making):
    """What is computed of all of an array, element by element, is as large."""

    def result(self, site: Site, inputs: list[Value]) -> Value:
        """An operation's result: of operators, a new array as large as what they are given."""
        found = super().result(site, inputs)
        if isinstance(site, (ast.BinOp, ast.UnaryOp)) and any(is_whole(atom) for value in inputs for atom in value):
            return tuple(_made(each, site) for each in found)
        return found


class ViewedOperations(Operations):
    """Methods of arrays: what shares memory, what cuts, what copies."""

    def method(
        self,
        atom: Atom,
        name: str,
        args: list[Value],
        keywords: Keywords,
        node: ast.expr,
        receiver: ast.expr | None,
    ) -> Value:
        """Call a method: its result lies in the same memory, or is a new array."""
        found = super().method(atom, name, args, keywords, node, receiver)
        if not isinstance(atom.held, tuple):
            return found
        effect = (ARRAY_METHODS if atom.made == table.ARRAY else TENSOR_METHODS).get(name)
        if name in CUTTING:
            how = _PART if args and constant(args[0]) == 0 else _SPREAD
            return tuple(_cut(each, how) for each in found)
        if atom.held[0] == _SPREAD and effect is not None and effect.sharing is Sharing.LAYOUT:
            return tuple(each.but(held=None) for each in found)  # measured: it copies
        if is_whole(atom) and (effect is None or effect.kind in (ModelKind.TENSOR, ModelKind.ARRAY)):
            same = effect is not None and name in ("astype", "copy", "clone", "double", "flatten", "float")
            return tuple(_made(each, node) if same and each.held is None else each for each in found)
        return found


class ViewedForeign(Foreign):
    """Functions that make arrays."""

    def function(self, path: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """Call a library's function: one that makes an array makes a step of the loop around."""
        run = self.run
        found = super().function(path, args, keywords, node)
        if path.startswith("torch."):
            found = tuple(each.but(made=None) if each.made == table.ARRAY else each for each in found)
        if not makes_array(path) or any(isinstance(atom.held, tuple) for atom in found):
            return found
        if constant(keywords.get("mmap_mode", ())) is not None and "mmap_mode" in keywords:
            return found
        for loop in run.loops[-1:]:
            loop.step = loop.step or ("" if loop.small else MAKING)
        if path == "torch.load":
            return tuple(_made(each, node) for each in found)  # perhaps a list, or a dict
        (made,) = run.make.tensor(node, Graph.NO)
        return (_made(made.but(made=None if path.startswith("torch") else table.ARRAY), node),)


class ViewedExpressions(Expressions):
    """Subscripts."""

    def entry(self, base: Value, index: Value, node: ast.Subscript) -> Value:
        """`base[index]`: all of an array, a part of it, or what has memory of its own."""
        found = super().entry(base, index, node)
        if any(isinstance(atom.made, Obj) for atom in base):
            return found  # an element of a container is all that it was before
        known = all(atom.kind is Kind.TENSOR for atom in base if atom.held is not None)
        return tuple(self._part(each, node.slice, known) if isinstance(each.held, tuple) else each for each in found)

    @staticmethod
    def _part(atom: Atom, index: ast.expr, known: bool) -> Atom:
        parts = [each for each in getattr(index, "elts", [index]) if not _is_new_axis(each)]
        slices = [each for each in parts if isinstance(each, ast.Slice)]
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            return atom.but(held=None)  # of a dict
        if not parts:
            return atom
        if not slices:
            gives_rows = len(parts) == 1 and known and not _is_flat(base_of(atom))
            return _cut(atom, _PART) if gives_rows else atom.but(held=None)
        if not cuts_out(index):
            return atom
        in_one_piece = len(parts) == 1 and slices[0].step is None
        return _cut(atom, _PART if in_one_piece else _SPREAD)


def _is_new_axis(index: ast.expr) -> bool:
    """Whether an index is `None`, `np.newaxis` or `...`, which leave all in."""
    return last_name(index) == "newaxis" or (isinstance(index, ast.Constant) and index.value in (None, Ellipsis))


def _is_flat(made: ast.expr) -> bool:
    """Whether an array is, or may well be, of one dimension: of one length, or a product of matrices.

    Who loads a file may get an array of any.
    """
    if isinstance(made, ast.BinOp):
        return isinstance(made.op, ast.MatMult) or (_is_flat(made.left) and _is_flat(made.right))
    if not isinstance(made, ast.Call) or last_name(made.func) not in CREATES:
        return False
    shape = made.args[0] if len(made.args) == 1 or last_name(made.func) == "full" else None
    return shape is not None and not isinstance(shape, (ast.Tuple, ast.List, ast.Attribute, ast.Call))


class ViewedElements(Elements):
    """What containers hold keeps its memory; batches, and rows of arrays, are nobody's part."""

    def of(self, value: Value, node: ast.expr) -> Value:
        """What iterating gives. All rows of an array are all of it, and a loader makes batches that no step makes."""
        held = tuple(atom for atom in value if isinstance(atom.made, Obj))
        rest = tuple(atom for atom in value if not isinstance(atom.made, Obj))
        found = [super().of(held, node)] if held else []
        if rest or not held:
            found.append(tuple(each.but(held=None) for each in super().of(rest, node)))
        return join(found)


class ViewedKeeper(Keeper):
    """Parts of arrays that something keeps."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.wholes: set[_Array] = set()
        """Arrays that are kept whole."""
        self.parts: dict[_Array, set[Site]] = {}
        """What made the parts of an array that are kept."""
        self._by_generators: dict[Site, set[Site]] = {}
        """The same of what generators give, all at once, by what makes the arrays. None: an array is given whole."""

    def keep_memory(
        self, inside: list[Atom], value: Value, node: ast.AST, target: ast.expr | None, loop: Loop, holders: list[Atom]
    ) -> None:
        """A holder that outlives a step gets parts of arrays that this step made, or all of one."""
        for atom in inside:
            array = _array(atom)
            if array is None:
                continue
            if is_whole(atom):
                self.wholes.add(array)
            elif array.born >= loop.iteration and not self._is_one_of_many(atom, array.born):
                self.parts.setdefault(array, set()).add(atom.site)
                self.add(VIEW, node, target, loop, holders, atom)

    def gathered(self, holder: Value, value: Value, node: ast.AST) -> None:
        """A container gets all that a generator makes step by step."""
        for atom, _ in self.run.within(value):
            array = _array(atom)
            if array is not None:
                whole = is_whole(atom)
                self._by_generators.setdefault(array.made, set()).add(None if whole else atom.site)
                if not whole:
                    self.collected(VIEW, holder, atom, node)

    def _is_one_of_many(self, atom: Atom, born: int) -> bool:
        """Whether a loop that began behind an array cuts another part out of it in each iteration."""
        return any(each.start > born and each.ident in atom.vary for each in self.run.loops)

    def keeps_all_of(self, atom: Atom) -> bool:
        """Whether all of the array is kept as well, or several parts, which may be all of it."""
        array = _array(atom)
        assert array is not None
        if array in self.wholes or len(self.parts.get(array, ())) > 1:
            return True
        given = self._by_generators.get(array.made, set())
        stored = {site for other, sites in self.parts.items() if other.made is array.made for site in sites}
        return bool(given) and len(given | stored) > 1


def is_one(atom: Atom) -> bool:
    """Whether a part is one index's, or one that is unpacked: of an array of one dimension, that is a copy."""
    site = atom.site
    return isinstance(site, tuple) or (
        isinstance(site, ast.Subscript) and not isinstance(site.slice, (ast.Slice, ast.Tuple))
    )
