"""Networks and their layers: how they are made, what they make of their input, and what their methods do."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flake8_torchleak.lifetime import evaluating
from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.frames import EVALUATING, IN_VAIN, Loop
from flake8_torchleak.lifetime.hooking import is_hooking
from flake8_torchleak.lifetime.identity import is_data
from flake8_torchleak.lifetime.inner import feed
from flake8_torchleak.lifetime.nodes import of_node
from flake8_torchleak.lifetime.passing import cut_of
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.shapes import has_layers, is_recurrent, turns_off, used_as_networks
from flake8_torchleak.lifetime.values import (
    BY_CALL,
    BY_NAME,
    PLAIN,
    Atom,
    Graph,
    Keywords,
    Kind,
    Obj,
    Value,
    all_vary,
    constant,
    join,
    number,
)
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model import hints
from flake8_torchleak.model.forwards import differentiates, makes_leaves
from flake8_torchleak.model.networks import WITH_PARAMETERS


class Networks(Part):
    """What is known of `nn.Module` and the classes derived from it."""

    def called(
        self, args: Sequence[Value], keywords: Keywords, node: ast.expr, atom: Atom, certain: bool = True
    ) -> Value:
        """What a network makes of its input: history of its own, while gradients are on.

        certain: whether more than the name of the method says that the network is run.
        """
        run = self.run
        inputs = [*args, *keywords.values()]
        run.seen.tensors_in(inputs)
        feed(run, inputs)
        why = self._why_step(atom)
        if why:
            given = [each for value in inputs for each, _ in run.within(value) if each.kind is not Kind.NUMBER]
            for loop in self._around(why):
                loop.unfinished = True  # once more: does it go on with what it made?
                loop.goes_on = loop.goes_on or any(ident == loop.ident for each in given for ident, _ in each.past)
                if not loop.step and any(loop.ident in each.vary and _is_new(why, each) for each in given):
                    run.take_for_step(loop, "" if loop.small else why)
                    loop.of_rows = all(_is_rows(each) for each in given if loop.ident in each.vary)
        if len(inputs) > 1 and is_recurrent(atom):
            run.rebinding.state(join(inputs[1:]), node, not isinstance(atom.made, Obj))
        # That a number is another one in each step makes no new data of it: it tells how far a decoder is.
        made = run.make.result(node, [value for value in inputs if any(a.kind is not Kind.NUMBER for a in value)])[0]
        born = run.tick()
        frozen = run.needing.is_frozen(atom)
        records = not (run.grad_off or (frozen and made.graph is Graph.NO))
        around = [each for each in (node, *(frame.call for frame in run.frames[1:])) if isinstance(each, ast.expr)]
        for each in around:
            run.seen.recording[each] = run.seen.recording.get(each, False) or records
        if records and not run.needing.may_be_frozen(atom):
            run.seen.of_trained.update(around)
        if not records:
            return (Atom(Kind.UNKNOWN, node, Graph.NO, vary=made.vary, born=born, since=born),)
        if frozen:  # the history of its input goes through it
            return (made.but(kind=Kind.UNKNOWN, made=None, born=born),)
        named = atom.site in run.seen.named and atom.site not in run.seen.networks
        if _differentiates(atom):
            run.seen.needing.update(
                call for call in (node, *(each.call for each in run.frames[1:])) if call is not None
            )
        elif certain and not run.needing.may_be_frozen(atom):
            evaluating.record(run, node, atom, named, assumed=False)
        if named:
            run.seen.callees[node] = atom.site
        cut = cut_of(atom)
        run.seen.cut[node] = run.seen.cut.get(node, cut) & cut  # of each network that it may be
        if isinstance(atom.made, Obj):
            run.seen.of_project.add(node)
        elif not run.seen.is_known(atom.site):
            run.seen.of_any_class.add(node)
        if any(each.past and each.graph is Graph.YES for value in inputs for each, _ in run.within(value)):
            run.seen.fed_back.add(node)
        unsure = named or run.needing.may_be_frozen(atom) or _is_abstract(atom)
        unsure = unsure or (_is_part(atom) and atom.site not in run.seen.networks)
        parts = made.parts | {node, (BY_NAME if unsure else BY_CALL, node)}
        return (Atom(Kind.UNKNOWN, node, Graph.YES, None, parts, made.past, made.via, made.vary, born, born),)

    def _why_step(self, atom: Atom) -> str:
        """Why loops that give a network something else in each iteration are steps; "" if that alone shows nothing."""
        run = self.run
        if run.grad_off:
            return ""
        if evaluating.since(run, atom) is not None:
            function = run.frame.function
            return "" if function is not None and function.node is not None and turns_off(function.node) else EVALUATING
        supposed = atom.site in run.seen.supposed or (
            atom.site in run.seen.named and atom.site not in run.seen.networks
        )
        return IN_VAIN if run.whole and not supposed else ""

    def _around(self, why: str) -> list[Loop]:
        """The loops around the outermost method of a network that is running: those inside are parts of one pass.

        A network in evaluation mode may evaluate itself in its other methods, but not in its forward pass.
        """
        run = self.run
        for frame in run.frames:
            function = frame.function
            owner = function.owner if function is not None else None
            if function is not None and isinstance(owner, ClassInfo) and owner.is_network:
                if why is IN_VAIN or getattr(function.node, "name", "") == "forward":
                    return run.loops[: frame.loops]
        return run.loops

    @staticmethod
    def has_parameters(made: Obj) -> bool:
        """Whether an object that is a network may have parameters of its own."""
        if isinstance(made.cls, ClassInfo) and not WITH_PARAMETERS.isdisjoint(made.cls.layers):
            return True
        order = made.cls.order if isinstance(made.cls, ClassInfo) else []
        used = frozenset[str]().union(*(used_as_networks(each.node) for each in order))
        for name, value in made.fields.items():
            for each in value:
                supposed = each.kind is Kind.UNKNOWN or (each.kind is Kind.NETWORK and isinstance(each.site, tuple))
                if (supposed and name in used) or (each.kind is Kind.NETWORK and not supposed):
                    return True
                if each.graph is Graph.LEAF:
                    return True
                inner = each.made
                if isinstance(inner, Obj) and isinstance(inner.cls, ClassInfo) and inner.cls.is_network:
                    return True
        if made.fields:
            return False
        return made.node is None or any(has_layers(each.node) for each in order)

    def layer(self, path: str, args: list[Value], node: ast.expr) -> Value:
        """What a name of `torch.nn` makes: a layer, a network, a parameter."""
        name = path.removeprefix("torch.nn.")
        if name in ("Parameter", "parameter.Parameter"):
            return self.run.make.tensor(node, Graph.LEAF)
        if path.startswith("torch.nn.utils"):
            return PLAIN if "clip" in name else self.run.make.result(node, args)
        kind = Kind.NETWORK if name in WITH_PARAMETERS or name.startswith("modules") else Kind.LAYER
        if name == "Sequential" and args and all(atom.kind is Kind.LAYER for value in args for atom in value):
            kind = Kind.LAYER
        made = name if name in table.RECURRENT else None
        new = Atom(kind, node, made=made, born=self.run.tick())
        if self.run.needing.table and name in _JOINING:
            self.run.needing.joined(new, args)
        return (new,)

    def method(
        self,
        atom: Atom,
        name: str,
        args: list[Value],
        keywords: Keywords,
        node: ast.expr,
        receiver: ast.expr | None = None,
    ) -> Value:
        """Call a method of a network: some only networks have, whatever it is called."""
        if isinstance(atom.made, str) and name in table.WITHOUT_HISTORY.get(atom.made, ()):
            self.run.seen.recording.setdefault(node, False)
            return self.run.make.tensor(node, Graph.NO, all_vary([*args, *keywords.values()]))
        if atom.site in self.run.seen.named and name in table.PROVE_NETWORK - table.OF_OPTIMIZERS:
            if name != "train" or not args:
                self.run.seen.networks.add(atom.site)
        if name in table.MODULE_SELF:
            self.set_mode(atom, name, args, keywords, node)
            if name == "apply" and args:
                self.run.calls.apply(args[0], [(self._any_of(atom),)], {}, node)
            return (atom,)
        if name in table.PARAMETERS:
            return self.parameters((atom,), name, node)
        if name in ("state_dict", "zero_grad", "load_state_dict", "buffers"):
            return PLAIN
        if name in ("modules", "children", "named_modules", "named_children"):
            return self._inner(atom, name, node)
        if is_hooking(name):
            return self.run.hooks.registered(atom, args, node)
        if name.startswith("register"):
            return PLAIN
        if name in table.FORWARDS or hints.computes_loss(name):
            by_name = name in _OF_OTHERS and _is_part(atom)
            made = self.called(args, keywords, node, atom, not by_name)
            return _by_name(made, node) if by_name else made
        if name in _OF_CONTAINERS and _is_part(atom) and atom.site not in self.run.seen.networks:
            if all(map(is_data, args)):  # an attribute that is no network, but holds what its owner remembers
                return self.run.foreign.method(atom.but(kind=Kind.UNKNOWN), name, args, keywords, node, receiver)
        if args and not self.run.grad_off and not self.run.needing.may_be_frozen(atom):
            evaluating.record(self.run, node, atom, named=False, assumed=True)
        return self.run.make.unknown(node)

    def _inner(self, atom: Atom, name: str, node: ast.expr) -> Value:
        """The networks in a network, one after the other."""
        run = self.run
        made = run.new("generator", node)
        inner: Value = (atom.but(site=(atom.site, "inner"), made=None),)
        if name.endswith("modules"):
            inner = (self._any_of(atom),)
        if name.startswith("named"):
            pair = run.new("tuple", node)
            pair.fields[0], pair.fields[1] = PLAIN, inner
            inner = run.of(pair)
        run.add(made, inner)
        return run.of(made)

    def _any_of(self, atom: Atom) -> Atom:
        """Each network in a network, itself among them: what all of them are told, it is told."""
        found = atom.but(site=(atom.site, table.EACH), made=None)
        self.run.needing.each_of(found, atom)
        return found

    def parameters(self, owner: Value, name: str, node: ast.expr) -> Value:
        """What `parameters` and `named_parameters` give."""
        run = self.run
        made = run.new("generator", node)
        leaf = run.needing.parameters(node, owner)
        if name == "named_parameters":
            pair = run.new("tuple", node)
            pair.fields[0], pair.fields[1] = PLAIN, leaf
            leaf = run.of(pair)
        run.add(made, leaf)
        return run.of(made)

    def _is_part(self, atom: Atom) -> bool:
        """Whether a method of a network puts another network in evaluation mode, which is a part of it."""
        function = self.run.frame.function
        if function is None or not isinstance(function.owner, ClassInfo) or not function.owner.is_network:
            return False
        return not any(each.site == atom.site and each.made is atom.made for each in function.receiver)

    def set_mode(self, atom: Atom, name: str, args: list[Value], keywords: Keywords, node: ast.expr) -> None:
        """What `eval`, `train` and `requires_grad_` change."""
        run = self.run
        args = [*args, *keywords.values()]
        trains: object = False
        if name == "eval":
            if atom.site in run.seen.named:
                run.seen.networks.add(atom.site)  # not by its name alone
            run.evaluating = run.evaluating or not self._is_part(atom)
        elif name == "train":
            trains = constant(args[0]) if args else True
            run.evaluating = trains is False
        if name in ("eval", "train"):
            run.evaluating_since = node if run.evaluating else None
            if trains is not False and isinstance(atom.site, ast.Call) and atom.site in run.seen.networks:
                run.modes.any_trains(node)  # `unwrapped(net).train()`
            run.modes.switch(atom, trains is not False, node, self._is_part(atom))
        elif name == "requires_grad_":
            run.needing.turn((atom,), args[0] if args else number(True))


_OF_CONTAINERS = frozenset({"append", "appendleft", "extend", "clear", "pop", "popleft"})
"""Methods of containers; those that a list of layers has, too, are given networks there."""
_OF_OTHERS = frozenset({"encode", "decode"})
"""Methods that tokenizers have, too."""


_INNER = ("module", "inner", table.EACH)


def _is_part(atom: Atom) -> bool:
    """Whether all that is known of a network is that it is an attribute of one."""
    return isinstance(atom.site, tuple) and isinstance(atom.site[1], str) and atom.site[1] not in _INNER


def _is_rows(atom: Atom) -> bool:
    """Whether something is a range of what there was before: a step in time, or a chunk: `data[:, step]`."""
    node = atom.site
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(each, ast.Slice) for each in parts)


def _differentiates(atom: Atom) -> bool:
    """Whether a network asks for gradients in its forward pass, which is not followed."""
    cls = atom.made.cls if isinstance(atom.made, Obj) else None
    forward = cls.method("forward") if isinstance(cls, ClassInfo) else None
    return forward is not None and _asks(forward[1])


@of_node
def _asks(forward: ast.AST) -> bool:
    return differentiates(forward) or makes_leaves(forward)


def _by_name(value: Value, node: ast.expr) -> Value:
    """What a call gives that only a name takes for one of a network."""
    call = (BY_CALL, node)
    return tuple(
        each.but(parts=each.parts - {call} | {(BY_NAME, node)}) if call in each.parts else each for each in value
    )


_JOINING = frozenset({"Sequential", "ModuleList", "ModuleDict"})
"""Networks that are made of what they are given."""


def _is_new(why: str, given: Atom) -> bool:
    """Whether what a network is given is data of its own, not a part of one tensor: that is one batch, or sequence."""
    return why is not IN_VAIN or given.kind is not Kind.TENSOR or not isinstance(given.site, (tuple, ast.Subscript))


def _is_abstract(atom: Atom) -> bool:
    """Whether a network's forward pass is left to classes that nobody can see here."""
    cls = atom.made.cls if isinstance(atom.made, Obj) else None
    if not isinstance(cls, ClassInfo) or cls.method("forward") is not None or cls.layers:
        return False
    return all(name.rpartition(".")[2] in ("Module", "LightningModule") for name in cls.foreign)
