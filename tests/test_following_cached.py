"""Properties that are worked out once: what they give is kept by the object, and is not worked out again."""

from __future__ import annotations

import pytest

from flake8_torchleak.finding import OF_CALLS
from flake8_torchleak.lint import lint
from tests.kept import grows, marked, program, reported

TRAINER = """
class Trainer:
    def __init__(self, model, criterion, optimizer):
        self.parts = (model, criterion, optimizer)

    @{how}
    def losses(self):
        return {made}

    def fit(self, loader):
        model, criterion, optimizer = self.parts
        for x, y in loader:
            STEP
            {kept}

def train(model, loader, criterion, optimizer):
    trainer = Trainer(model, criterion, optimizer)
    trainer.fit(loader)
    return trainer
"""
BAD = {
    "a list": ("[]", "self.losses.append(loss)  # TLK402"),
    "a list in a dict": ("{'train': []}", "self.losses['train'].append(loss)  # TLK402"),
    "a sum in a dict": ("{'train': 0}", "self.losses['train'] += loss  # TLK401"),
    "a sum": ("0", "self.losses += loss  # TLK401"),
}
GOOD = {
    "emptied": ("[]", "self.losses.append(loss); self.losses.clear()"),
    "forgotten": ("[]", "self.losses.append(loss); del self.losses"),
    "forgotten by text": ("[]", "self.losses.append(loss); self.__dict__.pop('losses')"),
    "forgotten by its name": ("[]", "self.losses.append(loss); delattr(self, 'losses')"),
    "forgotten in its place": ("[]", "self.losses.append(loss); del vars(self)['losses']"),
    "forgotten with the rest": (
        "[]",
        "self.losses.append(loss); vars(self).clear(); self.parts = (model, 0, optimizer)",
    ),
    "all forgotten": ("[]", "self.losses.append(loss); self.__dict__.clear(); self.parts = (model, 0, optimizer)"),
    "detached": ("[]", "self.losses.append(loss.detach())"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_worked_out_once_is_kept_by_its_object(case: str) -> None:
    made, kept = BAD[case]
    text = program(TRAINER.format(how="functools.cached_property", made=made, kept=kept))
    assert reported(text) == marked(text)
    assert grows(text)


@pytest.mark.parametrize("case", GOOD)
def test_what_does_not_pile_up_there_is_not(case: str) -> None:
    made, kept = GOOD[case]
    text = program(TRAINER.format(how="functools.cached_property", made=made, kept=kept))
    assert reported(text) == []
    assert not grows(text)


def test_what_is_worked_out_each_time_keeps_nothing() -> None:
    text = program(TRAINER.format(how="property", made="[]", kept="self.losses.append(loss)"))
    assert reported(text) == []
    assert not grows(text)


@pytest.mark.parametrize(("how", "is_whole"), [("functools.cached_property", True), ("property", False)])
def test_each_is_followed_once(how: str, is_whole: bool) -> None:
    """Ten, each of which asks the one before four times: a million times, or ten."""
    asked = "    @{how}\n    def p{i}(self):\n        return (self.p{j}, self.p{j}, self.p{j}, self.p{j})\n"
    text = program(
        "class Facts:\n    def __init__(self, model):\n        self.p0 = model\n"
        + "".join(asked.format(how=how, i=i + 1, j=i) for i in range(10))
        + "def train(model, loader, criterion, optimizer):\n    facts = Facts(model)\n"
        "    for x, y in loader:\n        STEP\n        facts.p10\n"
    )
    assert [each.slug for each in lint(text)] == ([] if is_whole else [OF_CALLS])
