"""Following a program to hooks that helpers register in every step, and to what removes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flake8_torchleak.lint import lint
from tests.kept import marked, program, training

SHOW = "def show(*args): pass\n"
HOOK = SHOW + "def hook(net): return net.register_forward_hook(show)"
DROP = SHOW + "def hook(net):\n    net.register_forward_hook(show)  # TLK604"
TOLD = "  # TLK604"

PROGRAMS: dict[str, str] = {
    "in a helper": training("hook(model)", DROP),
    "in a helper, of a layer": training("hook(model.body)", DROP),
    "whose handle a variable has": training("handle = hook(model)", HOOK.replace("(show)", "(show)" + TOLD)),
    "on a network that is given": program(
        DROP
        + """
class Net(nn.Module):
    def forward(self, x): return x
def train(loader, optimizer):
    net = Net()
    for x, y in loader:
        net.other.register_full_backward_hook(show)  # TLK604
        hook(net)
        net(x).sum().backward()
"""
    ),
    # -- what is removed, or may be ------------------------------------------------------------------------------
    "removed": training("handle = hook(model)\nhandle.remove()", HOOK),
    "for a block": training("with hook(model):\n    pass", HOOK),
    "for a block, by name": training("with hook(model) as handle:\n    pass", HOOK),
    "taken out by hand": training("hook(model)\nmodel._forward_hooks.popitem()", DROP.replace(TOLD, "")),
    # -- what is not one more in each step ----------------------------------------------------------------------
    "before the loop": training("", HOOK, "handle = hook(model)"),
    "in the first step": training("if i == 0:\n    hook(model)", DROP.replace(TOLD, "")),
    "where there is none": training("if not model.hooked:\n    model.register_forward_pre_hook(show)", SHOW),
    "on a network of the step": training("net = nn.Linear(2, 1)\nhook(net)", DROP.replace(TOLD, "")),
    "on what nothing is known of": training("hook(make())", DROP.replace(TOLD, "")),
}


def hooks_in(text: str, path: str | None = None) -> list[tuple[int, str]]:
    found = lint(text, path=path) if path is not None else lint(text)
    return sorted((each.span.line, each.code) for each in found if each.code == "TLK604")


@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks(name: str) -> None:
    assert hooks_in(PROGRAMS[name]) == marked(PROGRAMS[name])


HELPER = SHOW + "def hook(net): return net.register_forward_pre_hook(show)\n"


@pytest.mark.parametrize(
    ("body", "after", "found"),
    [
        ("hook(model)", "", True),
        ("handle = hook(model)", "", True),
        ("hook(model)", "def off(handle):\n    handle.remove()\n", False),
        ("hook(model).remove()", "", False),
        ("handles.append(hook(model))", "", False),  # whoever has them may remove them
        ("stack.push(hook(model))", "", False),
        ("stack.callback(hook(model).remove)", "", False),
        ("make()(hook(model))", "", False),
    ],
)
def test_helpers_of_other_files(tmp_path: Path, body: str, after: str, found: bool) -> None:
    (tmp_path / "hooking.py").write_text(HELPER + after)
    text = training(body + TOLD * found, "from hooking import hook", "handles, stack = [], contextlib.ExitStack()")
    (tmp_path / "main.py").write_text(text)
    assert hooks_in(text, str(tmp_path / "main.py")) == marked(text)


def test_what_is_said_of_helpers(tmp_path: Path) -> None:
    (tmp_path / "hooking.py").write_text(SHOW + "def hook(net):\n    net.register_forward_hook(show)\n")
    (tmp_path / "main.py").write_text(training("hook(model)", "from hooking import hook"))
    found = lint((tmp_path / "main.py").read_text(), path=str(tmp_path / "main.py"))
    (said,) = [each for each in found if each.code == "TLK604"]
    assert said.message.startswith("hooks pile up: `hook` adds one in every step")


@pytest.mark.parametrize(
    ("name", "more"), [("in a helper", 1), ("removed", 0), ("for a block", 0), ("before the loop", 0)]
)
def test_what_torch_has_in_the_end(name: str, more: int) -> None:
    torch = pytest.importorskip("torch")
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(PROGRAMS[name], "program.py", "exec", dont_inherit=True), namespace)
    counts = []
    for steps in (5, 10):
        model = torch.nn.Linear(2, 1)
        loader = [(torch.rand(3, 2), torch.rand(3, 1))] * steps
        namespace["train"](model, loader, torch.nn.functional.mse_loss, torch.optim.SGD(model.parameters(), lr=0.1))
        counts.append(len(model._forward_hooks))
    assert counts[1] - counts[0] == 5 * more


# -- hooks of classes, through helpers and classes below --------------------------------------------------------

GUEST = """
class Watch(Base):
    def __init__(self, net, name):
        self.seen = []
        attach(self, net)
    def save(self, part, args, output):
        self.seen.append(output.mean().item())
"""
ATTACH = "def attach(owner, net):\n    net.register_forward_hook(owner.save)"
COLLECTING = GUEST.replace(".mean().item()", "")
CLASSES: dict[str, str] = {
    "a guest, by a helper": ATTACH + TOLD + GUEST,
    "a guest, by two helpers": ATTACH
    + TOLD
    + "\ndef more(owner, net):\n    attach(owner, net.body)\n"
    + GUEST.replace("attach(", "more("),
    "a guest's own helper, called from elsewhere too": ATTACH + GUEST + "\ndef other(net):\n    attach(None, net)\n",
    "a helper that nobody calls": ATTACH + GUEST.replace("attach(self, net)", "pass"),
    "a helper that hooks a network of its own": ATTACH.replace("net.reg", "nn.Linear(2, 1).reg") + GUEST,
    "at the top of the module": "net = nn.Linear(2, 1)\nnet.register_forward_hook(print)",
    "a guest, by a call that is no attribute": "register_forward_hook = print\nregister_forward_hook(1)",
    "a collecting guest, by a helper": ATTACH
    + (COLLECTING + "").replace("append(output)", "append(output)" + TOLD).replace("Base", "nn.Module"),
    "a method of another object": "def attach(owner, net):\n    net.register_forward_hook(owner.save)"
    + COLLECTING.replace("attach(self, net)", "attach(net, net)").replace("Base", "nn.Module"),
    "a method of a class below": """
class Base(nn.Module):
    def __init__(self, net):
        net.register_forward_hook(self.save)
class Watch(Base):
    def save(self, part, args, output):
        self.seen.append(output)  # TLK604
""",
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    text = program(CLASSES[name])
    assert hooks_in(text) == marked(text)
