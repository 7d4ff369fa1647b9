"""What the forms of a fact do on the real torch: base programs are run in every form, and what they leave is asked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from tests.laws.program import Program
from tests.laws.spelling.forms import FORMS
from tests.laws.spelling.table import PROGRAMS

Names = dict[str, Any]


def wrong(folder: str) -> Iterator[tuple[str, str]]:
    """Facts and forms that mean something else than the canonical form. folder: where an array may be put."""
    import numpy
    import torch

    rows = [(torch.rand(4), torch.rand(2)) for _ in range(30)]
    path = f"{folder}/rows.npy"
    numpy.save(path, numpy.arange(6.0).reshape(3, 2))

    def leaf(value: Any) -> bool:
        return not getattr(value, "requires_grad", False)

    def net() -> Any:
        return torch.nn.Linear(4, 2)

    def kept(names: Names, function: str) -> Any:
        return names[function](rows, net())

    def quiet(names: Names) -> bool:
        measure = names["Measure"](net())
        measure.run(rows)
        return leaf(measure.total)

    def frozen(names: Names) -> bool:
        distill = names["Distill"](net())
        distill.train(rows)
        return all(map(leaf, distill.teacher.parameters()))

    def evaluating(names: Names) -> bool:
        measured = net()
        names["measure"](rows, measured)
        return not measured.training

    def own_array(names: Names) -> bool:
        data = names["Rows"](path)
        return not numpy.shares_memory(data.rows, data[1])

    def own_tensor(names: Names) -> bool:
        data = names["Rows"](path)
        return bool(data.rows.untyped_storage().data_ptr() != data[1].untyped_storage().data_ptr())

    asked: list[tuple[str, str, Callable[[Names], bool]]] = [
        ("gradients off", "loss added up with gradients off", lambda n: leaf(kept(n, "measure")[1])),
        ("gradients off", "outputs kept with gradients off", lambda n: all(map(leaf, kept(n, "measure")[0]))),
        ("gradients off", "gradients off in a method", quiet),
        ("gradients on", "gradients on again inside", lambda n: not leaf(kept(n, "attack")[0])),
        ("cut", "loss kept detached", lambda n: all(map(leaf, kept(n, "train")[0]))),
        ("a number", "loss added up as a number", lambda n: leaf(kept(n, "train")[1])),
        ("differentiated", "loss kept", lambda n: not leaf(kept(n, "train")[0][0])),
        ("an emptied list", "loss emptied each step", lambda n: kept(n, "train")[0] == []),
        ("a list cut short", "a list of the last ten losses", lambda n: len(kept(n, "train")[0]) <= 11),
        ("a bounded deque", "the last ten losses", lambda n: len(kept(n, "train")) <= 10),
        ("frozen", "features of a frozen teacher", frozen),
        ("a deep copy", "features of a frozen teacher", frozen),
        ("evaluation mode", "outputs kept with gradients on", evaluating),
        ("a copied array", "a copied row", own_array),
        ("a clone", "a cloned row", own_tensor),
    ]
    for fact, name, holds in asked:
        for form, law in FORMS[fact].items():
            program = Program(ast.parse(PROGRAMS[name]))
            if not law(program):
                continue
            names: Names = {}
            exec(compile(ast.unparse(program.tree), name, "exec", dont_inherit=True), names)
            torch.set_grad_enabled(True)  # whatever the form before left
            try:
                if not holds(names):
                    yield fact, form
            finally:
                torch.set_grad_enabled(True)
