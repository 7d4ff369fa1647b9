"""Calls into libraries: by the dotted name of a function, or by the kind of value that a method is called on."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime import gradmode
from flake8_torchleak.lifetime import libraries as table
from flake8_torchleak.lifetime.hooking import is_hooking
from flake8_torchleak.lifetime.inner import picked, stepped
from flake8_torchleak.lifetime.operations import retains
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import (
    ANYTHING,
    HANDLE,
    NONE,
    PLAIN,
    Atom,
    Graph,
    Keywords,
    Kind,
    Mark,
    Obj,
    Value,
    all_vary,
    constant,
    join,
    number,
)
from flake8_torchleak.lifetime.world import ClassInfo
from flake8_torchleak.model.names import last_name


class Foreign(Part):
    """What code does that is not the project's."""

    def function(self, path: str, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        """Call what a library defines under a dotted name."""
        run = self.run
        head, _, name = path.rpartition(".")
        if args and (path in table.OF_OBJECTS or (head in table.UNBOUND and name not in table.MADE_BY_CLASS)):
            receiver = node.args[0] if isinstance(node, ast.Call) and node.args else None
            method = table.OF_OBJECTS.get(path, name)
            return run.calls.method(args[0], method, args[1:], node, keywords, receiver)
        known = run.builtin.value(path, args, keywords, node)
        if known is not None:
            return known
        if path in gradmode.KNOWN:
            return run.switches.called(path, args, keywords, node)
        if path in table.PREPARING and args:
            return self._prepared([*args, *keywords.values()], node)
        if path.startswith("torch.optim.") or name in ("LBFGS", "Adam", "AdamW", "SGD"):
            if "lr_scheduler" in path:
                return PLAIN
            return (Atom(Kind.OPTIMIZER, node, born=run.tick()),)
        if path.startswith(("torch.nn.functional.", "torch.nn.utils.rnn.")):
            return run.operations.computed(name, args, keywords, node)
        if path.startswith("torch.nn."):
            return run.networks.layer(path, args, node)
        if name == "DataLoader":
            return self._loader(args, keywords, node)
        if path in ("torch.autograd.grad", "torch.autograd.backward"):
            if isinstance(node, ast.Call) and node.args and _is_scaled(node.args[0]):
                for each in run.seen.operands.get(node.args[0], ((), ()))[0]:
                    run.backward.differentiate((each,))
            told = args[2 if path.endswith("backward") else 3 :]
            given = args[0] if args else keywords.get("outputs", keywords.get("tensors", ()))
            run.backward.differentiate(given, retains(told, keywords))
            created = constant(keywords.get("create_graph", PLAIN)) is True
            return run.make.tensor(node, Graph.YES if created else Graph.NO)
        if path.startswith("torch.autograd.functional."):
            run.seen.tensors_in(args)
            created = constant(keywords.get("create_graph", PLAIN)) is True
            return run.make.tensor(node, Graph.YES if created else Graph.NO)
        if path == "torch.utils.checkpoint.checkpoint" and args:
            return run.calls.apply(args[0], args[1:], {}, node)
        if path in table.WITHOUT_HISTORY:
            return (Atom(Kind.NETWORK, node, made=path, born=run.tick()),)
        if table.EVALUATING.fullmatch(path):
            network = Atom(Kind.NETWORK, node, born=run.tick())
            run.modes.switch(network, False, node, is_part=True)
            return (network,)
        if path in ("torch.hub.load", "torch.jit.load"):
            return (Atom(Kind.NETWORK, node, born=run.tick()),)
        if path == "torch.load":
            return run.make.unknown(node, Graph.NO)
        if name == "GradScaler":
            return tuple(each.but(made=table.SCALER) for each in run.make.unknown(node))
        if path in table.SUMMING:
            return tuple(each.but(made=table.METER) for each in run.make.unknown(node, Graph.NO))
        if path.startswith(("torch.utils.", "torch.distributed", "torch.cuda", "torch.backends", "torch.save")):
            return PLAIN if not path.startswith("torch.utils.checkpoint") else run.make.result(node, args)
        if path.startswith("torchvision.utils."):
            return run.make.tensor(node, Graph.NO)  # all of them turn gradients off (torchvision 0.28)
        if path in table.CARRYING:
            return run.make.result(node, [*args, *keywords.values()])
        if path.startswith("torch.distributions.") and name[:1].isupper():
            made = run.operations.computed(name, args, keywords, node)
            return tuple(each.but(made=table.DISTRIBUTION) for each in made)
        if path.startswith("torch."):
            return run.operations.computed(name, args, keywords, node)
        if path.startswith(("numpy.", "statistics.", "json.")):
            return run.operations.of_numpy(name, args, keywords, node)
        if path in ("sys.exc_info", "sys.exception") and run.caught:
            return self._caught(path, node)
        if path.startswith(("math.", "random.", "os.", "time.", "pickle.", "logging.", "re.", "sys.")):
            return number(Mark.ARRAY if path == "random.sample" else Mark.ANY, vary=all_vary(args))
        if name.endswith(("Error", "Exception")):
            return PLAIN
        return run.unseen.named(path, args, keywords, node)

    def _caught(self, path: str, node: ast.expr) -> Value:
        """The exception that is being handled, or its class, itself and its frames."""
        error = self.run.caught[-1]
        if path == "sys.exception":
            return error
        made = self.run.new("tuple", node)
        made.fields.update({0: PLAIN, 1: error, 2: error})
        return self.run.of(made)

    def _prepared(self, values: list[Value], node: ast.expr) -> Value:
        """What is handed over to be made ready, given back: alone, or one after the other; options are not."""
        ready = [each for each in values if any(atom.kind is not Kind.NUMBER for atom in each)]
        if len(ready) < 2:
            return values[0]
        made = self.run.new("tuple", node)
        made.fields.update(enumerate(ready))
        return self.run.of(made)

    def _loader(self, args: list[Value], keywords: Keywords, node: ast.expr) -> Value:
        workers = args[5] if len(args) > 5 else keywords.get("num_workers")
        alone = "**" not in keywords and (workers is None or constant(workers) == 0)
        alone = alone or not self._gives_tensors(args[6] if len(args) > 6 else keywords.get("collate_fn", NONE), node)
        perhaps = any(each.kind is Kind.NUMBER and each.made == 0 for each in workers or ())  # `get("workers", 0)`
        if not alone and not perhaps and "**" not in keywords:
            self.run.seen.loaders.add(node)
        pins = constant(args[7] if len(args) > 7 else keywords.get("pin_memory", number(False)))
        if isinstance(pins, Mark) or pins:
            self.run.seen.pinned.add(node)
        return (Atom(Kind.LOADER, node, made=table.ALONE if alone else None, born=self.run.tick()),)

    def _gives_tensors(self, collate: Value, node: ast.expr) -> bool:
        """Whether what puts samples together is seen to make tensors: the default does."""
        names = {str(each.made).rpartition(".")[2] for each in collate} | {each.site for each in collate}
        if constant(collate) is None or "default_collate" in names:
            return True
        made = self.run.calls.apply(collate, [ANYTHING], {}, node)
        parts = [each for each, _ in self.run.within(made) if not isinstance(each.made, Obj)]
        return bool(parts) and all(each.kind is Kind.TENSOR for each in parts)

    def inherited(
        self, atom: Atom, made: Obj, name: str, args: list[Value], keywords: Keywords, node: ast.expr
    ) -> Value:
        """A method that an object of the project has from a library's class."""
        run = self.run
        cls = made.cls
        if isinstance(cls, ClassInfo) and cls.is_network:
            if name in ("forward", "__call__"):
                return run.networks.called(args, keywords, node, atom)
            if name in table.PARAMETERS:
                return run.networks.parameters((atom,), name, node)
            if name in table.MODULE_SELF:
                run.networks.set_mode(atom, name, args, keywords, node)
                return (atom,)
            if is_hooking(name):
                return run.hooks.registered(atom, args, node)
            if name in ("register_buffer", "register_parameter") and len(args) > 1 and args[0]:
                run.attributes.put((atom,), str(constant(args[0])), args[1])
                return NONE
        if name in table.DIFFERENTIATING:
            run.backward.differentiate(args[0] if args else join(list(made.fields.values())))
            return NONE
        if name in table.READ_ONLY_METHODS:
            return NONE
        if isinstance(cls, ClassInfo) and cls.is_record and name == "_replace":
            return (atom,)
        run.lend((atom,))
        for each in (*args, *keywords.values()):
            run.escape(each)
            run.functions.hand_over(each, node, "")
        return run.make.unknown(node)

    def method(
        self,
        atom: Atom,
        name: str,
        args: list[Value],
        keywords: Keywords,
        node: ast.expr,
        receiver: ast.expr | None,
    ) -> Value:
        """Call a method of a tensor, a network, a loader, or of what nothing is known of."""
        run = self.run
        kind = atom.kind
        if kind is Kind.NUMBER:
            return number(vary=atom.vary | all_vary(args))
        if name == "zero_grad" or (name == "step" and not args and kind is Kind.OPTIMIZER):
            picked(run, atom)
        if atom.made == HANDLE:
            return run.hooks.removed(atom)
        if name in table.DIFFERENTIATING:
            if receiver is not None and _is_scaled(receiver):
                for each in run.seen.operands.get(receiver, ((), ()))[0]:
                    run.operations.backward(each, name, args, keywords)
            return run.operations.backward(atom, name, args, keywords)
        if kind is Kind.NETWORK:
            return run.networks.method(atom, name, args, keywords, node, receiver)
        if kind is Kind.OPTIMIZER:
            return self._of_optimizer(name, [*args, *keywords.values()], node)
        if kind is Kind.LAYER:
            return (atom,) if name in table.MODULE_SELF else PLAIN
        if kind is Kind.LOADER:
            return (atom,) if "iter" in name else run.make.part(atom.but(kind=Kind.UNKNOWN), name)
        return run.operations.method(atom, name, args, keywords, node, receiver)

    def _of_optimizer(self, name: str, args: list[Value], node: ast.expr) -> Value:
        if name != "step":
            return NONE
        stepped(self.run)
        return join([self.run.functions.hand_over(each, node, "") for each in args]) or NONE  # the closure's loss


def _is_scaled(node: ast.expr) -> bool:
    """`scaler.scale(loss)`, which is differentiated: no other object is known to be asked that way."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "scale":
        return False
    return len(node.args) == 1 and not node.keywords
