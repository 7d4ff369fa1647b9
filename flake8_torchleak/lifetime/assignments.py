"""What assignments do: names, attributes and entries are bound, and containers may keep what they are given."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime import refusing
from flake8_torchleak.lifetime.journal import Flow
from flake8_torchleak.lifetime.libraries import INTEGERS
from flake8_torchleak.lifetime.nodes import walk
from flake8_torchleak.lifetime.overloading import operated
from flake8_torchleak.lifetime.rewriting import is_every_entry
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import ELEMENTS, Kind, Mark, Value, constant, number, objects, varies


class Assignments(Part):
    """Binds targets."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._read_by: dict[ast.expr, set[str]] = {}
        """What conditions read, as text."""

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        """Bind a target of any form; what a container is given may be kept there."""
        run = self.run
        if isinstance(target, ast.Name):
            old = run.frame.variables.fields.get(target.id) or run.names.value(target)
            run.rebinding.slot(old, value, node, target)
            if not run.rebinding.regrown(old, value, node, target):
                run.replace(old, value)
            run.names.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, node)
        elif isinstance(target, ast.Attribute):
            base = run.evaluate(target.value)
            if target.attr == "requires_grad":
                run.needing.told(base, value)
            run.needing.replaced(base, target.attr, value)
            old = run.attributes.value(base, target.attr, target)
            run.rebinding.slot(old, value, node, target)
            goes_on = run.rebinding.regrown(old, value, node, target)
            if not self._persist(base, target, value) and not goes_on:
                run.replace(old, value)
            run.attributes.put(base, target.attr, value)
        else:
            assert isinstance(target, ast.Subscript)
            self._set_entry(target, value, node)

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, node: ast.AST) -> None:
        run = self.run
        if isinstance(node, ast.Assign):
            refusing.note_parts(run, value, target, node.value)
        parts = run.elements.unpacked(value, len(target.elts), target)
        starred = False
        for each, part in zip(target.elts, parts, strict=True):
            if isinstance(each, ast.Starred):
                starred = True
                made = run.new("list", each)
                run.add(made, run.elements.of(value, each))
                self.assign(each.value, run.of(made), node)
            else:
                self.assign(each, run.elements.of(value, each) if starred else part, node)

    def _set_entry(self, target: ast.Subscript, value: Value, node: ast.AST) -> None:
        run = self.run
        base = run.evaluate(target.value)
        index = run.evaluate(target.slice)
        run.needing.replaced(base, constant(index), value)
        if isinstance(target.slice, ast.Slice) and isinstance(target.slice.lower, ast.Call):
            added = run.elements.of(value, target)  # x[len(x):] = [v]
            run.keeper.stored(base, added, node, target.value, None)
            for made in objects(base):
                run.add(made, added)
            return
        in_tensor = any(atom.kind is Kind.TENSOR for atom in base)
        if isinstance(target.slice, ast.Slice) and not in_tensor:
            for atom in base:
                run.empty(atom)
            for made in objects(base):
                run.put(made, ELEMENTS, ())
            for made in objects(base):
                run.elements.update(made, value)
            return
        held = self._held(base, constant(index), target)
        run.rebinding.slot(held, value, node, target)
        run.rebinding.regrown(held, value, node, target)
        self._persist(base, target, value)
        if in_tensor and (run.grad_off or all(atom.made == INTEGERS for atom in base)):
            return  # on torch 2.13 what is copied there has no history
        if in_tensor or varies(index) or constant(index) is Mark.ANY:
            vary = None if in_tensor else varies(index)  # whatever part of a tensor is set, its history grows
            adds = in_tensor and isinstance(node, ast.AugAssign)
            new = run.seen.operands.get(node, ((), value))[1] if adds else value  # what was there is there already
            copied = tuple(atom.but(held=None) for atom in new) if in_tensor else value
            run.keeper.stored(base, copied, node, target if adds else target.value, vary, summed=adds)
        if in_tensor and isinstance(target.value, (ast.Name, ast.Attribute)):
            born = min(atom.born for atom in base)  # it is still the same tensor
            changed = run.make.result(target, [base, value])
            self.assign(target.value, tuple(each.but(born=born) for each in changed), node)
            return
        if run.loops and is_every_entry(run.loops[-1].node, target):
            run.elements.put_every(base, value)
        else:
            run.elements.put(base, index, value)

    def _held(self, base: Value, index: object, target: ast.Subscript) -> Value:
        """What an entry was before, of containers, and of what nothing more is known of but that it has entries."""
        run = self.run
        found = [run.elements.entry(made, index, target) for made in objects(base) if made.kind in ("dict", "list")]
        if isinstance(index, (str, int)):
            found += [run.make.part(atom, index) for atom in base if atom.kind is Kind.UNKNOWN]
        return tuple(each for value in found for each in value)

    def _persist(self, base: Value, target: ast.Attribute | ast.Subscript, value: Value) -> bool:
        """A container made where there was none yet stays: `if key not in d: d[key] = []`."""
        made = [each for each in objects(value) if not each.fields and not each.bounded]
        if not made or not self.run.tests:
            return False
        sought = target.value if isinstance(target, ast.Subscript) else target
        if any(self._reads(test, ast.unparse(sought)) for test in self.run.tests):
            born = min((holder.born for holder in objects(base)), default=0)
            for one in made:
                one.born = min(one.born, born)
                self.run.lasting.add(id(one))
            return True
        return False

    def _reads(self, test: ast.expr, shown: str) -> bool:
        """Whether a condition reads a variable, an attribute, an entry or what a call gives."""
        known = self._read_by.get(test)
        if known is None:
            known = self._read_by[test] = {ast.unparse(each) for each in walk(test) if isinstance(each, _PLACES)}
        return shown in known

    def augmented(self, node: ast.AugAssign) -> Flow:
        """`target += value`: lists grow, all else is bound anew."""
        run = self.run
        target = node.target
        old = run.evaluate(target)
        added = run.evaluate(node.value)
        lists = [made for made in objects(old) if made.kind in ("list", "deque", "set", "dict")]
        if lists and isinstance(node.op, (ast.Add, ast.BitOr)):
            run.keeper.stored(old, run.elements.of(added, node.value), node, target, None)
            for made in lists:
                run.elements.update(made, added)
            return Flow.NEXT
        if lists and constant(added) == 0:  # `kept *= 0`
            for made in lists:
                run.containers.method(run.of(made), made, "clear", [], {}, node.value)
            return Flow.NEXT
        value = operated(run, node, old, added)
        if len(value) == 1 and value[0].kind is Kind.NUMBER:
            start = min((atom.born for atom in old), default=0)
            vary = frozenset(loop.ident for loop in run.loops if start < loop.start)
            value = number(vary=value[0].vary | vary)
        self.assign(target, value, node)
        return Flow.NEXT


_PLACES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
