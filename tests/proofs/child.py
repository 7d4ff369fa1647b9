"""The process that runs a proof's variants: `python -m tests.proofs.child PROOF_FILE JOBS_FILE`.

It imports torch and the proof once, then forks a child for each variant, as many at once as there are cores: a
variant begins with a fresh copy of everything. Spawned workers import this module once more, so it imports nothing
heavy and does nothing by itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.proofs.bench import Bench
from tests.proofs.proof import Proof


@dataclass(frozen=True)
class Job:
    """One variant: the linted file to import, an empty folder for its data, where to write output and results."""

    variant: str
    source: str
    folder: str
    output: str
    result: str
    seconds: float


def main(proof_file: str, jobs_file: str) -> None:
    """Run all jobs. A job that failed, or was killed when its time was up, has written no result."""
    import torch

    torch.set_num_threads(1)
    # Imported by its plain name, as the linted files are: its classes can then be unpickled in spawned workers.
    sys.path.insert(0, str(Path(proof_file).parent))
    proof: Proof = importlib.import_module("proof").PROOF
    # What was imported is old: else the first collections in a worker would write into it, or not, by chance.
    gc.collect()
    waiting = [Job(**each) for each in json.loads(Path(jobs_file).read_text(encoding="utf-8"))]
    running: dict[int, tuple[Job, float]] = {}
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            job = waiting.pop(0)
            pid = os.fork()
            if pid == 0:
                _run(proof, job)
            running[pid] = job, time.monotonic() + job.seconds
        time.sleep(0.02)
        for pid, (job, end) in list(running.items()):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del running[pid]
            elif time.monotonic() > end:
                del running[pid]
                with contextlib.suppress(ProcessLookupError):  # it may not have its group yet
                    os.killpg(pid, signal.SIGKILL)
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                Path(job.output).write_text(f"no end after {job.seconds} s", encoding="utf-8")


def _run(proof: Proof, job: Job) -> NoReturn:
    """In the forked child: a group of its own, which can be killed with all workers."""
    import torch

    os.setsid()
    output = os.open(job.output, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # One start method for all variants unless one asks for another: Python's default changed in 3.14.
    multiprocessing.set_start_method("fork")
    torch.manual_seed(0)
    (variant,) = [each for each in proof.variants if each.name == job.variant]
    bench = Bench(Path(job.source), Path(job.folder))
    variant.run(bench, **variant.options)
    Path(job.result).write_text(json.dumps({"figures": bench.figures, "series": bench.series}), encoding="utf-8")
    # An orderly exit: workers that are still there are ended, and names in /dev/shm removed.
    sys.exit()


if __name__ == "__main__":
    main(*sys.argv[1:])
