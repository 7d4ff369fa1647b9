"""How many bytes the recorder says that objects take."""

from __future__ import annotations

import sys
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from flake8_torchleak.recorder.weights import bytes_of, last_elements

IMAGE = np.zeros((100, 100), dtype=np.uint8)


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("a" * 1000, 1049),
        (IMAGE.copy(), 10_128),
        (IMAGE[:2], 10_256),  # a view keeps the whole
        (torch.zeros(1000), 4080),
        (torch.zeros(1000)[:2], 4080),
        ([torch.zeros(1000) for _ in range(3)], 12_330),
        ({"image": IMAGE.copy(), "label": 3}, 10_500),
        (SimpleNamespace(image=IMAGE.copy()), 10_400),
        ([f"{at:0100d}" for at in range(1000)], 158_000),
        ([], 56),
    ],
)
def test_what_objects_take(value: Any, known: int) -> None:
    assert bytes_of(value) == pytest.approx(known, rel=0.05)


def test_what_is_shared_counts_once() -> None:
    tensor = torch.zeros(1000)
    assert bytes_of([tensor, tensor, tensor[:5]]) == pytest.approx(4240, rel=0.05)
    key = "k" * 1000
    records = [{key: 1.5 + at} for at in range(10)]
    counted: set[int] = set()
    assert sum(bytes_of(each, counted) or 0 for each in records) == pytest.approx(1049 + 10 * (184 + 24), rel=0.3)


@pytest.mark.parametrize(
    "value",
    [object(), [1, object()], np.array([None], dtype=object), [[[[[[1]]]]]], SimpleNamespace(native=object())],
)
def test_what_is_not_known(value: Any) -> None:
    assert bytes_of(value) is None


def test_tensors_without_a_storage() -> None:
    indices, values = torch.tensor([[0], [1]]), torch.tensor([1.0])
    sparse = torch.sparse_coo_tensor(indices, values, (2, 2), check_invariants=True)
    assert bytes_of(sparse) == sys.getsizeof(sparse)


def test_the_elements_that_were_added_last() -> None:
    assert last_elements(list(range(100))) == last_elements(deque(range(100))) == list(range(92, 100))
    assert last_elements(dict.fromkeys(range(100), "x"))[0] == (99, "x")
    assert last_elements({1, 2}) == []
    assert last_elements(len) == []
