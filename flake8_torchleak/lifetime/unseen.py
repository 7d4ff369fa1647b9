"""Calls of what nobody can see: what is handed over escapes, what comes back is unknown but for what its use tells."""

from __future__ import annotations

import ast
import sys

from flake8_torchleak.lifetime import gradmode
from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.frames import Function
from flake8_torchleak.lifetime.inner import feed, stepped
from flake8_torchleak.lifetime.metering import fed
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import (
    BY_LOSS,
    ELEMENTS,
    NONE,
    NOTHING,
    PLAIN,
    Atom,
    Graph,
    Keywords,
    Kind,
    Value,
    all_vary,
    constant,
    join,
    limited,
    objects,
)
from flake8_torchleak.model import hints
from flake8_torchleak.model.effects import TENSOR_METHODS
from flake8_torchleak.model.names import last_name

_STEPPING = frozenset({"on", "add_event_handler", "attach", "step", "register_step", "map", "apply"})
"""Methods that are handed functions which they call once per step."""
_MOVING = frozenset({"to", "cuda"})
"""Methods that give a tensor itself, with its history, elsewhere."""
_PUTTING = frozenset({"append", "appendleft", "extend"})


class Unseen(Part):
    """What is called without a definition, and methods of values of no known kind."""

    def call(self, args: list[Value], keywords: Keywords, node: ast.expr, callee: Atom | None = None) -> Value:
        """Call what nothing is known of: a parameter, an entry, what another unknown call gave."""
        name = last_name(node.func) if isinstance(node, ast.Call) else ""
        return self.named(name, args, keywords, node, callee)

    def named(
        self, path: str, args: list[Value], keywords: Keywords, node: ast.expr, callee: Atom | None = None
    ) -> Value:
        """Call what only a name speaks for, dotted or not: a loss, a model, a loader."""
        run = self.run
        values = [*args, *keywords.values()]
        name = path.rpartition(".")[2]
        carrying = any(atom.graph is Graph.YES for value in values for atom, _ in run.within(value))
        own = NOTHING
        if carrying and callee is not None and callee.site in run.seen.learning | run.seen.stepping:
            own = frozenset({(BY_LOSS, node)})
        optimizes = any(self._optimizes(atom) for value in values for atom in value)
        if carrying and (optimizes or (callee is not None and callee.site in run.seen.stepping)):
            run.seen.may_train.update(each.node for each in run.loops)
        if name != "to" and name not in TENSOR_METHODS:
            feed(run, values)
            if not carrying:  # what is given history gives what is made of that
                run.seen.drawn.add(node)
        may_repeat = name[:1].isupper() and not _is_of_python(path)  # `threading.Thread(target=work)` calls it once
        for value in values:
            why = "one call per step" if may_repeat or name in _STEPPING else ""
            run.functions.hand_over(value, node, why)
            if name not in table.READ_ONLY_METHODS:
                run.escape(value)
        if carrying and hints.computes_loss(name):
            run.seen.of_losses.add(node)
            run.seen.tensors_in(values)
            loss = run.make.result(node, values)
            return tuple(each.but(kind=Kind.UNKNOWN, made=table.NAMED, parts=each.parts | own) for each in loss)
        if any(run.learns(value) for value in values):
            run.seen.learning.add(node)
        if optimizes:
            run.seen.stepping.add(node)
        if hints.makes_model(name) or (hints.is_model(name) and name[:1].isupper()):
            run.seen.supposed.add(node)
            return (Atom(Kind.NETWORK, node, born=run.tick()),)
        if hints.is_loader(name) or name.endswith("Loader"):
            asked = [constant(value) for each, value in keywords.items() if "workers" in each]
            method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            alone = asked == [0] or not (asked or method)  # a function of another file that is not seen
            return (Atom(Kind.LOADER, node, made=table.ALONE if alone else None, born=run.tick()),)
        result = run.make.unknown(node, vary=all_vary(values))[0]
        held = [atom for value in values for atom, _ in run.within(value)]
        parts = limited(result.parts.union(*(atom.parts for atom in held)), node)
        via = limited(
            NOTHING.union(*(atom.via for atom in held), (made.node for value in values for made in objects(value)))
        )
        made = result.made
        if _is_outside(path):
            made = table.METRIC if path.partition(".")[0] in table.METRICS else table.OUTSIDE
        return (result.but(parts=parts, via=via, made=made),)  # perhaps it is made of them

    def _optimizes(self, atom: Atom) -> bool:
        """Whether something is an optimizer, or was made of a network by what nobody can see."""
        return atom.kind is Kind.OPTIMIZER or atom.site in self.run.seen.learning

    def method(
        self,
        atom: Atom,
        name: str,
        args: list[Value],
        keywords: Keywords,
        node: ast.expr,
        receiver: ast.expr | None,
    ) -> Value | None:
        """A method of what is not known to be a tensor; None if it is treated as one."""
        run = self.run
        if name in gradmode.ON_STACKS:
            entered = run.switches.on_stack(atom, name, args, node)
            if entered is not None:
                return entered
        if (
            name in table.PROVE_NETWORK
            and atom.graph in (Graph.NO, Graph.MAYBE)
            and not (name in ("eval", "train") and args)
        ):
            if name not in table.OF_OPTIMIZERS:
                run.seen.networks.add(atom.site)
            return run.networks.method(atom.but(kind=Kind.NETWORK, graph=Graph.NO), name, args, keywords, node)
        if atom.made == table.METER and name in ("update", "add") and args:
            run.keeper.stored((atom,), args[0], node, receiver, None, summed=True)
            return NONE
        if atom.made != table.METRIC:
            fed(run, atom, name, args, node)
        if name in _PUTTING and atom.made in (table.OUTSIDE, table.METRIC):
            return self.call(args, keywords, node)  # an average has an `append`, too
        if name in _PUTTING and args:
            value = args[0] if name != "extend" else run.elements.of(args[0], node)
            run.keeper.stored((atom,), value, node, receiver, None)
            return NONE
        if name in ("clear", "pop", "popleft") or (atom.made == table.METER and name == "reset"):
            run.empty(atom)
            return run.make.unknown(node)
        if name in ("values", "items", "keys"):
            return self._listing(atom, name, node)
        if name == "get" and args:
            key = constant(args[0])
            part = run.make.part(atom, key if isinstance(key, str) else ELEMENTS)
            return join([part, *args[1:2]])
        if name in table.READ_ONLY_METHODS and (name != "log" or args or keywords):  # without: a tensor's logarithm
            return NONE
        if name == "step":
            stepped(run)
        if name == "step" and not objects(args[0] if args else ()):
            for each in args:
                run.functions.hand_over(each, node, "")
            if not args or not any(isinstance(a.made, Function) for a in args[0]):
                return run.make.unknown(node)
            return NONE
        if atom.held is not None and (name == "to" or name in TENSOR_METHODS):
            return None  # a part of a batch
        if atom.graph is Graph.YES or name in table.ONLY_TENSORS or name in table.NO_HISTORY_METHODS:
            return None
        if name.endswith("_") and not name.endswith("__") and isinstance(receiver, ast.Call):
            # What is got from an object, changed in place and dropped is a part of that object.
            owner = receiver.func.value if isinstance(receiver.func, ast.Attribute) else None
            if isinstance(owner, (ast.Name, ast.Attribute)) and not run.grad_off:
                run.keeper.stored(run.evaluate(owner), join(args), node, receiver, None, summed=True)
        if name == "scale" and args:
            run.seen.operands[node] = args[0], ()
            if atom.made == table.SCALER:
                return run.make.result(node, args)
        effect = TENSOR_METHODS.get(name)
        if (effect is not None and effect.graph) or name in _MOVING:
            run.seen.inputs[node] = (atom.site,)  # if it is differentiated, that was a tensor with history
        return tuple(each.varying(atom.vary) for each in self.call(args, keywords, node))

    def _listing(self, atom: Atom, name: str, node: ast.expr) -> Value:
        run = self.run
        new = run.new("tuple", node)
        part = run.make.part(atom, ELEMENTS)
        if name == "keys":
            part = PLAIN
        elif name == "items":
            pair = run.new("tuple", node)
            run.put(pair, 0, PLAIN)
            run.put(pair, 1, part)
            part = run.of(pair)
        run.add(new, part)
        return run.of(new)


def _is_outside(path: str) -> bool:
    """Whether a dotted name is that of a class of a library: its objects keep what they are handed as they like."""
    head, _, name = path.rpartition(".")
    return bool(head) and name[:1].isupper() and not _is_of_python(path)


def _is_of_python(path: str) -> bool:
    """Whether a dotted name is one of the standard library."""
    return path.partition(".")[0] in sys.stdlib_module_names
