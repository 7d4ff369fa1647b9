"""Which Datasets the loaders of a whole project may get, and whether these loaders may have workers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchleak.model.asking import Asking
from flake8_torchleak.model.names import last_name, parameters
from flake8_torchleak.model.program import Part, Program, TooMuch
from flake8_torchleak.model.reading import made
from flake8_torchleak.model.tree import FUNCTIONS, FunctionNode

ANY = "*"
"""Stands for the Dataset of a loader that is given what is not seen."""
NONE, SOME, SHOWN = "none", "some", "shown"
"""A loader without workers, one that may have some, and one with a number of them that the project's files show."""
SENDING = "<batches>"
"""The row of what loaders do with batches: NONE of those that leave none in shared memory, SOME of others."""
_PLACE = 5
"""The place of `num_workers` among the arguments."""
_WRAPPERS = frozenset({"Subset", "ConcatDataset", "ChainDataset", "StackDataset", "random_split"})
"""What torch makes of other Datasets."""
_MAKER = re.compile(r"(?i)loaders?$")
_LOOKS = frozenset({"isinstance", "issubclass"})
_TEXTS = frozenset({"open", "join", "imread", "basename", "Path", "split", "replace", "endswith", "format"})
"""Functions that take the name of a file: what is given to them is no sample."""


def loaders_by_class(top: str, _: str) -> dict[str, tuple[str, ...]] | None:
    """For each class that loaders of a project are given (ANY: not known), which of NONE, SOME and SHOWN these have.

    And for the place of each loader which it has itself (see `place_of`), and whether any leaves batches in the memory
    that workers share (SENDING): not where it has none, or pins them, which copies them.
    None if that is not to be seen, for a project that is too large, or has files that cannot be parsed.
    """
    try:
        return {name: tuple(sorted(found)) for name, found in _Census(Program(top)).found().items()}
    except TooMuch:
        return None


def place_of(path: str, call: ast.Call) -> str:
    """The row of one loader: no class has such a name."""
    return f"{path}:{call.lineno}:{call.col_offset}"


@made(64)
def is_handed_out(top: str, name: str) -> bool:
    """Whether objects of a class are given to what a project does not define, and is not torch's: it may load them."""
    try:
        program = Program(top)
        return any(_hands_out(program, part, name) for part in program.holding(f"{name}("))
    except TooMuch:
        return True


def _hands_out(program: Program, part: Part, name: str) -> bool:
    given: list[ast.AST] = []
    for call in part.tree.all(ast.Call):
        if part.name(call.func) == name:
            given.append(call)
            up = part.tree.parents[call]
            target = up.targets[0] if isinstance(up, ast.Assign) else None
            scope = part.tree.function(call) or part.root
            if isinstance(target, ast.Name):
                given += [each for each in part.tree.below(scope, ast.Name) if each.id == target.id]
    for each in given:
        up = part.tree.parents[each]
        up = part.tree.parents[up] if isinstance(up, ast.keyword) else up
        if isinstance(up, ast.Call) and up.func is not each and program.is_unknown(part, up.func):
            return True
    return False


class _Census:
    """The loaders of a program."""

    def __init__(self, program: Program) -> None:
        self.program, self.asking = program, Asking(program)

    def found(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for part in self.program.holding("oader"):
            for name, have, call in self._of(part):
                if call is not None:
                    found.setdefault(place_of(part.path, call), set()).add(have)
                if have is NONE and part.is_test:
                    continue  # a library's loaders are made by who uses it, and in its tests
                sent = SOME if have is not NONE and not self._pins(call) else NONE
                found.setdefault(SENDING, set()).add(sent)
                for each in self._and_bases(name):
                    found.setdefault(each, set()).add(have)
        for text in self.program.beside.values():
            if "DataLoader(" in text and re.search(r"num_workers\W{1,3}(?!0\b)\w", text):
                for each in (ANY, SENDING):
                    found.setdefault(each, set()).add(SOME)
        return found

    def _and_bases(self, name: str) -> list[str]:
        return list(dict.fromkeys([name, *(node.name for _, node in self.program.lineage(name))]))

    def _of(self, part: Part) -> Iterator[tuple[str, str, ast.Call | None]]:
        """The loaders of a file: the class of each one's Dataset, which of NONE, SOME and SHOWN it has, and its call.

        None in place of the call that only tells of loaders.
        """
        for call in part.tree.all(ast.Call):
            name = part.name(call.func)
            if name == "__init__" and self._makes_loader(part, call):
                have = self._workers(part, call, False)
                if have is not NONE or self._is_made(part, call):
                    yield ANY, have, None
            elif name.endswith("DataLoader") and not self.program.is_function(name) and not self._is_own(name):
                have = self._workers(part, call, self._is_foreign(part, call))
                yield self._class_of(part, _first(call)), have, call
            elif self.program.is_outside(part, call.func) and (_MAKER.search(name) or _speaks(call)):
                yield ANY, SOME, None  # what makes loaders elsewhere has its own defaults
        for node in part.tree.all(ast.Name, ast.Attribute):
            if part.name(node).endswith("DataLoader") and self._is_handed(part, node):
                yield ANY, SOME, None

    def _is_own(self, name: str) -> bool:
        """Whether a class of the project has this name that says itself what it gives to the loader it is, if any."""
        lineage = self.program.lineage(name)
        makes = any(
            isinstance(each, FUNCTIONS) and each.name == "__init__" for _, node in lineage for each in node.body
        )
        return makes or (bool(lineage) and not any(self._derives(part, node) for part, node in lineage))

    @staticmethod
    def _derives(part: Part, node: ast.ClassDef) -> bool:
        return any(part.name(base).endswith("DataLoader") for base in node.bases)

    def _makes_loader(self, part: Part, call: ast.Call) -> bool:
        """Whether `__init__` of a class that is a loader calls that of torch's."""
        function = part.tree.function(call)
        owner = part.tree.class_of(function) if function is not None else None
        return owner is not None and any(self._derives(*each) for each in self.program.lineage(owner.name))

    def _is_made(self, part: Part, call: ast.Call) -> bool:
        """Whether a program makes objects of the class whose constructor this call is in."""
        owner = part.tree.class_of(next(part.scopes(call)))
        assert owner is not None
        return any(
            user.name(each.func) == owner.name
            for user in self.program.holding(f"{owner.name}(")
            if not user.is_test
            for each in user.tree.all(ast.Call)
        )

    def _is_foreign(self, part: Part, call: ast.Call) -> bool:
        """Whether a loader is not seen to be torch's, so that it may have workers by default."""
        origin = part.origin(call.func).lstrip(".")
        return not (origin.startswith("torch") or self.program.is_class(part.name(call.func)))

    def _is_handed(self, part: Part, node: ast.Name | ast.Attribute) -> bool:
        """Whether the class is handed on as a value: `partial(DataLoader, num_workers=4)`."""
        up = part.tree.parents[node]
        if self.program.is_function(part.name(node)):
            return False
        if isinstance(up, ast.Call):
            return up.func is not node and last_name(up.func) not in _LOOKS
        return isinstance(up, (ast.Assign, ast.Dict, ast.IfExp, ast.Return, ast.keyword))

    def _workers(self, part: Part, call: ast.Call, foreign: bool) -> str:
        if any(isinstance(each, ast.Starred) for each in call.args):
            return SOME
        given = {each.arg: each.value for each in call.keywords}
        if None in given and "num_workers" not in given:
            # Of what is unpacked, the key stands where it is set.
            return NONE if not foreign and self.asking.is_zero_everywhere("num_workers") else SOME
        number = given.get("num_workers") or (call.args[_PLACE] if len(call.args) > _PLACE else None)
        if number is None:
            return SOME if foreign else NONE
        return NONE if self.asking.is_zero(part, number) else SHOWN if self.asking.is_shown(number) else SOME

    def _pins(self, call: ast.Call | None) -> bool:
        """Whether a loader is told to pin its batches, by a constant or an option that is on by default."""
        given = [each.value for each in call.keywords if each.arg == "pin_memory"] if call is not None else []
        return any(map(self.asking.is_shown, given))

    # -- Which Dataset a loader gets ------------------------------------------------------------------------------

    def _class_of(self, part: Part, node: ast.expr | None) -> str:
        """The class of what a loader is given, if that holds no other Dataset; else ANY."""
        if isinstance(node, ast.Name):
            scope = part.tree.function(node) or part.root
            bound = [
                part.tree.parents[each]
                for each in part.tree.below(scope, ast.Name)
                if each.id == node.id and isinstance(each.ctx, ast.Store)
            ]
            taken = isinstance(scope, FUNCTIONS) and any(each.arg == node.id for each in parameters(scope))
            values = [each.value if isinstance(each, ast.Assign) else None for each in bound]
            names = {ANY if value is None else self._made_by(part, value) for value in values}
            return names.pop() if len(names) == 1 and not taken else ANY
        return self._made_by(part, node) if node is not None else ANY

    def _made_by(self, part: Part, node: ast.expr) -> str:
        if not isinstance(node, ast.Call):
            return ANY
        name = part.name(node.func)
        if self.program.is_class(name):
            return ANY if self._holds_another(name) else name
        outside = part.origin(node.func).startswith("torch")
        return name if outside and name not in _WRAPPERS and name[:1].isupper() else ANY

    def _holds_another(self, name: str) -> bool:
        """Whether objects of a class of the project may hold a Dataset that they are given, and read its samples."""
        lineage = self.program.lineage(name)
        if any(last_name(base) in _WRAPPERS for _, node in lineage for base in node.bases):
            return True
        methods = [(part, each) for part, node in lineage for each in node.body if isinstance(each, FUNCTIONS)]
        given = {
            each.attr
            for part, method in methods
            if method.name == "__init__"
            for statement in part.tree.below(method, ast.Assign)
            if {arg.arg for arg in parameters(method)}.intersection(map(last_name, _displayed(statement.value)))
            for target in statement.targets
            for each in _displayed(target)
            if isinstance(each, ast.Attribute)
        }
        return any(_reads_samples(part, method, given) for part, method in methods)


def _displayed(node: ast.expr) -> list[ast.expr]:
    """The parts of `a, b`, or the expression itself."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _first(call: ast.Call) -> ast.expr | None:
    if call.args:
        return call.args[0]
    return next((each.value for each in call.keywords if each.arg == "dataset"), None)


def _speaks(call: ast.Call) -> bool:
    """Whether a call gives a number of workers of data, not of threads."""
    return any("workers" in (each.arg or "") and each.arg != "max_workers" for each in call.keywords)


def _reads_samples(part: Part, method: FunctionNode, given: set[str]) -> bool:
    """Whether a method takes elements of what the object was given, unless they are seen to be names of files."""
    for node in part.tree.below(method, ast.Attribute):
        if node.attr not in given or not isinstance(node.ctx, ast.Load):
            continue
        up = part.tree.parents[node]
        if isinstance(up, ast.Subscript) and up.value is node and not _is_name_of_file(part, method, up):
            return True
        if isinstance(up, (ast.For, ast.comprehension)) or (isinstance(up, ast.Attribute) and up.attr == "__getitem__"):
            return True
        if isinstance(up, ast.Call) and last_name(up.func) in ("iter", "next"):
            return True
    return False


def _is_name_of_file(part: Part, method: FunctionNode, element: ast.expr) -> bool:
    """Whether an element is opened as a file, itself, by way of a variable, or in another method."""
    up = part.tree.parents[element]
    if isinstance(up, ast.Assign) and isinstance(up.targets[0], ast.Name):
        return _are_opened(part, method, up.targets[0].id)
    if not isinstance(up, ast.Call):
        return False
    return last_name(up.func) in _TEXTS or _is_opened_by(part, up, element)


def _are_opened(part: Part, function: FunctionNode, name: str) -> bool:
    uses = [each for each in part.tree.below(function, ast.Name) if each.id == name and isinstance(each.ctx, ast.Load)]
    return any(
        not isinstance(part.tree.parents[each], ast.Assign) and _is_name_of_file(part, function, each) for each in uses
    )


def _is_opened_by(part: Part, call: ast.Call, given: ast.expr) -> bool:
    """Whether a method of the object opens what it is given."""
    function = part.tree.function(call)
    owner = part.tree.class_of(function) if function is not None else None
    if owner is None or not isinstance(call.func, ast.Attribute) or given not in call.args:
        return False
    place = call.args.index(given) + 1  # after the object itself
    found = [each for each in owner.body if isinstance(each, FUNCTIONS) and each.name == call.func.attr]
    called = [each for each in found if each is not function and len(each.args.args) > place]
    return any(_are_opened(part, each, each.args.args[place].arg) for each in called)
