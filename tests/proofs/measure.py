"""What can be read about a process from outside (/proc), and about the own heap (glibc). Linux only."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

KB = 1024
MB = 1024 * 1024


def smaps_rollup(pid: int) -> dict[str, int]:
    """Sizes in bytes by name (Rss, Pss, Private_Dirty ...), summed over all mappings of a process."""
    sizes = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        sizes[name] = int(rest.split()[0]) * KB
    return sizes


def private(pid: int) -> int:
    """Bytes that this process alone holds and has written, or copied on write: what its end would give back.

    Clean pages are left out: they are pages of files (libraries), and private or not by who else runs at the time.
    """
    return smaps_rollup(pid)["Private_Dirty"]


def proportional(pid: int) -> int:
    """Bytes in memory, every page divided by the number of processes that share it: adds up over processes."""
    return smaps_rollup(pid)["Pss"]


def descriptors(pid: int) -> int:
    """Number of open file descriptors."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads(pid: int) -> int:
    """Number of threads."""
    return len(os.listdir(f"/proc/{pid}/task"))


def shared_mappings(pid: int) -> dict[str, int]:
    """Mapped bytes by inode of what torch has put into shared memory (/dev/shm), deleted or not."""
    found: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/dev/shm/"):
            first, last = (int(address, 16) for address in fields[0].split("-"))
            inode = f"{fields[3]}:{fields[4]}"
            found[inode] = found.get(inode, 0) + last - first
    return found


class _Heap(ctypes.Structure):
    """glibc's `struct mallinfo2`; all fields are size_t."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd")),
        *((name, ctypes.c_size_t) for name in ("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")),
    ]


def heap_in_use() -> int:
    """Bytes that this process has allocated from malloc and not freed, tensors' storages among them.

    Exact where the size of the process is not: memory that was freed is not counted although the process keeps it.
    """
    info = _mallinfo()()
    return int(info.uordblks) + int(info.hblkhd)


@lru_cache(maxsize=1)
def _mallinfo() -> Callable[[], _Heap]:
    # Looked up once: each CDLL is a cycle of objects, garbage in the very heap that is measured.
    function = ctypes.CDLL(None).mallinfo2
    function.restype = _Heap
    return function


def worker_pids() -> list[int]:
    """The worker processes of this process's Loaders, in the order in which they were started."""
    started = [each for each in multiprocessing.active_children() if each.pid is not None]
    return [each.pid for each in sorted(started, key=lambda each: each.pid or 0) if each.pid is not None]


def _mean_of_workers(measure: Callable[[int], int], unit: int) -> float:
    pids = worker_pids()
    return sum(measure(pid) for pid in pids) / unit / max(len(pids), 1)


Measure = Callable[[], float]

MEASURES: dict[str, Measure] = {
    "heap_kb": lambda: heap_in_use() / KB,
    "main_private_mb": lambda: private(os.getpid()) / MB,
    "main_descriptors": lambda: float(descriptors(os.getpid())),
    "main_maps": lambda: float(len(shared_mappings(os.getpid()))),
    "main_shared_mb": lambda: sum(shared_mappings(os.getpid()).values()) / MB,
    "worker_private_mb": lambda: _mean_of_workers(private, MB),
    "worker_descriptors": lambda: _mean_of_workers(descriptors, 1),
    "worker_maps": lambda: _mean_of_workers(lambda pid: len(shared_mappings(pid)), 1),
    "worker_threads": lambda: _mean_of_workers(threads, 1),
    "all_pss_mb": lambda: sum(proportional(pid) for pid in (os.getpid(), *worker_pids())) / MB,
}
"""What a Bench can watch while batches go by; of workers the mean per worker."""


def unavailable() -> str:
    """Why nothing can be measured here; empty where it can."""
    if sys.platform != "linux":
        return "proofs read /proc and glibc: Linux only"
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        return "proofs ask glibc 2.33 or newer how much of the heap is in use"
    return ""
