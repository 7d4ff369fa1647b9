"""What the tests of the model share: short texts, and what the model or the rules say of them."""

from __future__ import annotations

import ast
from textwrap import dedent

from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.lint import lint
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.values import Value
from flake8_torchleak.source import Source

IMPORTS = """\
import collections, copy, csv, glob, itertools, json, os, pickle, random, zipfile
import cv2, numpy as np, pandas as pd, torch, torch.nn as nn, torch.nn.functional as F, torchmetrics, torchvision
from torch.utils.data import DataLoader, Dataset, IterableDataset
"""


def module(text: str, config: Config = DEFAULT) -> Module:
    """The model of a text, under the imports above."""
    text = IMPORTS + dedent(text)
    return Module(Source(text), ast.parse(text), config)


def value(text: str, config: Config = DEFAULT) -> Value:
    """What the model says of the right-hand side of the last assignment in a text."""
    model = module(text, config)
    last = max(model.tree.all(ast.Assign), key=lambda each: each.lineno)
    return model.infer.value(last.value)


def codes(text: str, config: Config = DEFAULT) -> list[str]:
    """The codes of what is found in a text, in order of place."""
    return [finding.code for finding in lint(IMPORTS + dedent(text), config)]


def messages(text: str, code: str) -> list[str]:
    """What a rule says of a text, which has its imports."""
    return [each.message for each in lint(text) if each.code == code]


def step(body: str, before: str = "", after: str = "") -> str:
    """A training function with `body` in its step, after `loss.backward()`."""
    indented = "\n".join(f"        {line}" for line in dedent(body).strip().splitlines())
    lines = [
        *dedent(before).strip().splitlines(),
        "def train(model, loader, criterion, optimizer, device):",
        "    total, kept = 0, []",
        "    for x, y in loader:",
        "        loss = criterion(model(x), y)",
        "        loss.backward()",
        "        optimizer.step()",
        indented,
        *(f"    {line}" for line in dedent(after).strip().splitlines()),
    ]
    return "\n".join(lines) + "\n"


def dataset(init: str, sample: str = "return self.data[i]", rest: str = "", base: str = "Dataset") -> str:
    """A Dataset whose `__init__(self, root, data)` and `__getitem__` hold these statements."""

    def block(statements: str) -> str:
        return "\n".join(f"        {line}" for line in dedent(statements).strip().splitlines())

    members = "\n".join(f"    {line}" for line in dedent(rest).strip().splitlines())
    return f"""\
class Rows({base}):
    def __init__(self, root, data):
{block(init)}
    def __len__(self):
        return len(self.data)
    def __getitem__(self, i):
{block(sample)}
{members}
"""
