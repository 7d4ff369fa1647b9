"""Corners of the recorder: what torch refuses to tell, objects in odd states, and foreign code on the stack."""

from __future__ import annotations

import gc
import json
import os
import sys
import sysconfig
import threading
import warnings
from collections import UserDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from flake8_torchleak.recorder import (
    Kept,
    Record,
    filled_at,
    frames,
    graphs,
    reach,
    record,
    walk,
    wording,
    worker_side,
    workers,
)
from flake8_torchleak.recorder.batch_census import BatchCollector
from flake8_torchleak.recorder.growth import Growth
from flake8_torchleak.recorder.lines import Lines
from flake8_torchleak.recorder.measure import Age
from flake8_torchleak.recorder.origins import Origins, places
from flake8_torchleak.recorder.side_census import FigureCollector, HookCollector
from tests.recorded import few_modules as few_modules
from tests.recorded import loader, network, only, optimizer


def test_a_view_that_torch_does_not_tell_the_history_of() -> None:
    weights = torch.zeros(4, 2, requires_grad=True) * 1
    with torch.no_grad():
        row = weights[0]
    weights.mul_(2)
    with pytest.raises(RuntimeError, match="no_grad mode"):
        _ = row.grad_fn
    assert graphs.node_of(row) is None


def test_weights() -> None:
    tensor, seen = torch.zeros(100), graphs.Graphs()
    counted: set[int] = set()
    assert seen.weight(tensor, counted) == 400
    assert seen.weight(tensor[2:], counted) == 0
    assert seen.weight(torch.zeros(100, requires_grad=True), set()) == 0
    assert seen.weight(torch.zeros(100, requires_grad=True)[2:], set()) == 0
    assert seen.weight(torch.zeros(2, 2).to_sparse(), set()) == 0
    assert seen.weight(torch.zeros(2, device="meta"), set()) == 0


def test_what_every_step_saves_is_kept_once() -> None:
    """The weights of a layer, as a view, frozen or not, and its input; a storage is free again with its node."""
    trained, frozen, images = torch.nn.Linear(100, 100), torch.nn.Linear(100, 100), torch.zeros(10, 100)
    frozen.requires_grad_(False)
    seen, sizes = graphs.Graphs(), []
    outputs = [frozen(trained(trained(images + 0))) for _ in range(3)]
    for output in outputs:
        numbers = seen.below(output.grad_fn, weigh=True)
        sizes.append(seen.size(numbers) - graphs.NODE_BYTES * len(numbers))
    inputs = 2 * images.nbytes
    assert sizes == [inputs + frozen.weight.nbytes, inputs, inputs]
    # A sum of what is saved already weighs nothing more; what no graph has saved does.
    assert seen.weight(frozen.weight, set()) == 0
    for _ in range(2):  # what was met in a census is known until the end of the next one
        seen.end([graphs.number_of(outputs[1].grad_fn)])
    assert seen.weight(frozen.weight, set()) == frozen.weight.nbytes


class Scaled(torch.autograd.Function):
    """Twice its input, which it saves."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x * 1)
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * gradient + 0 * x


@pytest.mark.parametrize("operation", [Scaled.apply, torch.exp, lambda x: torch.einsum("i,i->i", x, x * 1)])
def test_what_backward_has_freed_weighs_nothing(operation: Any) -> None:
    out = operation(torch.zeros(1000, requires_grad=True) * 1)
    live, freed = graphs.Graphs(), graphs.Graphs()
    numbers = live.below(out.grad_fn, weigh=True)
    assert live.size(numbers) >= 4000 + graphs.NODE_BYTES * len(numbers)
    out.sum().backward()
    assert freed.below(out.grad_fn, weigh=True) == numbers
    assert freed.size(numbers) < 4000


class Interpreter:
    """A trace function that nobody calls."""

    tracer: Any = None

    def put(self, tracer: Any) -> None:
        self.tracer = tracer


def test_lines_are_traced_until_none_is_left() -> None:
    here = sys._getframe()
    line = here.f_code.co_firstlineno + 3
    interpreter = Interpreter()
    lines = Lines(lambda path: {line}, lambda: interpreter.tracer, interpreter.put)
    lines.start()
    assert lines.watching
    assert interpreter.tracer(here, "call", None) is not None
    lines.settle()
    assert interpreter.tracer is not None
    frame: Any = SimpleNamespace(f_code=here.f_code, f_lineno=line)
    other_line: Any = SimpleNamespace(f_code=here.f_code, f_lineno=line + 1)
    assert lines._ran(other_line, "line", None) == lines._ran
    assert lines._ran(frame, "line", None) is None
    # Another function of the same file: its lines are known by now.
    neighbour: Any = SimpleNamespace(f_code=steps_of.__code__)
    assert lines._called(neighbour, "call", None) is None
    lines.settle()
    assert interpreter.tracer is None
    lines.stop()
    interpreter.tracer = print
    other = Lines(lambda path: set(), lambda: interpreter.tracer, interpreter.put)
    other.start()
    other.stop()
    assert not other.watching
    assert interpreter.tracer is print


def test_foreign_code_between_torch_and_the_program() -> None:
    path = os.path.join(sysconfig.get_paths()["purelib"], "somebody.py")
    space: dict[str, Any] = {}
    text = "def double(x):\n    return times(x, 2)\ndef times(x, n):\n    return x * n\n"
    exec(compile(text, path, "exec"), space)
    x = torch.zeros(2, requires_grad=True)
    origins = Origins()
    origins._sweep_at = 4
    with origins:
        kept = [space["double"](x) for _ in range(3)]
        for _ in range(20):
            x.exp()
        line = sys._getframe().f_lineno - 3
    origin = origins.of(kept[0])
    assert origin is not None
    made, called = places(origin)
    assert (made.path, made.line, made.function) == (path, 4, "times")
    assert called is not None
    assert (called.path, called.line) == (__file__, line)
    assert origins.of(x) is None
    assert len(origins._origins) <= 4096
    assert [id(each) for each in origins.alive(origins.made)] == [id(each) for each in kept]


def test_results_by_the_list_without_history() -> None:
    with Origins() as origins:
        torch.chunk(torch.zeros(4), 2)
        torch.chunk(torch.zeros(4, requires_grad=True), 2)
    assert origins.made == 2


def steps_of(value: object) -> list[str]:
    look = reach.reach(type(value))
    return [text for text, _, _ in look(value)] if look is not None else []


def test_what_leads_nowhere() -> None:
    done = (each for each in "ab")
    list(done)
    assert steps_of(done) == []
    assert steps_of(set(range(reach.MOST + 1))) == []
    assert steps_of(range(3)) == steps_of(json) == []
    assert steps_of(UserDict(a=1)) == [".data"]


def test_a_cell_that_is_not_bound_yet() -> None:
    def inner() -> Any:
        return later

    assert steps_of(inner) == []
    later = 1
    assert steps_of(inner) == [".<closure>.later"]


def test_tracebacks_through_torch() -> None:
    try:
        torch.nn.Linear(2, 2)(torch.zeros(3))
    except RuntimeError as error:
        found = steps_of(error)
    assert any(each.endswith("found") or "test_tracebacks" in each for each in found)
    assert not any("forward" in each for each in found)


def test_what_promises_something() -> None:
    live = torch.zeros(1, requires_grad=True) * 2
    assert reach._promises({"a": [live]})
    assert reach._promises([[live]] * 3)
    assert reach._promises(SimpleNamespace(x=live))
    assert reach._promises(torch.zeros(2).share_memory_())  # type: ignore[no-untyped-call]
    assert reach._promises(torch.zeros(2).numpy())
    assert not reach._promises(np.zeros(3))
    assert not reach._promises([[[[[live]]]]])
    assert not reach._promises([1] * 100)


def test_frames_that_keep_no_locals(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = 1
    monkeypatch.setattr(frames, "_KEPT_BY_FRAMES", False)
    assert dict(frames.local_values(sys._getframe()))["inside"] == inside
    monkeypatch.undo()
    assert dict(frames.local_values(sys._getframe()))["inside"] == inside
    assert frames.own_site(None) is None
    assert frames.stack(None) == []


def test_what_starts_a_thread_is_left_out() -> None:
    """The outermost frames of a thread are those of `threading`; a library that the program calls stays."""
    seen: list[str] = []

    def look(value: object) -> None:
        seen.extend(frame.f_code.co_name for frame in frames.stack(sys._getframe()))

    def program() -> None:
        json.loads("{}", object_hook=look)

    thread = threading.Thread(target=program)
    thread.start()
    thread.join()
    assert seen == ["program", "loads", "decode", "raw_decode", "look"]


def test_classes_and_modules_have_no_locals() -> None:
    seen = []

    class Body:
        seen.append(list(frames.local_values(sys._getframe())))

    assert seen == [[]]


def test_a_hook_that_stays_is_not_told() -> None:
    net = network()
    net.register_forward_hook(lambda *args: None)
    opt = optimizer(net)

    def run() -> None:
        for x, _ in loader():
            net(x).sum().backward()
            opt.step()

    with record() as recording:
        run()
    assert recording.record.kept == ()


def test_a_container_whose_elements_are_copied_by_few_is_not_told() -> None:
    seen = workers.Workers()
    stored = worker_side.Stored("Rows.names", "str", 10_000, 100.0, tuple(range(256)))
    seen._stored[stored.path] = stored

    def rows(*counts: int) -> list[dict[str, Any]]:
        other = {"threads": 0, "opencv": 0, "sizes": {}, "changes": []}
        return [{"fetched": at, "copied": {stored.path: count}, **other} for at, count in enumerate(counts)]

    assert list(seen.kept([rows(0, 1, 2, 3)])) == []
    ((kept, _),) = seen.kept([rows(0, 100, 200, 250)])
    assert kept.kind == "worker"
    assert kept.made == ()
    assert kept.grows
    assert seen.read() == []


def test_datasets_of_libraries_have_no_place() -> None:
    seen = workers.Workers()
    assert seen._look(DataLoader(TensorDataset(torch.zeros(3)))) == ()
    assert seen._lines("TensorDataset.tensors") == filled_at.Lines()
    assert seen.read() == []
    data = TensorDataset(torch.zeros(3))
    assert list(worker_side.sizes(data)) == [("TensorDataset.tensors", 1, "", data.tensors)]


def test_a_container_is_weighed_once_it_has_grown(tmp_path: Path) -> None:
    """To look at what a Dataset holds from the start is to copy it into the worker."""

    class Rows:
        def __init__(self) -> None:
            self.rows: list[str] = ["a" * 100] * 3
            self.odd: set[int] = set()
            self.native: list[object] = []

    data = Rows()
    report = worker_side.Report(str(tmp_path / "1.jsonl"), 0, 0, data, ())
    for at in range(20):
        data.rows.append(f"{at:0100d}")
        data.odd.add(at)
        data.native.append(object())
        report.fetched()
    first, *_, last = [json.loads(line)["sizes"] for line in (tmp_path / "1.jsonl").read_text().splitlines()]
    assert first["Rows.rows"] == [3, "", None]
    count, _, size = last["Rows.rows"]
    assert size == pytest.approx(count * (149 + 8 + 8), rel=0.2)
    assert last["Rows.odd"][2] is None  # no order tells which were added last
    assert last["Rows.native"][2] is None


def test_names_of_one_tensor_and_a_gradient_with_history() -> None:
    """A tensor is met once, under its shortest path; a gradient that has history hangs on it."""
    first = torch.ones(2, requires_grad=True)
    second = first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch speaks of create_graph once in a process
        (first * second).sum().backward(create_graph=True)  # type: ignore[no-untyped-call]
    found = {str(path): value for path, value in walk.Walk(sys._getframe()) if isinstance(value, torch.Tensor)}
    mine = [path for path, value in found.items() if value is first or value is first.grad]
    assert mine == [mine[0], f"{mine[0]}.grad"]
    assert mine[0].endswith((".first", ".second"))


def test_hooks_are_those_of_modules() -> None:
    """Other recorders show each collector all that they meet."""
    hooks, figures = HookCollector(), FigureCollector()
    for value in (torch.zeros(2), np.zeros(2)):
        hooks.see(walk.Path("a", "a"), value)
        figures.see(walk.Path("a", "a"), value)
    assert hooks.close(Age(0, 0)) == {}


def test_a_class_whose_module_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Rows:
        names = ("a",)

    Rows.__module__ = "gone"
    assert list(worker_side.sizes(Rows())) == []


def test_wording_of_what_hardly_changes() -> None:
    still = Record(descriptors=((1, 5.0), (2, 5.0), (3, 5.0)))
    assert wording.whole(still) == wording.whole(Record()) == []


def test_costs_without_a_known_epoch() -> None:
    kept = Kept("graph", "a", "a", growth=Growth(1.0, 0.0, 9.0, 1, 10, 10), size=100.0, size_per_step=10.0)
    assert wording.cost(kept, Record()) == "+10 bytes a step, 100 bytes after 10 steps"


def test_batches_that_no_line_of_the_program_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "own_site", lambda frame: None)
    collector = BatchCollector()
    batches = [torch.zeros(3) for _ in range(4)]
    for each in batches:
        collector.received(each)
    collector.see(walk.Path("a", "a"), batches[0])
    (measure,) = collector.close(Age(0, 0)).values()
    assert (measure.value, measure.size, measure.made) == (1, 12, {})


def test_a_collector_that_is_off_stays_off() -> None:
    net = network()
    opt = optimizer(net)
    kept = []
    gc.disable()
    try:
        with record() as recording:
            for x, _ in loader():
                kept.append(net(x).sum())
                kept[-1].backward()
                opt.step()
                assert not gc.isenabled()
    finally:
        gc.enable()
    assert only(recording.record).pattern.endswith(".kept[*]")


def nested(depth: int) -> tuple[list[Any], int]:
    """A tensor in so many lists, one in another, and its id."""
    tensor = torch.zeros(1)
    value = [tensor]
    for _ in range(depth - 1):
        value = [value]  # type: ignore[list-item]
    return value, id(tensor)


def test_what_lies_deeper_than_is_looked_is_not_found() -> None:
    near, shallow = nested(walk.DEPTH)
    far, deep = nested(walk.DEPTH + 1)
    seen = {id(value) for _, value in walk.Walk(sys._getframe())}
    assert {shallow, deep} & seen == {shallow}
    assert len(near) == len(far) == 1
