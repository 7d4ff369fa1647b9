"""What a method that detaches nothing has to assign is written there, and cuts the graph."""

from __future__ import annotations

import re

import pytest

from tests.model import IMPORTS, messages
from tests.test_messages_pasted import run, said

STATE = """
class State:
    def __init__(self, hidden):
        self.hidden = hidden

    def detach(self):
        {}
"""
IDLE = {
    "one tensor": ("self.hidden.detach()", "self.hidden = self.hidden.detach()", False),
    "several": (
        "for each in self.hidden:\n            each.detach()",
        "self.hidden = tuple(each.detach() for each in self.hidden)",
        True,
    ),
}


@pytest.mark.parametrize(("body", "code", "several"), IDLE.values(), ids=IDLE)
def test_what_is_detached_is_assigned(body: str, code: str, several: bool) -> None:
    torch = pytest.importorskip("torch")
    (written,) = re.findall("; write `(.*?)`$", said(STATE.format(body), "TLK406"))
    assert written == code
    assert not messages(IMPORTS + STATE.format(code), "TLK406")
    hidden = torch.ones(2, requires_grad=True) * 2
    state = run(STATE.format(code))["State"]((hidden, hidden) if several else hidden)
    state.detach()
    assert not any(each.requires_grad for each in state.hidden)


def test_what_is_long_is_assigned_in_words() -> None:
    body = "for each in self.hidden.of_all_layers_there_are:\n            each.detach()"
    assert said(STATE.format(body), "TLK406").endswith("; assign what `.detach()` gives")
