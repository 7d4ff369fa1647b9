"""Notebooks for the tests: how they are put together and written."""

from __future__ import annotations

import json
from typing import Any

import nbformat
from hypothesis import strategies as st

Source = str | list[str]


def code(source: Source, **more: Any) -> dict[str, Any]:
    """A code cell."""
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source, **more}


def prose(source: Source) -> dict[str, Any]:
    """A cell of text."""
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def notebook(*cells: Any, **metadata: Any) -> dict[str, Any]:
    """A notebook of these cells; strings are code."""
    return {
        "cells": [code(each) if isinstance(each, str) else each for each in cells],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": 4,
    }


def written(content: Any, **layout: Any) -> bytes:
    """A notebook as Jupyter writes it, or laid out as told, and valid."""
    raw = json.dumps(content, **{"indent": 1, "ensure_ascii": False, **layout}) + "\n"
    nbformat.validate(nbformat.reads(raw, as_version=4))  # type: ignore[no-untyped-call]
    return raw.encode()


def read(raw: bytes) -> Any:
    """What a valid notebook holds."""
    nbformat.validate(nbformat.reads(raw.decode(), as_version=4))  # type: ignore[no-untyped-call]
    return json.loads(raw)


def text(cell: dict[str, Any]) -> str:
    """The source of a cell."""
    return "".join(cell["source"])


LAYOUTS = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 4, "\t"]),
        "ensure_ascii": st.booleans(),
        "sort_keys": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,\n\t", " :\r\n")]),
    }
)
"""How JSON may be laid out."""
