"""What the recorder says of batches, workers, stored samples, evaluation, hooks and figures, on the real torch."""

from __future__ import annotations

import functools
import linecache
import multiprocessing
import os
import sys
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset

from flake8_torchleak.recorder import Kept, Record, process, record, stored_samples, worker_side, workers
from flake8_torchleak.recorder.batch_census import BatchCollector, tensors
from flake8_torchleak.recorder.growth import fit
from flake8_torchleak.recorder.measure import Age
from flake8_torchleak.recorder.side_census import HookCollector
from flake8_torchleak.recorder.walk import Path as Held
from tests.recorded import few_modules as few_modules
from tests.recorded import network, only, optimizer

CACHE: list[int] = []
"""Grows in the workers of some tests."""


class Numbers(Dataset[Any]):
    """Samples of eight numbers and a label."""

    def __init__(self, count: int = 240) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return torch.full((8,), float(index)), index % 3


def train(loader: DataLoader[Any], keep: Any = None, epochs: int = 1) -> None:
    net = network()
    opt = optimizer(net)
    for _ in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            opt.step()
            if keep is not None:
                keep(y)


def recorded(data: Dataset[Any], keep: Any = None, num_workers: int = 1, epochs: int = 1, **more: Any) -> Record:
    loader = DataLoader(data, batch_size=8, num_workers=num_workers, **more)
    with record() as recording:
        train(loader, keep, epochs)
    return recording.record


@pytest.mark.parametrize(
    "loaded",
    [
        pytest.param(True, id="OpenCV loaded"),
        pytest.param(False, id="not loaded", marks=[pytest.mark.long, pytest.mark.watched]),
    ],
)
def test_a_healthy_loop_with_workers(loaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever merely imported OpenCV has none of its threads, whatever threads each worker has of Python's."""
    monkeypatch.setitem(sys.modules, "cv2", SimpleNamespace(getNumThreads=lambda: 4 if loaded else 0))
    found = recorded(Numbers(), lambda y: y.sum().item(), num_workers=2)
    assert found.kept == ()


class Blurred(Numbers):
    """Its samples go through OpenCV's thread pool."""

    def __getitem__(self, index: int) -> Any:
        cv2.setNumThreads(3)
        cv2.GaussianBlur(np.zeros((500, 500, 3), np.uint8), (9, 9), 0)
        return super().__getitem__(index)


def test_threads_that_opencv_starts_in_workers() -> None:
    (kept,) = recorded(Blurred(80)).kept
    assert kept.kind == "thread"
    assert kept.count >= 2


@pytest.mark.parametrize(
    "alias",
    [
        lambda y: y.numpy()[1:],
        pytest.param(lambda y: y, marks=pytest.mark.long),
        pytest.param(lambda y: y.view(2, 4)[0], marks=pytest.mark.long),
    ],
)
def test_kept_batches(alias: Any) -> None:
    kept: list[Any] = []
    found = only(recorded(Numbers(), lambda y: kept.append(alias(y))), "batch")
    assert found.growth is not None
    assert found.growth.slope == pytest.approx(1)
    assert "kept" in found.pattern
    assert found.made[0].function == "train"


@pytest.mark.long
@pytest.mark.watched
def test_aliases_of_one_batch_count_once() -> None:
    kept: list[Any] = []
    found = only(recorded(Numbers(), lambda y: kept.extend([y, y.view(-1)])), "batch")
    assert found.growth is not None
    assert found.growth.slope == pytest.approx(1)


@pytest.mark.long
def test_each_kept_batch_holds_a_descriptor() -> None:
    kept: list[Any] = []
    points = recorded(Numbers(400), kept.append).descriptors
    assert fit(points).slope > 0.5


@pytest.mark.long
@pytest.mark.parametrize("copy", [lambda y: y.clone(), lambda y: y.numpy().copy(), lambda y: y.tolist()])
def test_copies_of_batches_are_no_batches(copy: Any) -> None:
    kept: list[Any] = []
    assert not recorded(Numbers(), lambda y: kept.append(copy(y))).leaks


def test_batches_without_workers_are_not_told() -> None:
    kept: list[Any] = []
    assert not recorded(Numbers(), kept.append, num_workers=0).leaks


def test_tensors_of_a_batch() -> None:
    one = torch.zeros(2)
    batch = {"a": [one, (one, "text")], "b": torch.zeros(2, 2).to_sparse(), "c": 3}
    assert len(tensors(batch)) == 2
    assert tensors([[[[[one]]]]]) == []


def test_what_a_batch_collector_passes_over() -> None:
    collector = BatchCollector()
    collector.see(Held("a", "a"), torch.zeros(2))
    for _ in range(3):
        collector.received([torch.zeros(3)])
    chain: Any = np.zeros(4)
    for _ in range(20):
        chain = SimpleNamespace(base=chain)
    for value in (torch.zeros(2, 2).to_sparse(), nn.Linear(1, 1), chain):
        collector.see(Held("a", "a"), value)
    assert collector.close(Age(0, 0)) == {}


class Cached(Numbers):
    def __init__(self) -> None:
        super().__init__(400)
        self.cache: dict[int, torch.Tensor] = {}
        self.last: deque[int] = deque(maxlen=4000)

    def __getitem__(self, index: int) -> Any:
        self.cache[index] = torch.zeros(500)
        self.last.append(index)
        CACHE.append(index)
        remembered(index)
        return super().__getitem__(index)


@functools.cache
def remembered(index: int) -> int:
    return index


def filled(kept: Kept) -> list[str]:
    """The lines that are told of it."""
    return [linecache.getline(each.path, each.line).strip() for each in kept.made]


def test_caches_that_grow_in_workers() -> None:
    seen = recorded(Cached())
    found = {each.pattern: each for each in seen.kept if each.kind == "cache"}
    assert seen.series["cache", "Cached.cache"][-1][1] == 384  # of eight samples a batch, measured at the 48th
    (worker,) = seen.workers
    assert worker.name == "Cached, worker 0"
    assert [step for step, _ in worker.private][:3] == [0, 1, 2]
    assert set(found) == {
        "Cached.cache",
        "Cached.last",
        "tests.test_recorder_batches.CACHE",
        "tests.test_recorder_batches.remembered",
    }
    cache = found["Cached.cache"]
    assert cache.growth is not None
    assert cache.growth.slope == pytest.approx(8)
    assert cache.grows
    # A tensor of 2,000 bytes for each of eight samples, with its key and its place in the dict.
    assert cache.size_per_step == pytest.approx(8 * 2000, rel=0.2)
    assert cache.size == pytest.approx(384 * 2000, rel=0.2)
    assert found["tests.test_recorder_batches.remembered"].size >= 0  # by the worker's own memory
    assert {name.rpartition(".")[2]: filled(each) for name, each in found.items()} == {
        "cache": ["self.cache[index] = torch.zeros(500)"],
        "last": ["self.last.append(index)"],
        "CACHE": ["CACHE.append(index)"],
        "remembered": ["def remembered(index: int) -> int:"],
    }
    assert cache.made[0].function == "Cached.__getitem__"
    assert not found["Cached.last"].grows
    assert found["Cached.last"].bound == "at most 4000"


class Named(Numbers):
    def __init__(self, names: Any) -> None:
        super().__init__(400)
        self.names = names
        self.few = ["cat", "dog"] * 5000

    def __getitem__(self, index: int) -> Any:
        for at in range(100):
            _ = self.names[(index * 89 + at * 409) % len(self.names)]
            _ = self.few[at]
        return super().__getitem__(index)


NAMES = [f"/data/images/training/{each:09d}.jpg" for each in range(30_000)]


@pytest.mark.skipif(sys.platform != "linux", reason="the page table is read from /proc")
@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (list(NAMES), "str"),
        pytest.param(np.array(NAMES, dtype=object), "str", marks=pytest.mark.long),
        pytest.param(dict(enumerate(NAMES)), "str", marks=[pytest.mark.long, pytest.mark.watched]),
        pytest.param([(each, 1) for each in NAMES], "tuple", marks=pytest.mark.long),
        pytest.param([{"path": each} for each in NAMES], "dict", marks=pytest.mark.long),
    ],
)
def test_objects_that_each_worker_copies(names: Any, kind: str) -> None:
    kept = only(recorded(Named(names)), "worker")
    assert kept.pattern == "Named.names"
    assert filled(kept) == ["self.names = names"]
    assert f"30,000 {kind}" in kept.note
    assert kept.count > 10_000
    assert 500_000 < kept.size <= kept.most


@pytest.mark.long
@pytest.mark.watched
def test_the_workers_of_each_epoch() -> None:
    found = recorded(Numbers(80), num_workers=2, epochs=2)
    names = [f"Numbers, worker {number}{again}" for again in ("", ", start 2") for number in (0, 1)]
    assert [each.name for each in found.workers] == names
    assert all(each.private[-1][0] == 5 for each in found.workers)


def test_workers_are_told_in_the_order_of_their_starts() -> None:
    """Whichever of them wrote first, and whatever number the system gave it."""
    seen = workers.Workers()
    for file, (start, number) in enumerate([(10, 0), (9, 1), (9, 0)]):
        worker_side.Report(os.path.join(seen._folder, f"{file}.jsonl"), start, number, Numbers(), ())
    found = [each.name for each in workers.private(seen.read())]
    assert found == ["Numbers, worker 0", "Numbers, worker 1", "Numbers, worker 0, start 2"]


def test_arrays_of_text_are_not_copied() -> None:
    assert not recorded(Named(np.array(NAMES))).leaks


class Edited(Numbers):
    """Its records are edited as they are read."""

    def __init__(self) -> None:
        super().__init__(80)
        self.rows = [{"x": [float(at)] * 8} for at in range(80)]

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        row["x"][0] += 1
        return torch.tensor(row["x"]), index % 3


class Views(Numbers):
    """Its samples are views of what it stores."""

    def __init__(self) -> None:
        super().__init__(80)
        self.data = np.zeros((80, 8), dtype=np.float32)
        self.pair = (torch.zeros(80, 8), torch.zeros(80))

    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.data[index]), index % 3


def listed(samples: list[Any]) -> Any:
    return [x for x, _ in samples], [y for _, y in samples]


@pytest.mark.parametrize("num_workers", [0, 1])
def test_records_that_are_edited(num_workers: int) -> None:
    found = recorded(Subset(Edited(), range(8, 72)), num_workers=num_workers)
    (kept,) = [each for each in found.kept if each.kind == "data"]
    assert kept.holder == "Edited: self.rows[8]"
    assert kept.note == f"changed {stored_samples.READING}; hand out a copy"
    assert kept.made[0].function == "Edited.__getitem__"
    assert not found.leaks


def test_views_that_are_written() -> None:
    loader = DataLoader(Views(), batch_size=8, collate_fn=listed)
    with record() as recording:
        for xs, _ in loader:
            for x in xs:
                x += 1
    (kept,) = recording.record.kept
    assert kept.holder == "Views: self.data[0]"
    assert stored_samples.USING in kept.note


def test_copies_that_are_written_change_nothing_stored() -> None:
    with record() as recording:
        for x, _ in DataLoader(Views(), batch_size=None):
            x = x.clone()
            x += 1
    assert recording.record.kept == ()


def test_stored_elements() -> None:
    data = SimpleNamespace(
        rows=[{"a": 1}],
        data=np.zeros((2, 2)),
        text="ab",
        pair=(torch.zeros(2), [[1]]),
        short=[],
        table={"k": {}},
        names=["a"],
    )
    assert [path for path, _ in stored_samples.stored(data, 0)] == [
        "self.rows[0]",
        "self.data[0]",
        "self.pair[0]",
        "self.pair[0][0]",
        "self.pair[1][0]",
    ]
    assert [path for path, _ in stored_samples.stored(data, "k")] == ["self.table['k']"]
    assert list(stored_samples.stored(data, (1, 2))) == []


def test_checksums() -> None:
    checksum = stored_samples.checksum
    for make in (lambda: torch.zeros(3), lambda: np.ones(4), lambda: {"a": [1, "b"]}, lambda: [1.0, None, b"x"]):
        assert checksum(make()) == checksum(make())
    assert checksum([1]) != checksum([2])
    assert checksum(np.zeros(2)) != checksum(np.ones(2))
    for other in (object(), torch.zeros(1, dtype=torch.bfloat16), np.array([{}], dtype=object)):
        assert checksum(other) == checksum(other) == id(other)
    assert checksum([[[[1]]]]) != checksum([[[[1]]]])


def test_changes_are_told_once_each() -> None:
    change = stored_samples.Change("self.rows[1]", stored_samples.USING, "Rows", "", 0)
    (kept,) = workers.changed([change, change])
    assert kept.made == ()


def test_evaluation_that_builds_graphs() -> None:
    net = network()
    held_out = DataLoader(Numbers(80), batch_size=8)

    def evaluate() -> float:
        return sum(F.cross_entropy(net(x), y).item() for x, y in held_out)  # noqa: TLK501 - recorded

    with record() as recording:
        for _ in range(2):
            train(held_out)
            evaluate()
    (kept,) = recording.record.kept
    assert kept.kind == "evaluation"
    assert "9 of 10 batches" in kept.note
    assert not recording.record.leaks
    with record() as recording:
        train(held_out)
        with torch.no_grad():
            evaluate()
    assert recording.record.kept == ()


def test_hooks_that_pile_up() -> None:
    net = network()

    def look(module: nn.Module, args: Any, out: Any) -> None:
        pass

    class Look:
        def __call__(self, module: nn.Module, args: Any) -> None:
            pass

    def run() -> None:
        opt = optimizer(net)
        for x, y in DataLoader(Numbers(), batch_size=8):
            net.register_forward_hook(look)
            net.register_forward_pre_hook(Look())
            F.cross_entropy(net(x), y).backward()  # type: ignore[no-untyped-call]
            opt.step()

    with record() as recording:
        run()
    found = {each.pattern: each for each in recording.record.growing}
    assert set(found) == {"look in _forward_hooks", "Look in _forward_pre_hooks"} or len(found) == 2
    assert any(each.made and each.made[0].path == __file__ for each in found.values())


def test_hooks_that_stay_are_not_told() -> None:
    net = network()
    net.register_forward_hook(lambda *args: None)
    collector = HookCollector()
    collector.see(Held("net", "net"), net)
    (measure,) = collector.close(Age(0, 0)).values()
    assert measure.value == 1


def test_figures_that_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", SimpleNamespace(get_fignums=lambda: opened))
    found = only(recorded(Numbers(), lambda y: opened.append(1), num_workers=0), "figure")
    assert found.holder == "matplotlib.pyplot"


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        for index in range(200):
            yield torch.full((8,), float(index)), index % 3


def test_a_stream_has_no_length() -> None:
    found = recorded(Stream())
    assert found.steps_per_epoch == 0
    assert not found.leaks


def init(worker: int) -> None:
    torch.manual_seed(worker)


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.long)])
def test_own_worker_init_functions_run_on(method: str) -> None:
    context = multiprocessing.get_context(method)
    loader = DataLoader(Numbers(), batch_size=8, num_workers=1, worker_init_fn=init, multiprocessing_context=context)
    with record() as recording:
        train(loader)
    assert recording.record.kept == ()
    assert loader.worker_init_fn is init


def row(fetched: int, threads: int, opencv: int) -> dict[str, Any]:
    return {"fetched": fetched, "threads": threads, "opencv": opencv, "copied": {}, "sizes": {}, "changes": []}


def test_threads_of_opencv() -> None:
    seen = workers.Workers()
    ((kept, _),) = seen.kept([[row(0, 0, 0), row(1, 3, 4)], [row(0, 0, 0), row(1, 3, 4)]])
    assert kept.kind == "thread"
    assert "3 more threads" in kept.note
    assert list(seen.kept([[row(1, 0, 4)], [row(1, 3, 1)]])) == []
    assert seen.read() == []


def test_the_threads_that_opencv_would_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", SimpleNamespace(getNumThreads=lambda: 4))
    assert worker_side.opencv_threads() == 4
    monkeypatch.delitem(sys.modules, "cv2")
    assert worker_side.opencv_threads() == 0


def test_a_worker_reports_now_and_then(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text("")
    report = worker_side.Report(str(tmp_path / "1.jsonl"), 0, 0, Named(NAMES[:100]), ())
    for _ in range(600):
        report.fetched()
    assert len((tmp_path / "1.jsonl").read_text().splitlines()) == 1 + 16 + 62 + 1


def test_an_observer_measures_after_each_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils.data._utils import fetch

    kinds = (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher)
    before = [kind.fetch for kind in kinds]
    monkeypatch.setattr(worker_side, "get_worker_info", lambda: SimpleNamespace(dataset=Numbers()))
    called: list[int] = []
    try:
        worker_side.Observer(called.append, str(tmp_path), 0, ())(3)
        worker_side.Observer(None, str(tmp_path), 0, ())(3)
        list(DataLoader(Numbers(), batch_size=8))
    finally:
        for kind, method in zip(kinds, before):
            setattr(kind, "fetch", method)  # noqa: B010 - mypy knows each as a method of its own kind
    assert called == [3]
    assert next(tmp_path.iterdir()).read_text().count("\n") > 16


def test_pages_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worker_side.copied((id(NAMES),)) in (0, 1)

    def missing(*args: object) -> Any:
        raise OSError

    monkeypatch.setattr("builtins.open", missing)
    assert worker_side.copied((id(NAMES),)) == 0


def test_containers_of_a_dataset() -> None:
    loop: list[Any] = [[1], {"a": np.array([None], dtype=object)}]
    loop.append(loop)
    data = SimpleNamespace(loop=loop, long=list(range(100)), kind=Numbers, number=1, plain=np.zeros(3))
    found = [path for path, _ in worker_side.containers(data, "data")]
    assert sorted(found) == ["data.long", "data.loop", "data.loop[0]", "data.loop[1]", "data.loop[1]['a']"]


def test_what_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_mallinfo", lambda: None)
    assert process.heap_in_use() is None
    monkeypatch.setattr(process, "_process", object)
    assert process.descriptors() is None
    assert process.device_in_use() is None
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 5)
    assert process.device_in_use() == 5.0
    found = recorded(Numbers(), num_workers=0)
    assert found.heap == ()
    assert found.descriptors == ()
    assert found.device


def test_a_c_library_without_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert process._mallinfo.__wrapped__() is None
