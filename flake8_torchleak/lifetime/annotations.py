"""What annotations say: networks, loaders, tensors, numbers, objects. Of parameters where no caller is seen, of results
where nobody sees what is called."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import PLAIN, Atom, Graph, Kind, Value
from flake8_torchleak.lifetime.world import ClassInfo, Place
from flake8_torchleak.model import declared, hints
from flake8_torchleak.model.names import dotted
from flake8_torchleak.model.networks import WITH_PARAMETERS
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.model.values import Kind as Declared

_PLAIN = frozenset({Declared.NUMBER, Declared.STRING, Declared.PATH})


class Annotations(Part):
    """Reads annotations of parameters and results."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._known: dict[ast.arg, Value] = {}

    def value(self, node: ast.arg, place: Place) -> Value:
        """What an annotation says of a parameter; () if it says nothing that matters here."""
        if node.annotation is None:
            return ()
        if node not in self._known:
            self._known[node] = ()  # of a class whose constructor has a parameter of the same class
            self._known[node] = self._said(node, node.arg, node.annotation, place)
        return self._known[node]

    def of_result(self, function: ast.AST, call: ast.AST, place: Place) -> Value:
        """What a function is said to give, in this call; () where that tells nothing of its history, as of tensors."""
        said = function.returns if isinstance(function, FUNCTIONS) else None
        found = self._said(call, "", said, place) if said is not None else ()
        return () if any(each.kind is Kind.TENSOR for each in found) else found

    def _said(self, node: ast.AST, name: str, annotation: ast.expr, place: Place) -> Value:
        cls = declared.named_class(annotation)
        parts = dotted(cls) if cls is not None else None
        for atom in self.run.names.named(parts, place) if parts else ():
            if isinstance(atom.made, ClassInfo):
                return self._object(node, atom.made)
            if atom.kind is Kind.LIBRARY and isinstance(atom.made, str) and atom.made.startswith("torch."):
                found = self._of_torch(node, atom.made)
                if found:
                    return found
        return self._of_kind(node, name, declared.annotated(annotation).kind)

    def _object(self, node: ast.AST, cls: ClassInfo) -> Value:
        if cls.is_network and not cls.place.is_own:
            return self._network(node)
        with self.run.functions.before_all(cls.place):
            return self.run.instances.unseen(cls, node)

    def _of_torch(self, node: ast.AST, path: str) -> Value:
        if path.startswith("torch.optim.") and "lr_scheduler" not in path:
            return (Atom(Kind.OPTIMIZER, node),)
        name = path.removeprefix("torch.nn.")
        if name in ("Parameter", "parameter.Parameter"):
            return (Atom(Kind.TENSOR, node, Graph.LEAF),)
        if path.startswith("torch.nn.") and name in WITH_PARAMETERS:
            return self._network(node)
        return ()

    def _of_kind(self, node: ast.AST, name: str, kind: Declared) -> Value:
        if kind in _PLAIN:
            return PLAIN
        if kind is Declared.LOADER:
            return (Atom(Kind.LOADER, node),)
        if kind is Declared.MODULE and not hints.computes_loss(name):
            return self._network(node)
        if kind is Declared.TENSOR:
            return (Atom(Kind.TENSOR, node, Graph.MAYBE, parts=frozenset({node})),)
        if kind is Declared.ARRAY:
            return (Atom(Kind.UNKNOWN, node),)
        return ()

    def _network(self, node: ast.AST) -> Value:
        self.run.seen.networks.add(node)
        return (Atom(Kind.NETWORK, node),)
