"""A message that is read alone, without its file, says where its code goes; it is put there, run and linted."""

from __future__ import annotations

from flake8_torchleak.wording import fitting


def test_the_first_advice_that_fits_is_given() -> None:
    assert fitting("head", "a" * 154, "b") == f"head; {'a' * 154}"
    assert fitting("head", "a" * 155, "b") == "head; b"
    assert fitting("head", "a" * 155, "b" * 156) == f"head; {'b' * 156}"
