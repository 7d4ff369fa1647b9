"""What a process holds, as far as its own allocator and the operating system tell. None where they do not."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import psutil
import torch


class _Heap(ctypes.Structure):
    """glibc's `struct mallinfo2`; all fields are size_t."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd")),
        *((name, ctypes.c_size_t) for name in ("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")),
    ]


@functools.lru_cache(maxsize=1)
def _mallinfo() -> Callable[[], _Heap] | None:
    """glibc's function (2.33 or newer), looked up once; None elsewhere."""
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError, TypeError):
        return None
    function.restype = _Heap
    found: Callable[[], _Heap] = function
    return found


def heap_in_use() -> float | None:
    """Bytes that this process has allocated by malloc and not freed, the storages of CPU tensors among them."""
    function = _mallinfo()
    if function is None:
        return None
    info = function()
    return float(info.uordblks + info.hblkhd)


def descriptors() -> float | None:
    """Open file descriptors of this process."""
    process = _process()
    return float(process.num_fds()) if hasattr(process, "num_fds") else None


@functools.lru_cache(maxsize=1)
def _process() -> psutil.Process:
    return psutil.Process()


def device_in_use() -> float | None:
    """Bytes that torch has allocated on the current GPU; None if none is in use."""
    in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return float(torch.cuda.memory_allocated()) if in_use else None
