"""Whole numbers among what torch is given: lengths, indices and masks have no history; packed sequences do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flake8_torchleak.lifetime.libraries import OF_SEQUENCES, WHOLE_ARGUMENTS
from flake8_torchleak.lint import lint

HEAD = """
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence


class Meter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n


def fit(loader, net, criterion, optimizer):
    meter, kept = Meter(), []
    for x, y in loader:
        scores, targets, lengths, *rest = net(x, y)
        {made}
        loss = criterion(scores, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {then}
    return meter, kept
"""
PACKED = "scores = pack_padded_sequence(scores, {lengths}, batch_first=True).data"
MADE = {
    "packed": PACKED.format(lengths="lengths"),
    "packed by name": "scores = pack_padded_sequence(scores, lengths=lengths).data",
    "selected": "scores = scores.index_select(1, lengths)",
    "selected by torch": "scores = torch.index_select(scores, 1, lengths)",
    "gathered": "scores = torch.gather(scores, 1, index=lengths)",
    "repeated": "scores = scores.repeat_interleave(lengths, 0)",
    "masked": "scores = scores.masked_fill(lengths, 0.0)",
    "chosen": "scores = torch.where(lengths, scores, targets)",
    "chosen by a method": "scores = scores.where(lengths, targets)",
    "the loss": "scores = F.nll_loss(scores, lengths) + scores",
}


def codes(made: str, then: str) -> set[str]:
    return {each.code for each in lint(HEAD.format(made=made, then=then))} - {"TLK907"}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_what_is_used_as_whole_numbers_has_no_history(made: str) -> None:
    assert not codes(made, "meter.update(loss.item(), sum(lengths))")
    assert not codes(made, "kept.append(lengths)")
    assert codes(made, "meter.update(loss, sum(lengths))")
    assert codes(made, "kept.append(scores)") == {"TLK402"}


def test_a_tensor_is_no_condition_of_its_own() -> None:
    assert codes("part = scores.where(x > 0, y)", "kept.append(part)") == {"TLK402"}
    assert codes("part = scores.where(x > 0, y)", "kept.append(scores)") == {"TLK402"}


def test_what_nothing_is_known_of_may_have_one() -> None:
    assert codes("scores = torch.add(scores, lengths)", "kept.append(lengths)") == {"TLK402"}


@pytest.mark.parametrize("method", ["view(-1)", "clone()", "to(torch.float32)", "repeat(2)"])
def test_whole_numbers_that_are_moved(method: str) -> None:
    assert not codes("number = scores.to(torch.long)", f"kept.append(number.{method})")


@pytest.mark.parametrize(
    ("test", "told"), [("limit >= 2", True), ("limit > 2", True), ("limit < 2", False), ("'a' > 'b'", True)]
)
def test_constants_that_are_compared(test: str, told: bool) -> None:
    assert bool(codes("limit = 3", f"if {test}: kept.append(loss)")) is told


PARTS = {
    "the data": ("packed = pack_padded_sequence(scores, lengths)", "packed.data", True),
    "the first part": ("packed = pack_sequence(scores)", "packed[0]", True),
    "sizes": ("packed = pack_sequence(scores)", "packed.batch_sizes", False),
    "filled up": ("padded, n = pad_packed_sequence(net(pack_sequence(scores)))", "padded", True),
    "lengths": ("padded, n = pad_packed_sequence(net(pack_sequence(scores)))", "n", False),
}


@pytest.mark.parametrize(("made", "part", "told"), PARTS.values(), ids=PARTS)
def test_parts_of_sequences(made: str, part: str, told: bool) -> None:
    assert codes(made, f"kept.append({part})") == ({"TLK402"} if told else set())


def _calls(torch: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """What torch does with something that has history, and with something as a whole argument."""
    F = torch.nn.functional
    rnn = torch.nn.utils.rnn
    return {
        "ctc_loss": lambda x, n: F.ctc_loss(x[0].log_softmax(-1), n, n[:1] * 2, n[:1]),
        "gather": lambda x, n: torch.gather(x[0], 0, n[None]),
        "index_add": lambda x, n: x[0].index_add(0, n, x[0][:2]),
        "index_select": lambda x, n: x[0].index_select(0, n),
        "masked_fill": lambda x, n: x[0, 0, :2].masked_fill(n, 0.0),
        "masked_select": lambda x, n: x[0, 0, :2].masked_select(n),
        "nll_loss": lambda x, n: F.nll_loss(x[0, :2], n),
        "pack_padded_sequence": lambda x, n: rnn.pack_padded_sequence(x, n[:1], batch_first=True).data,
        "repeat_interleave": lambda x, n: x[0, :2].repeat_interleave(n, 0),
        "scatter": lambda x, n: x[0].scatter(0, n[None], x[0]),
        "scatter_add": lambda x, n: x[0].scatter_add(0, n[None], x[0]),
        "take": lambda x, n: x.take(n),
        "take_along_dim": lambda x, n: torch.take_along_dim(x[0, 0], n),
        "where": lambda x, n: torch.where(n, x[0, 0, :2], 0.0),
        "Tensor.where": lambda x, n: x[0, 0, :2].where(n, 0.0),
    }


@pytest.mark.parametrize("name", sorted(WHOLE_ARGUMENTS))
def test_torch_gives_whole_arguments_no_gradient(name: str) -> None:
    """It refuses others there, but for one function, which takes them for lengths."""
    torch = pytest.importorskip("torch")
    call = _calls(torch)[name]
    x = torch.rand(1, 4, 5, requires_grad=True)
    asks_for_truth = name.startswith("masked") or name.endswith("where")
    plain = torch.tensor([True, True]) if asks_for_truth else torch.tensor([2, 1])
    assert call(x, plain).requires_grad
    given = torch.tensor([2.0, 1.0], requires_grad=True)
    if name != "pack_padded_sequence":
        with pytest.raises((RuntimeError, IndexError)):
            call(x, given)
        return
    call(x, given).sum().backward()
    assert given.grad is None


def test_torch_gives_the_first_part_of_sequences_history_alone() -> None:
    torch = pytest.importorskip("torch")
    rnn = torch.nn.utils.rnn
    x = torch.rand(2, 4, 5, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, [4, 2], batch_first=True)
    made = {
        "pack_padded_sequence": packed,
        "pack_sequence": rnn.pack_sequence([x[0], x[1]]),
        "pad_packed_sequence": rnn.pad_packed_sequence(packed),
    }
    assert made.keys() == OF_SEQUENCES.keys()
    for name, parts in made.items():
        assert len(parts) == len(OF_SEQUENCES[name])
        assert getattr(parts, "_fields", OF_SEQUENCES[name]) == OF_SEQUENCES[name]
        first, *others = parts
        assert first.requires_grad
        assert not any(each is not None and each.requires_grad for each in others)
