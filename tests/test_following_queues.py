"""Queues that are filled up to a length: what is taken out is let go of, and what is in them is never more."""

from __future__ import annotations

import pytest

from tests.model import codes

QUEUE = """
def feed(data, count, model):
    source = iter(DataLoader(data, num_workers=4))
    queue, others = collections.deque(), []

    def put():
        batch = next(source)
        {holder}.append(batch)
        return True

    while {test}:
        put()
    while queue:
        yield queue.popleft()
        while {test}:
            put()
    return others
"""


@pytest.mark.parametrize(
    ("test", "holder", "leaks"),
    [
        ("len(queue) < count", "queue", False),
        ("count > len(queue)", "queue", False),
        ("len(queue) != count", "queue", False),
        ("len(queue) < count and data", "queue", False),
        ("len(queue) < count", "others", True),
        ("count < 9", "queue", True),
        ("0 < count < 9", "queue", True),
        ("len(queue) > count", "queue", True),
        ("count or len(queue) < 4", "queue", True),
    ],
)
def test_a_queue_of_a_certain_length(test: str, holder: str, leaks: bool) -> None:
    assert ("TLK404" in codes(QUEUE.format(test=test, holder=holder))) == leaks


def test_a_loop_that_trains_is_as_long_as_its_steps() -> None:
    text = """
        def train(model, x, count):
            losses = []
            while len(losses) < count:
                loss = model(x).sum()
                loss.backward()
                losses.append(loss)
            return losses
    """
    assert "TLK402" in codes(text)
