"""Hooks that an object leaves on a module that it was handed (TLK604)."""

from __future__ import annotations

from textwrap import dedent

import pytest

from flake8_torchleak.lint import lint

OBJECT = """
    import torch
    {before}

    class {name}:
        def __init__(self, model, layer="fc", names=()):
            self.model = model
            self.own = torch.nn.Linear(3, 3)
            {statement}

        def _watch(self):
            {method}

        def later(self):
            self.model.fc.register_forward_hook(self.keep)

        def keep(self, part, args, output):
            self.last = output
"""


def lines(statement: str, method: str = "pass", name: str = "Probe", before: str = "") -> list[str]:
    text = dedent(OBJECT).format(statement=statement, method=method, name=name, before=before)
    return [each.code for each in lint(text) if each.code == "TLK604"]


@pytest.mark.parametrize(
    "statement",
    [
        "model.register_forward_hook(self.keep)",
        "self.model.fc.register_forward_pre_hook(self.keep)",
        "getattr(model, layer).register_full_backward_hook(self.keep)",
        "dict(model.named_modules())[layer].register_forward_hook(self.keep)",
        "found = find(model, layer)\n        found.register_forward_hook(self.keep)",
        "model[0].register_forward_hook(lambda *a: None)",
        "for part in model.modules():\n            part.register_forward_hook(self.keep)",
        "for n, part in self.model.named_children():\n            part.register_forward_hook(self.keep)",
    ],
)
def test_a_module_that_was_handed_over(statement: str) -> None:
    assert lines(statement) == ["TLK604"]


def test_a_method_that_the_constructor_calls() -> None:
    assert lines("self._watch()", "self.model.register_forward_hook(self.keep)") == ["TLK604"]
    assert lines("pass", "self.model.register_forward_hook(self.keep)") == []


def test_one_finding_for_an_object() -> None:
    assert lines("model.a.register_forward_hook(self.keep)\n        model.b.register_forward_hook(self.keep)") == [
        "TLK604"
    ]


@pytest.mark.parametrize(
    ("statement", "name", "before"),
    [
        ("self.handle = model.register_forward_hook(self.keep)", "Probe", ""),
        ("self.own.register_forward_hook(self.keep)", "Probe", ""),
        ("self.register_forward_hook(self.keep)", "Probe", ""),
        ("made = build(3)\n        made.register_forward_hook(self.keep)", "Probe", ""),
        ("(lambda m: m)(3).register_forward_hook(self.keep)", "Probe", ""),
        ("SHARED.register_forward_hook(self.keep)", "Probe", "SHARED = torch.nn.Linear(3, 3)"),
        ("with open(layer) as part:\n            part.register_forward_hook(self.keep)", "Probe", ""),
        ("model.register_forward_hook(self.keep)", "Probe(torch.nn.Module)", ""),
        ("model.register_forward_hook(self.keep)", "Probe(torch.optim.Optimizer)", ""),
        ("model.register_forward_hook(self.keep)", "TrainingHook", ""),
        ("model.register_forward_hook(self.keep)", "Probe", "def clear(m): m._forward_hooks.clear()"),
    ],
)
def test_what_stays_silent(statement: str, name: str, before: str) -> None:
    assert lines(statement, name=name, before=before) == []


def test_long_ways_end() -> None:
    ways = "model" + ".part" * 40
    assert lines(f"{ways}.register_forward_hook(self.keep)") == []


BELOW = """
    import torch

    class Watching:
        def watch(self):
            self.model.fc.register_forward_hook(self.keep)

        def keep(self, part, args, output):
            self.last = output

    class Probe(Watching):
        def __init__(self, model):
            self.model = {made}
            {call}
"""


@pytest.mark.parametrize(
    ("made", "call", "found"),
    [
        ("model", "self.watch()", ["TLK604"]),
        ("model", "pass", []),
        ("torch.nn.Linear(3, 3)", "self.watch()", []),
    ],
)
def test_what_a_class_below_is_handed_and_its_base_hooks(made: str, call: str, found: list[str]) -> None:
    assert [each.code for each in lint(dedent(BELOW).format(made=made, call=call))] == found


def test_what_is_hooked_may_be_given_to_an_outer_function() -> None:
    """One call of the inner one in sight, which hands over nothing of the sort."""
    text = """
import torch
def watch(model, kept):
    def attach(name):
        model.register_forward_hook(lambda *args: print(name))
    attach("a")
"""
    assert [each.code for each in lint(text)] == []


def test_outside_of_classes() -> None:
    assert [
        e.code for e in lint("import torch\nmodel.register_forward_hook(print)\nregister_forward_hook(print)\n")
    ] == []
    assert [e.code for e in lint("import torch\nclass A:\n    register_forward_hook(print)\n")] == []
