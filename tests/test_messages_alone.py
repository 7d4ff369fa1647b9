"""A message that is read alone, without its file, says where its code goes; it is put there, run and linted."""

from __future__ import annotations

import pytest

from flake8_torchleak.wording import fitting
from tests.model import IMPORTS, dataset, messages
from tests.test_messages_pasted import said


def test_the_first_advice_that_fits_is_given() -> None:
    assert fitting("head", "a" * 154, "b") == f"head; {'a' * 154}"
    assert fitting("head", "a" * 155, "b") == "head; b"
    assert fitting("head", "a" * 155, "b" * 156) == f"head; {'b' * 156}"


DIRECT = {
    "by its key": ("self.data[i]['ids'].sort()", "ids = copy.deepcopy(self.data[i]['ids'])"),
    "whose key is taken": ("ids = 3\nself.data[i]['ids'].append(ids)", "part = copy.deepcopy(self.data[i]['ids'])"),
    "without a key": ("self.data[i].update(n=1)", "part = copy.deepcopy(self.data[i])"),
    "whose names are taken": (
        "part = changed = 3\nself.data[i].update(n=part)", "own = copy.deepcopy(self.data[i])",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "statement"), DIRECT.values(), ids=DIRECT)
def test_a_copy_of_what_has_no_variable_gets_one(edit: str, statement: str) -> None:
    records = "self.data = [json.loads(line) for line in open(root)]"
    message = said(dataset(records, f"{edit}\nreturn [self.data[i]]"), "TLK203")
    new, _, copied = statement.partition(" = ")
    target = copied[len("copy.deepcopy(") : -1]
    assert message.endswith(f"change of `{target}`; just before, write `{statement}`, then use `{new}`")
    edited = f"{statement}\n{edit}".replace(f"\n{target}", f"\n{new}")
    assert not messages(IMPORTS + dataset(records, f"{edited}\nreturn [{new}]"), "TLK203")


def test_a_row_that_has_no_variable_is_copied_alone() -> None:
    """Of a part of a tensor, `copy.deepcopy` copies the whole tensor."""
    text = dataset("self.data = torch.zeros(1000, 4)", "self.data[i].sub_(1)\nreturn self.data[i] + 0")
    assert said(text, "TLK203").endswith("; just before, write `part = self.data[i].clone()`, then use `part`")


def test_a_change_too_long_to_be_shown_is_described() -> None:
    edit = "self.data[(i + self.offset_of_the_first) % self.number]['a'].sort()"
    text = dataset("self.data = [json.loads(line) for line in open(root)]", f"{edit}\nreturn 1")
    assert said(text, "TLK203").endswith("; change a copy (`copy.deepcopy`), and use that from there on")
