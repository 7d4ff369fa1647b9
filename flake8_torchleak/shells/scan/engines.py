"""Where the work is done. Each engine yields what becomes of each task as it is done, in any order.

The scheduling, the retries and what happens where a machine is lost are those of Dask and Ray.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from flake8_torchleak.config import ConfigError

Done = tuple[str, Any]
"""A task's name, and its result or the exception that it ended with."""


class Task(NamedTuple):
    """A call that can be sent elsewhere."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Place(NamedTuple):
    """Where and how often. workers: how many at a time on this machine; address: of a cluster that there is already."""

    workers: int
    address: str
    retries: int


def local(tasks: Mapping[str, Task], place: Place) -> Iterator[Done]:
    """On this machine, without an engine. Threads are enough: each task is a process of its own."""
    if place.address:
        raise ConfigError("scan: --address is of a cluster: it goes with --on=dask or --on=ray")
    with ThreadPoolExecutor(place.workers) as pool:
        futures = {pool.submit(_again, task, place.retries): name for name, task in tasks.items()}
        try:
            for future in as_completed(futures):
                yield futures[future], future.exception() or future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _again(task: Task, retries: int) -> Any:
    try:
        return task.function(*task.arguments)
    except Exception:
        if not retries:
            raise
    return _again(task, retries - 1)


def dask(tasks: Mapping[str, Task], place: Place) -> Iterator[Done]:
    """On Dask: a cluster that there is, or one of processes on this machine."""
    try:
        engine: Any = importlib.import_module("distributed")
    except ModuleNotFoundError as error:
        raise ConfigError(f"scan: Dask needs {error.name}: pip install 'flake8-torchleak[scan]'") from error
    if place.address:
        with _reached(lambda: engine.Client(place.address, timeout=20), place.address) as client:
            yield from _of_dask(client, engine.as_completed, tasks, place.retries)
        return
    with (
        engine.LocalCluster(n_workers=place.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        engine.Client(cluster) as client,
    ):
        yield from _of_dask(client, engine.as_completed, tasks, place.retries)


def _of_dask(client: Any, as_completed: Any, tasks: Mapping[str, Task], retries: int) -> Iterator[Done]:
    futures = {
        client.submit(task.function, *task.arguments, key=f"torchleak-{name}", retries=retries, pure=False): name
        for name, task in tasks.items()
    }
    waiting = as_completed(list(futures))
    for future in waiting:
        yield futures.pop(future), future.exception() or future.result()
        future.release()


def ray(tasks: Mapping[str, Task], place: Place) -> Iterator[Done]:
    """On Ray: a cluster that there is, or one on this machine."""
    try:
        engine: Any = importlib.import_module("ray")
    except ModuleNotFoundError as error:
        raise ConfigError(f"scan: Ray needs {error.name}: pip install 'flake8-torchleak[ray]'") from error
    if place.address:
        _reached(lambda: engine.init(address=place.address, log_to_driver=False), place.address)
    else:
        engine.init(num_cpus=place.workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        remote: dict[Any, Any] = {}
        started = {}
        for name, task in tasks.items():
            if task.function not in remote:
                remote[task.function] = engine.remote(max_retries=place.retries, retry_exceptions=True)(task.function)
            started[remote[task.function].remote(*task.arguments)] = name
        while started:
            (first,), _ = engine.wait(list(started), num_returns=1)
            try:
                result = engine.get(first)
            except engine.exceptions.RayError as error:
                result = getattr(error, "cause", None) or error
            yield started.pop(first), result
    finally:
        engine.shutdown()


def _reached(connect: Callable[[], Any], address: str) -> Any:
    try:
        return connect()
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"scan: there is no cluster at {address}: {' '.join(str(error).split())}") from error


ENGINES: Mapping[str, Callable[[Mapping[str, Task], Place], Iterator[Done]]] = {
    "local": local,
    "dask": dask,
    "ray": ray,
}
