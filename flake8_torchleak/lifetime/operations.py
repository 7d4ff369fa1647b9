"""Operations on tensors: functions of torch and numpy, methods, in place and not, and what they share memory with."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import (
    NO_LOOPS,
    NONE,
    PLAIN,
    Atom,
    Graph,
    Keywords,
    Kind,
    Mark,
    Value,
    all_vary,
    constant,
    join,
    number,
    objects,
    varies,
)
from flake8_torchleak.model.effects import ARRAY_METHODS, NUMPY_FUNCTIONS, TENSOR_METHODS, Sharing, shares

_VIEWS = frozenset({"as_tensor", "asarray", "squeeze", "unsqueeze", "flatten", "transpose", "permute"})
"""Functions that give a view of a tensor."""
_OVERWRITES = frozenset({"zero_", "fill_", "copy_", "normal_", "uniform_", "bernoulli_", "random_"})
"""Methods after which nothing is left of what a tensor held."""


class Operations(Part):
    """What operations make of tensors."""

    def computed(self, name: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """A function of torch."""
        run = self.run
        run.seen.tensors_in(args)
        if name in table.NO_HISTORY_FUNCTIONS:
            if constant(keywords.get("requires_grad", PLAIN)) is True:
                return run.make.tensor(node, Graph.LEAF)
            drawn = frozenset(loop.ident for loop in run.loops) if name in table.RANDOM else NO_LOOPS
            plain = run.make.tensor(node, Graph.NO, all_vary(args) | drawn)
            if name in table.OF_WHOLE or _is_whole([keywords.get("dtype", ())]):
                return _as_whole(plain)
            return run.make.view_of(args[0][0], plain) if name == "from_numpy" and args else plain
        if name == "where" and len(args) == 1 and not keywords:
            return _as_whole(run.make.tensor(node, Graph.NO, all_vary(args)))  # as `nonzero`
        if args and _gives_indices(name, args[1:], keywords):
            return self._with_indices(args[0][0], args[1:], node)
        copied = name == "asarray" and constant(keywords.get("copy", NONE)) is True
        if name in _VIEWS and args and not copied:
            return _as_tensor(run.make.view(node, args[0][0], *args[1:]))
        if name in table.OF_SEQUENCES:
            return self._of_sequences(name, args, keywords, node)
        return _as_tensor(run.make.result(node, self._with_history(name, args, keywords)))

    def of_numpy(self, name: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """A function of numpy: it refuses what carries history, so what it is given does not."""
        for value in args[:1]:
            self.run.seen.plain.update(made.node for made in objects(value))
        effect = NUMPY_FUNCTIONS.get(name)
        many = name in table.MANY_NUMBERS or "size" in keywords or len(args) >= table.WITH_SIZE.get(name, len(args) + 1)
        result = number(Mark.ARRAY if many else Mark.ANY, vary=all_vary(args))
        copied = constant(keywords.get("copy", NONE)) is True
        shared = effect is not None and not copied and (shares(effect) or name in ("asarray", "asanyarray"))
        if shared and args and args[0]:
            made = self.run.make.view_of(args[0][0], self.run.make.tensor(node, Graph.NO))
            return tuple(each.but(made=table.ARRAY) for each in made) if args[0][0].held is not None else result
        return result

    def method(
        self,
        atom: Atom,
        name: str,
        args: list[Value],
        keywords: Keywords,
        node: ast.expr,
        receiver: ast.expr | None,
    ) -> Value:
        """Call a method of a tensor, an array, or what may be one."""
        run = self.run
        if atom.kind is Kind.UNKNOWN:
            found = run.unseen.method(atom, name, args, keywords, node, receiver)
            if found is not None:
                return found
        if atom.made == table.ARRAY:
            known = ARRAY_METHODS.get(name)
            plain = run.make.tensor(node, Graph.NO, atom.vary)
            return run.make.view_of(atom, plain) if known is not None and shares(known) else plain
        if atom.made == table.DISTRIBUTION and name == "sample":
            return run.make.tensor(node, Graph.NO, atom.vary)
        if name == "numpy":
            run.seen.plain |= atom.via  # it raises for what carries history
            if atom.graph is Graph.YES:
                run.seen.refused.add(atom.site)
            made = run.make.view_of(atom, run.make.tensor(node, Graph.NO, atom.vary))
            return tuple(each.but(made=table.ARRAY) for each in made)
        run.seen.tensors_in([(atom,)])
        if _gives_indices(name, args, keywords):
            return self._with_indices(atom, [*args, *keywords.values()], node)
        others = [*args, *keywords.values()]
        keeps = name == "type" and others and not _is_whole(others)
        if (name in table.NO_HISTORY_METHODS and not keeps) or (name == "to" and _is_whole(others)):
            plain = run.make.tensor(node, Graph.NO, atom.vary)
            if atom.made == table.INTEGERS or _is_whole(others):
                plain = _as_whole(plain)
            return run.make.view_of(atom, plain) if _shares(name, args, keywords) else plain
        if (
            atom.made == table.INTEGERS
            and name in table.SAME_NUMBERS
            and "dtype" not in keywords
            and not _is_type(args)
        ):
            return _as_whole(run.make.result(node, [(atom,)]))
        if name.endswith("_") and not name.endswith("__") and receiver is not None:
            if atom.kind is Kind.TENSOR or name in ("detach_", "requires_grad_"):
                return self.in_place((atom,), name, args, keywords, node, receiver)
        if name in table.AS_ANOTHER:
            others = []
        if (effect := TENSOR_METHODS.get(name)) is not None and effect.sharing in (Sharing.VIEW, Sharing.STRIDED):
            return _as_tensor(run.make.view(node, atom, *others))
        row = "Tensor.where" if name == "where" else name
        joined: list[Value] = [(atom,)]
        if others:
            joined = self._with_history(row, [(atom,), *args], keywords)
        result = _as_tensor(run.make.result(node, joined))
        return run.make.view_of(atom, result) if _shares(name, args, keywords) else result

    def _with_indices(self, atom: Atom, args: list[Value], node: ast.expr) -> Value:
        """`values, indices = scores.max(dim=1)`."""
        run = self.run
        pair = run.new("tuple", node)
        values = run.make.result((node, "values"), [(atom,), *args])
        indices = run.make.tensor((node, "indices"), Graph.NO, atom.vary)
        pair.fields.update({0: values, 1: indices, "values": values, "indices": indices})
        return run.of(pair)

    def _of_sequences(self, name: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """What packs sequences, `packed.data` with their history, or fills them up: `padded, lengths = ...`."""
        run = self.run
        fields = table.OF_SEQUENCES[name]
        made = run.new("tuple", node)
        for at, field in enumerate(fields):
            site = (node, field)
            if at:
                value = _as_whole(run.make.tensor(site, Graph.NO, all_vary(args)))
            else:
                value = _as_tensor(run.make.result(site, self._with_history(name, args, keywords)))
            made.fields.update({at: value, field: value})
        return run.of(made)

    def _with_history(self, name: str, args: list[Value], keywords: Keywords) -> list[Value]:
        """What may be differentiated of what an operation is given: all but whole numbers."""
        whole = table.WHOLE_ARGUMENTS.get(name)
        if whole is None:
            return [*args, *keywords.values()]
        given: list[tuple[int | str, Value]] = [*enumerate(args), *keywords.items()]
        numbers = {*whole, *whole.values()}
        for at, value in given:
            if at in numbers:
                self.run.seen.whole_in(value)
        return [value for at, value in given if at not in numbers]

    def in_place(
        self, base: Value, name: str, args: list[Value], keywords: Keywords, node: ast.expr, receiver: ast.expr
    ) -> Value:
        """A method that changes a tensor: `total.add_(loss)`, `x.detach_()`."""
        run = self.run
        if name == "requires_grad_":
            run.needing.told(base, join([*args[:1], *keywords.values()]) or number(True))
        elif name == "detach_":
            run.needing.told(base, number(False))  # measured: a parameter needs no gradient then
        if name in ("detach_", "requires_grad_"):
            off = name == "detach_" or (args and constant(args[0]) is False)
            graph = Graph.NO if off else max(Graph.LEAF, *(atom.graph for atom in base))
            value = run.make.tensor(node, graph, varies(base))  # the same memory, another element of the same loops
            value = run.make.view_of(next((atom for atom in base if atom.held is not None), base[0]), value)
            self._replace_for_callers(base, value)
        elif name in _OVERWRITES:
            value = run.make.result(node, [*args, *keywords.values()])
            value = value if value[0].kind is Kind.TENSOR else run.make.tensor(node, Graph.NO)
        else:
            if not run.grad_off:
                run.keeper.stored(base, join(args), node, receiver, None, summed=True)
            born = min(atom.born for atom in base)  # it is still the same tensor
            made = run.make.result(node, [base, *args, *keywords.values()])
            value = tuple(each.but(born=born) for each in made)
        self._replace(receiver, value, node)
        return value

    def _replace(self, receiver: ast.expr, value: Value, node: ast.expr) -> None:
        """A tensor that is changed in place: whoever holds it holds what it is now."""
        if isinstance(receiver, (ast.Name, ast.Attribute, ast.Subscript)):
            self.run.assignments.assign(receiver, value, node)

    def _replace_for_callers(self, base: Value, value: Value) -> None:
        """The same, of the variables of the functions around that hold it: they handed it to this one."""
        run = self.run
        changed = {(atom.site, atom.born) for atom in base if atom.kind is not Kind.NUMBER}
        for frame in run.frames[:-1]:
            fields = frame.variables.fields
            for name, held in list(fields.items()):
                if any((atom.site, atom.born) in changed for atom in held):
                    kept = tuple(atom for atom in held if (atom.site, atom.born) not in changed)
                    run.journal.put(fields, name, join([kept, value]) if kept else value)

    def backward(self, atom: Atom, name: str, args: list[Value], keywords: Keywords) -> Value:
        """`loss.backward()`, or a helper that is handed the loss."""
        retained = retains(args[1:], keywords)
        handed = any(each.kind is not Kind.NUMBER for value in args for each in value)
        if name == "manual_backward" or (handed and atom.kind is not Kind.TENSOR and atom.graph is not Graph.YES):
            self.run.backward.differentiate(args[0] if args else (), retained)
            for each in args[1:]:  # which of them it differentiates is its own affair: a stage of a pipeline
                self.run.backward.read(each)
            return NONE
        self.run.backward.differentiate((atom,), retained)
        return NONE


def retains(args: list[Value], keywords: Keywords) -> bool | None:
    """Whether what is differentiated keeps its graph, as the two arguments say; None if they may say so."""
    said = [*args[:2], *(keywords[each] for each in ("retain_graph", "create_graph") if each in keywords)]
    known = [constant(each) for each in said]
    if True in known:
        return True
    return None if any(isinstance(each, Mark) for each in known) else False


def _as_tensor(value: Value) -> Value:
    """What a function of torch gives is a tensor, even if nothing is known of what it was given."""
    return tuple(each.but(kind=Kind.TENSOR) if each.kind is Kind.NUMBER else each for each in value)


def _gives_indices(name: str, args: list[Value], keywords: Keywords) -> bool:
    """Whether an operation gives indices beside its values: some do if they are told a dimension, a number."""
    if name not in table.WITH_INDICES:
        return False
    if name in table.ALWAYS_WITH_INDICES or "dim" in keywords:
        return True
    return bool(args) and all(atom.kind is Kind.NUMBER for atom in args[0])


def _is_whole(args: list[Value]) -> bool:
    """Whether a type of whole numbers, which carry no history, is among what a cast is told."""
    return any(isinstance(atom.made, str) and atom.made in table.WHOLE for value in args for atom in value)


def _is_type(args: list[Value]) -> bool:
    """Whether a type is among what a method is told: `x.to(torch.float32)`."""
    return any(atom.kind in (Kind.LIBRARY, Kind.TENSOR) for value in args[:1] for atom in value)


def _as_whole(value: Value) -> Value:
    return tuple(each.but(made=table.INTEGERS) for each in value)


def _shares(name: str, args: list[Value], keywords: Keywords) -> bool:
    """Whether a method gives a view of a tensor in the CPU's memory."""
    if name == "to":
        return bool(args) and constant(args[0]) == "cpu" and constant(keywords.get("copy", NONE)) is not True
    effect = TENSOR_METHODS.get(name)
    return effect is not None and shares(effect)
