"""TLK604: objects that hook a module, could remove the hook, and are let go of without it."""

from __future__ import annotations

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint

CODE = """
import torch


class Hook:
    def __init__(self, module, backward=False):
        if backward:
            self.handle = module.register_full_backward_hook(self.seen)
        else:
            self.handle = module.register_forward_hook(self.seen)

    def seen(self, module, args, output):
        self.output = output

    def {close}(self):
        self.handle.remove()

    def values(self):
        return self.output


class Attack:
    def __init__(self, net):
        self.net, self.kept = net, None

    def gradients(self, x, other):
        {body}
"""
USE = "hook = Hook(self.net.embedding)\n        self.net(x)\n        return hook.output"
BODIES = {
    "asked for what it saw": (USE, 1),
    "by a method": (USE.replace("hook.output", "hook.values()"), 1),
    "of an argument": (USE.replace("self.net.embedding", "other.layers[0]"), 1),
    "of the file": (USE.replace("self.net.embedding", "NET"), 1),
    "by its name": (USE.replace("Hook(", "Hook(backward=True, module="), 1),
    "closed": (USE.replace("return hook.output", "hook.close()"), 0),
    "closed by an inner function": (USE.replace("return hook.output", "return lambda: hook.close()"), 0),
    "read by an inner function": (
        USE.replace("return hook.output", "def read():\n            return hook.output\n        return read"), 0),
    "given back": (USE.replace("hook.output", "hook"), 0),
    "handed on": (USE.replace("return hook.output", "other(hook)"), 0),
    "kept": (USE.replace("return hook.output", "self.kept = hook"), 0),
    "called": (USE.replace("hook.output", "hook()"), 0),
    "in a list": ("hooks = [Hook(self.net)]\n        return hooks[0].output", 0),
    "under two names": (USE.replace("hook = ", "hook = also = "), 0),
    "as a part": (USE.replace("hook = Hook(self.net.embedding)", "hook.inner = Hook(self.net)"), 0),
    "of a network of its own": (
        USE.replace("hook =", "net = torch.nn.Linear(2, 2)\n        hook =").replace("self.net.embedding", "net"), 0),
    "of what a call gives": (USE.replace("self.net.embedding", "other()"), 0),
    "of another class": (USE.replace("Hook(", "other.Hook("), 0),
    "of what is not given": (USE.replace("self.net.embedding", ""), 0),
}  # fmt: skip


MORE = {
    "by its handle": USE.replace("return hook.output", "hook.handle.remove()"),
    "by its handle, later": USE.replace("return hook.output", "self.kept.append(hook.handle)"),
    "by a method that closes": USE.replace("return hook.output", "return hook.once()"),
    "by hand": USE.replace("return hook.output", "self.net.embedding._forward_hooks.clear()"),
}


@pytest.mark.parametrize("name", MORE)
def test_hooks_that_are_removed_after_all(name: str) -> None:
    once = "    def once(self):\n        self.{close}()\n        return self.output\n\n"
    text = CODE.replace("    def values(self", f"{once}    def values(self")
    told = lint(text.format(body=MORE[name], close="close"), wanted=lambda code: code == "TLK604")
    assert not told


def test_a_hook_that_removes_itself() -> None:
    text = CODE.replace("        self.output = output", "        self.output = output\n        self.{close}()")
    assert not lint(text.format(body=USE, close="close"), wanted=lambda code: code == "TLK604")


@pytest.mark.parametrize("name", ["__init__", "main"])
def test_what_is_made_once(name: str) -> None:
    text = CODE.replace("def gradients(", f"def {name}(").format(body=USE, close="close")
    assert not [each for each in lint(text) if "when done" in each.message]


def test_how_often() -> None:
    text = CODE.format(body=USE, close="close")
    again = text + "\n\ndef run(attack, rows):\n    for x in rows:\n        attack.gradients(x, 1)\n"
    for code, severity in ((text, Severity.NOTE), (again, Severity.WARNING)):
        assert [each.severity for each in lint(code, wanted=lambda code: code == "TLK604")] == [severity]


def found(body: str, close: str = "close") -> list[tuple[int, str]]:
    told = lint(CODE.format(body=body, close=close), wanted=lambda code: code == "TLK604")
    return [(each.span.line, each.message) for each in told]


@pytest.mark.parametrize("name", BODIES)
def test_objects_that_are_let_go_of(name: str) -> None:
    body, expected = BODIES[name]
    assert [line for line, _ in found(body)] == [27] * expected


def test_what_is_said() -> None:
    ((_, message),) = found(USE)
    assert message == (
        "hooks pile up: every call of `gradients` leaves one on `self.net.embedding`; when done, `hook.close()`"
    )


@pytest.mark.parametrize("close", ["__del__", "__exit__"])
def test_what_closes_itself(close: str) -> None:
    assert not found(USE, close)


def test_what_cannot_be_closed_or_hooks_elsewhere() -> None:
    text = CODE.format(body=USE, close="close")
    for old, new in (
        ("self.handle.remove()", "pass"),
        ("def __init__(self, module, backward=False)", "def start(self, module, backward=False)"),
        ("module.register_f", "NET.register_f"),
    ):
        assert old in text
        told = lint(text.replace(old, new), wanted=lambda code: code == "TLK604")
        assert not [each for each in told if "when done" in each.message]


def test_at_the_top_of_the_file() -> None:
    text = CODE.format(body="pass", close="close") + "\n\nhook = Hook(NET)\nNET(1)\nprint(hook.output)\n"
    assert not lint(text, wanted=lambda code: code == "TLK604")
