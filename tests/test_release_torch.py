"""The tables that decide what is spent and what is harmless, checked with the installed torch."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from flake8_torchleak.model.effects import TENSOR_METHODS  # noqa: E402
from flake8_torchleak.model.release.harmless import ENDING, HISTORY, PLAIN_ATTRIBUTES, READ_ONLY  # noqa: E402
from flake8_torchleak.model.release.saving import LINEAR, SAVING_OPERATORS  # noqa: E402
from tests.model import module  # noqa: E402

T = Any
"""A tensor."""
Operation = Callable[[T], T]


def raises_twice(operation: Operation, *shape: int) -> bool:
    """Whether a second backward through an operation on a leaf raises, as the first one does not."""
    leaf = torch.rand(*shape, dtype=torch.float64, requires_grad=True) + 0.5
    leaf = leaf.detach().requires_grad_()
    out = operation(leaf)
    while not isinstance(out, torch.Tensor):
        out = out[0]
    assert out.requires_grad
    out = out.real if out.is_complex() else out
    gradient = torch.ones_like(out)
    out.backward(gradient)
    try:
        out.backward(gradient)
    except RuntimeError as error:
        assert "second time" in str(error)
        return True
    return False


OPERATORS: dict[type[ast.operator], Operation] = {
    ast.Mult: lambda leaf: leaf * 2,
    ast.Div: lambda leaf: leaf / 2,
    ast.Pow: lambda leaf: leaf**2,
    ast.MatMult: lambda leaf: leaf @ torch.ones(4, dtype=torch.float64),
}


@pytest.mark.parametrize("operator", SAVING_OPERATORS)
def test_operators_that_save_can_be_differentiated_once(operator: type[ast.operator]) -> None:
    assert raises_twice(OPERATORS[operator], 4, 4)


@pytest.mark.parametrize(
    "operation", [lambda p: p + p, lambda p: p - 1, lambda p: -p, lambda p: p % 2, lambda p: p[1:]]
)
def test_other_operators_can_be_differentiated_again(operation: Operation) -> None:
    assert not raises_twice(operation, 4, 4)


LAST = {"squeeze": (4, 1), "t": (4, 4), "trace": (4, 4), "H": (4, 4)}
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "add": (1,), "add_": (1,), "as_strided": ((2, 2), (1, 1)), "broadcast_to": ((4, 4),), "chunk": (2,), "cumsum": (0,),
    "expand": (4, 4), "expand_copy": ((4, 4),), "fill": (1,), "flip": (0,), "movedim": (0, 1), "moveaxis": (0, 1),
    "narrow": (0, 0, 2), "narrow_copy": (0, 0, 2), "permute": (1, 0), "repeat": (2, 1), "repeat_interleave": (2,),
    "reshape": (2, 8), "roll": (1,), "rot90": (), "rsub": (1,), "select": (0, 0), "split": (2,), "sub": (1,),
    "split_with_sizes": ((2, 2),), "subtract": (1,), "sum_to_size": (4, 4), "swapaxes": (0, 1), "swapdims": (0, 1),
    "tensor_split": (2,), "tile": (2,), "transpose": (0, 1), "unflatten": (0, (2, 2)), "unfold": (0, 2, 1),
    "view": (-1,), "unsqueeze": (0,), "hsplit": (2,), "vsplit": (2,),
    "unsafe_chunk": (2,), "unsafe_split": (2,), "diag_embed": (),
}  # fmt: skip
"""What methods of tensors need besides the tensor."""


def linear_methods() -> list[str]:
    return sorted(name for name in LINEAR if callable(getattr(torch.Tensor, name, None)))


@pytest.fixture(autouse=True)
def warnings_of_torch() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def tried(name: str) -> bool | None:
    """Whether a method raises the second time; None if it cannot be called so, or gives no history."""

    def call(leaf: T) -> T:
        given = leaf + 0 if name.endswith("_") else leaf
        result: T = getattr(given, name)(*ARGUMENTS.get(name, ()))
        return result

    try:
        return raises_twice(call, 4, 4)
    except (AssertionError, RuntimeError, TypeError, ValueError, AttributeError, IndexError):
        return None


def test_what_stands_as_linear_can_be_differentiated_again() -> None:
    found = {name: tried(name) for name in linear_methods()}
    assert [name for name, raising in found.items() if raising] == []
    assert sum(raising is False for raising in found.values()) >= 70


def test_no_method_of_tensors_is_taken_for_saving_that_can_be_differentiated_again() -> None:
    again = [name for name in sorted({*TENSOR_METHODS, *ARGUMENTS}) if tried(name) is False]
    assert len(again) > 40
    model = module("\n".join(f"{name} = p.{name}()" for name in again if name.isidentifier()))
    calls = {call.func.attr: call for call in model.tree.all(ast.Call) if isinstance(call.func, ast.Attribute)}
    wrong = [name for name in again if model.release.saving.saves(calls[name])]
    assert wrong == []


def test_what_ends_the_history_has_none() -> None:
    for name in ENDING:
        leaf = torch.rand(1, requires_grad=True)
        given = leaf.detach() if name == "numpy" else leaf * 2
        found = getattr(given, name)
        result = found() if callable(found) else found
        assert not getattr(result, "requires_grad", False), name


def test_plain_attributes_tell_nothing_of_history() -> None:
    leaf = torch.rand(3, requires_grad=True)
    kept = leaf * 2
    for name in PLAIN_ATTRIBUTES:
        one, other = getattr(kept, name), getattr(kept.detach(), name)
        assert bool(torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other), name


def test_what_tells_of_history_is_there() -> None:
    assert [name for name in sorted(HISTORY) if not hasattr(torch.Tensor, name)] == []


def test_what_only_reads_gives_nothing_with_history() -> None:
    kept = torch.rand(3, requires_grad=True) * 2
    names = [name.removeprefix("torch.") for name in READ_ONLY if name.startswith("torch.")]
    assert len(names) >= 8
    for name in names:
        if name == "save":
            continue
        arguments = (kept, kept) if name in ("equal", "allclose") else (kept,)
        assert not getattr(getattr(torch, name)(*arguments), "requires_grad", False), name
