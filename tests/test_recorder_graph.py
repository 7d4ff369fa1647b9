"""What the recorder says of kept graphs, on the real torch: what grows, where it was made, who holds it."""

from __future__ import annotations

import functools
import inspect
import logging
import logging.handlers
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from flake8_torchleak.recorder import Record, graphs, record, walk
from flake8_torchleak.recorder.recording import Enough, Options, Recording
from tests.recorded import STEPS, batches, loader, network, only, optimizer
from tests.recorded import few_modules as few_modules

Keep = Callable[[torch.Tensor], object]


def train(keep: Keep | None = None, steps: int = STEPS) -> None:
    """A healthy loop, but for what `keep` does with each loss."""
    net = network()
    opt = optimizer(net)
    for x, y in batches(steps):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        opt.step()
        if keep is not None:
            keep(loss)


def line_of(function: Callable[..., object], text: str) -> int:
    """The line of a function's source that holds `text`."""
    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, line in enumerate(lines) if text in line)


MADE = line_of(train, "F.cross_entropy")


def recorded(run: Callable[[], object], light: bool = False, steps: int = 0) -> Record:
    with record(light=light, steps=steps) as recording:
        run()
    return recording.record


def test_a_healthy_loop_keeps_nothing() -> None:
    found = recorded(train)
    assert found.kept == ()
    assert not found.leaks
    assert found.steps["optimizer"] == STEPS
    assert found.notes == ()
    assert found.heap


def test_a_list_of_losses() -> None:
    def run() -> None:
        losses: list[torch.Tensor] = []
        train(losses.append)

    kept = only(recorded(run))
    assert kept.holder == f"run.losses[{STEPS - 3}]" or kept.holder.startswith("run.losses[")
    assert kept.pattern == "run.losses[*]"
    assert (kept.made[0].path, kept.made[0].line, kept.made[0].function) == (__file__, MADE, "train")
    assert str(kept.made[0]) == f"{__file__}:{MADE}"
    assert kept.growth is not None
    # One value and the nodes of its graph: two layers, relu, loss and its log_softmax, and the layers' transposes.
    assert 5 <= kept.growth.slope <= 12
    assert kept.size_per_step >= kept.growth.slope * graphs.NODE_BYTES / 2


def test_a_running_sum_is_one_value_with_a_growing_graph() -> None:
    def run() -> None:
        net = network()
        opt = optimizer(net)
        total: Any = 0.0
        for x, y in batches():
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            opt.step()
            total += loss  # noqa: TLK401 - recorded

    kept = only(recorded(run))
    assert kept.holder == kept.pattern == "run.total"
    assert kept.made[0].line == line_of(run, "total += loss")


def test_without_backward_the_saved_tensors_count() -> None:
    def run() -> None:
        net = network()
        opt = optimizer(net)
        seen = []
        for x, y in batches():
            F.cross_entropy(net(x), y).backward()  # type: ignore[no-untyped-call]
            opt.step()
            seen.append(net(x).sum())  # noqa: TLK402 - recorded

    kept = only(recorded(run))
    assert kept.growth is not None
    # The batch (4 x 8), the first layer's output (relu's result) of float32, besides the nodes.
    assert kept.size_per_step > kept.growth.slope * graphs.NODE_BYTES * 0.8


def test_light_has_no_sites() -> None:
    def run() -> None:
        losses: list[torch.Tensor] = []
        train(losses.append)

    kept = only(recorded(run, light=True))
    assert kept.pattern == "run.losses[*]"
    assert kept.made == ()


class Meter:
    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []

    def update(self, value: torch.Tensor) -> None:
        self.rows.append({"loss": value})


class Pair(NamedTuple):
    step: int
    loss: torch.Tensor


class Slotted:
    __slots__ = ("__weakref__", "rows", "unset")

    def __init__(self) -> None:
        self.rows: list[torch.Tensor] = []


class OneSlot:
    __slots__ = "rows"

    def __init__(self) -> None:
        self.rows: list[torch.Tensor] = []


class Shared:
    rows: list[torch.Tensor] = []  # noqa: RUF012


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2)])
        self.seen: list[torch.Tensor] = []


def into_meter() -> tuple[object, Keep]:
    meter = Meter()
    return meter, meter.update


def into_pairs() -> tuple[object, Keep]:
    rows: list[Pair] = []
    return rows, lambda loss: rows.append(Pair(1, loss))


def into_slots() -> tuple[object, Keep]:
    slotted = Slotted()
    return slotted, slotted.rows.append


def into_one_slot() -> tuple[object, Keep]:
    slotted = OneSlot()
    return slotted, slotted.rows.append


def into_class() -> tuple[object, Keep]:
    Shared.rows.clear()
    return Shared, Shared.rows.append


def into_module() -> tuple[object, Keep]:
    net = Net()
    return [net], net.seen.append


def into_child() -> tuple[object, Keep]:
    net = Net()
    child: Any = net.layers[0]
    child.seen = []
    return net, child.seen.append


def into_dict() -> tuple[object, Keep]:
    by_step: dict[object, torch.Tensor] = {}
    return by_step, lambda loss: by_step.__setitem__(f"step {len(by_step)}", loss)


def into_dict_of_objects() -> tuple[object, Keep]:
    by_step: dict[object, torch.Tensor] = {}
    return by_step, lambda loss: by_step.__setitem__(("step", len(by_step)), loss)


def into_set() -> tuple[object, Keep]:
    seen: set[torch.Tensor] = set()
    return seen, seen.add


def into_closure() -> tuple[object, Keep]:
    rows: list[torch.Tensor] = []

    def keep(loss: torch.Tensor) -> None:
        rows.append(loss)

    return None, keep


def into_partial() -> tuple[object, Keep]:
    return None, functools.partial(list[torch.Tensor].append, [])


def into_method() -> tuple[object, Keep]:
    return None, Meter().update


def into_static() -> tuple[object, Keep]:
    rows: list[torch.Tensor] = []

    def inner(loss: torch.Tensor) -> None:
        rows.append(loss)

    return [staticmethod(inner)], inner


def into_generator() -> tuple[object, Keep]:
    def collect() -> Iterator[None]:
        rows: list[object] = []
        while True:
            rows.append((yield))

    made: Any = collect()
    next(made)
    return made, made.send


def into_exceptions() -> tuple[object, Keep]:
    errors: list[Exception] = []

    def keep(loss: torch.Tensor) -> None:
        try:
            raise ValueError
        except ValueError as error:
            errors.append(error)  # noqa: TLK408 - recorded

    return errors, keep


LATER = functools.partial(pytest.param, marks=[pytest.mark.long, pytest.mark.watched])
"""Much like its neighbours; a training each."""


@pytest.mark.parametrize(
    ("make", "pattern"),
    [
        (into_meter, "run.held.rows[*]['loss']"),
        LATER(into_pairs, "run.held[*].loss"),
        LATER(into_slots, "run.held.rows[*]"),
        LATER(into_one_slot, "run.held.rows[*]"),
        (into_class, "Shared.rows[*]"),
        LATER(into_module, "run.held[*].seen[*]"),
        LATER(into_child, "run.held.layers[0].seen[*]"),
        (into_dict, "run.held[*]"),
        LATER(into_dict_of_objects, "run.held[*]"),
        LATER(into_set, "run.held{*}"),
        (into_closure, "run.keep.<closure>.rows[*]"),
        LATER(into_partial, "run.keep.args"),
        (into_method, "run.keep.__self__.rows[*]['loss']"),
        LATER(into_static, "run.keep.<closure>.rows[*]"),
        (into_generator, "run.held.<generator>.rows[*]"),
        (into_exceptions, "run.held[*].<traceback>"),
    ],
)
def test_paths(make: Callable[[], tuple[object, Keep]], pattern: str) -> None:
    def run() -> None:
        held, keep = make()
        train(keep, steps)
        del held, keep

    # Longer where it must be: a dict's first sixteen keys are taken for names.
    steps = 2 * STEPS if make in (into_dict, into_dict_of_objects) else STEPS
    kept = recorded(run).growing
    assert any(pattern in each.pattern for each in kept), kept
    assert {each.made[0].line for each in kept} == {MADE}


def test_a_deque_with_a_bound_is_no_growth() -> None:
    def run() -> None:
        last: deque[torch.Tensor] = deque(maxlen=1000)
        train(last.append)

    (kept,) = (each for each in recorded(run).kept if each.pattern == "run.last[*]")
    assert kept.bound == "a deque of at most 1000"
    assert not kept.grows


def test_a_log_handler_that_keeps_records() -> None:
    logging.root.addHandler(logging.handlers.MemoryHandler(1000, flushLevel=logging.CRITICAL))
    try:
        kept = recorded(lambda: train(lambda loss: logging.root.warning("loss %s", loss))).growing
    finally:
        logging.root.handlers.pop()
    # pytest's own handler keeps them as well.
    assert "logging.root.handlers" in {each.pattern.partition("[*]")[0] for each in kept}


def test_a_gradient_with_a_graph_of_its_own() -> None:
    def run() -> None:
        net = network()
        opt = optimizer(net)
        for x, y in batches():
            F.cross_entropy(net(x), y).backward(create_graph=True)  # type: ignore[no-untyped-call]
            opt.step()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch speaks of create_graph once in a process
        found = recorded(run)
    assert any(each.holder.endswith(".weight.grad") for each in found.growing)


def test_values_whose_holder_is_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "OBJECTS", 5)

    def run() -> None:
        losses: list[torch.Tensor] = []
        train(losses.append)

    found = recorded(run)
    assert [each.kind for each in found.growing] == ["unheld"]
    assert found.growing[0].made[0].line == MADE
    assert any("too many objects" in each for each in found.notes)


def test_long_lists_of_plain_values_are_passed_over() -> None:
    def run() -> None:
        numbers = list(range(5000))
        names = {str(each): each for each in numbers}
        losses: list[torch.Tensor] = []
        train(losses.append)
        del numbers, names

    assert only(recorded(run)).pattern == "run.losses[*]"


def test_results_that_come_several_at_a_time() -> None:
    def run() -> None:
        net = nn.LSTM(8, 8)
        opt = optimizer(net)
        states = []
        for x, _ in batches():
            out, (hidden, _) = net(x)
            out.sum().backward()
            opt.step()
            states.append(hidden)  # noqa: TLK402 - recorded

    kept = only(recorded(run))
    assert kept.made[0].line == line_of(run, "net(x)")


def test_checkpoints_are_not_unpacked() -> None:
    calls = []

    def run() -> None:
        net = network()
        opt = optimizer(net)
        kept = []

        def forward(x: torch.Tensor) -> torch.Tensor:
            calls.append(1)
            out: torch.Tensor = net(x)
            return out

        for x, _ in batches():
            out = checkpoint(forward, x, use_reentrant=False)
            out.sum().backward(retain_graph=True)  # noqa: TLK407 - recorded
            opt.step()
            kept.append(out)  # noqa: TLK402 - recorded

    found = recorded(run)
    assert len(calls) == 2 * STEPS
    assert found.leaks
    assert any("hooks" in each for each in found.notes)


def test_the_clock_of_loops_without_an_optimizer() -> None:
    def by_backward() -> None:
        net = network()
        losses = []
        for x, y in batches():
            loss = F.cross_entropy(net(x), y)
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(loss)  # noqa: TLK402 - recorded

    def by_loader() -> None:
        net = network()
        outs = []
        for x, _ in loader():
            outs.append(net(x))  # noqa: TLK402 - recorded

    assert only(recorded(by_backward)).clock == "backward"
    found = recorded(by_loader)
    assert only(found).clock == "loader"
    assert (found.epochs, found.steps_per_epoch) == (1, STEPS)


def test_a_step_that_the_program_declares() -> None:
    net = network()
    outs = []
    with record() as recording:
        for x, _ in batches():
            outs.append(net(x))
            recording.step()
    assert only(recording.record).clock == "manual"


def test_no_step_is_said_to_be_none() -> None:
    assert "no step was seen" in recorded(lambda: None).notes[0]


def test_losses_of_several_batches_are_one_step() -> None:
    def run() -> None:
        net = network()
        opt = optimizer(net)
        for at, (x, y) in enumerate(loader(60)):
            if at % 20 == 0:
                losses: list[torch.Tensor] = []
            losses.append(F.cross_entropy(net(x), y))
            if at % 20 == 19:
                torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
                opt.step()

    found = recorded(run)
    assert not found.leaks
    assert found.steps["optimizer"] == 3


def test_two_optimizers_of_one_iteration_are_one_step() -> None:
    def run() -> None:
        net = network()
        first, second = optimizer(net), optimizer(net)
        for x, y in batches():
            F.cross_entropy(net(x), y).backward()  # type: ignore[no-untyped-call]
            first.step()
            second.step()

    assert recorded(run).steps["optimizer"] == STEPS


def test_an_optimizer_that_is_out_of_use_is_followed_by_another() -> None:
    def run() -> None:
        net = network()
        first = optimizer(net)
        first.step()
        second = optimizer(net)
        for _ in range(20):
            second.step()

    # The first told one step, sixteen of the second's were waited for, and four told one each.
    assert recorded(run).steps["optimizer"] == 5


def test_watching_ends_after_the_steps_asked_for() -> None:
    found = recorded(train, steps=5)
    assert found.steps["optimizer"] == 5


def test_a_program_is_ended_after_its_steps_or_epochs() -> None:
    def epochs() -> None:
        net = network()
        opt = optimizer(net)
        batches = loader(20)
        while True:
            for x, y in batches:
                F.cross_entropy(net(x), y).backward()  # type: ignore[no-untyped-call]
                opt.step()

    for options, steps in ((Options(steps=7, ends=True), 7), (Options(epochs=2, ends=True), 41)):
        told: list[int] = []
        recording = Recording(Options(steps=options.steps, epochs=options.epochs, ends=True, on_step=told.append))
        recording.start()
        with pytest.raises(Enough):
            epochs()
        recording.stop()
        assert recording.record.steps["optimizer"] == told[-1] == steps


def test_an_exception_goes_on_and_what_was_seen_stays() -> None:
    losses: list[torch.Tensor] = []

    def keep(loss: torch.Tensor) -> None:
        losses.append(loss)
        if len(losses) == 20:
            raise KeyError

    recording = Recording(Options())
    recording.start()
    with pytest.raises(KeyError):
        train(keep)
    recording.stop()
    assert recording.record.leaks


def test_all_is_as_before_after_a_recording() -> None:
    import torch.utils.data.dataloader as dataloader

    before = (dataloader._BaseDataLoaderIter.__next__, torch.autograd._engine_run_backward)  # type: ignore[attr-defined]
    recorded(train)
    after = (dataloader._BaseDataLoaderIter.__next__, torch.autograd._engine_run_backward)  # type: ignore[attr-defined]
    assert before == after


@pytest.mark.long
@pytest.mark.watched
def test_many_results_are_forgotten() -> None:
    with record() as recording:
        train(steps=400)
    origins = recording._origins
    assert origins is not None
    assert origins.made > 1000
    assert len(origins._origins) < 4200
