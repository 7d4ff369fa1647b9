"""cv2-threads: OpenCV computes in DataLoader workers with a thread pool of its own in each.

Leaks
-----
    import cv2

    class Photos(Dataset):
        def __getitem__(self, i):
            return cv2.cvtColor(cv2.imread(self.paths[i]), cv2.COLOR_BGR2RGB)

Instead
-------
    import cv2

    cv2.setNumThreads(0)

    class Photos(Dataset):
        def __getitem__(self, i):
            return cv2.cvtColor(cv2.imread(self.paths[i]), cv2.COLOR_BGR2RGB)

Why
---
OpenCV starts as many threads as there are cores, in every worker: workers x cores threads compete. That costs
switches between them, little memory, and on machines of many cores it may cost time; it is no leak. torch's own limit
of one thread per worker does not reach OpenCV. Reports tie deadlocks after fork to some builds (OpenMP); they were
not reproduced with the wheel from PyPI.

The call must run in the worker: at module level of the worker-side module, in worker_init_fn, or in the sample
method. In `Dataset.__init__` or under `if __name__ == "__main__":` it does not reach spawned workers. A helper module
is reported at its import of cv2, where the Dataset of another module calls it in its workers and leaves all computing
to it: the call may as well stand in the Dataset's module. All of this is a note, as no difference in time was measured.
Exactly 0: `setNumThreads(1)` in a forked child joins threads that are not there, and can hang; that is an error.

Measured
--------
2 cores, opencv-python-headless 5.0.0.93: OpenCV adds 1 thread to a forked worker, 1 to a spawned one; with
`setNumThreads(0)` 0 and 0. Threads it may use in the worker: 2, fixed 1; called in `Dataset.__init__`: 1 under
fork, 2 under spawn, 2 under forkserver; in worker_init_fn or the sample method, spawn: 1. `setNumThreads(1)` in
a child forked while the parent's pool sleeps: 4 of 4 hang; 0: 0.

By hand, two processes on two cores that resize and blur 150 images: 90 to 120 involuntary switches between
threads with 0 threads, 200 to 360 with 2, 3,500 to 15,000 with 16 and 7,700 to 32,000 with 32 each; a thread
adds less than 0.1 MB. CPU time differs by less than it does from run to run. Machines of many cores, and builds
with OpenMP: not run here.

Run by `fixtures/TLK301_cv2_threads/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
`cv2.setNumThreads(0)` reaches the workers, OpenCV only reads and writes files, runs outside workers (in a Dataset for
which the program has none, in all of its files, settings and scripts; in an object that is called to evaluate, as it
makes a loader or sets a network's mode), or only does what starts no thread for images of 640x480: flip, rotate,
copyMakeBorder, normalize, blur, medianBlur, dilate, erode, filter2D, Sobel, drawing and the like. Nor does what is
divided by size where the image is seen to be small: resize to 256x256 at most, cvtColor, threshold and
bilateralFilter of such an image, equalizeHist and LUT of one of less than 512x512.

How to fix it
-------------
`cv2.setNumThreads(0)` below the imports of the module, and 0 for 1. Unsafe: OpenCV in the main process slows down too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flake8_torchleak.builder import Builder, Unfixable
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.opencv import OpenCV
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import short

_IMPORT = re.compile(r"^(?:import|from) cv2\b", re.MULTILINE)
_MESSAGE = "may be slow: each worker starts an OpenCV thread per core ({}); add `{}` below the imports"


@rule("TLK301", "cv2-threads", fix=FixLevel.UNSAFE, severity=Severity.WARNING, subject=Subject.OPENCV)
def check(module: Module) -> Iterator[Report]:
    text = module.source.text
    if not any(word in text for word in ("Dataset", "DataLoader")):
        if not _IMPORT.search(text) or not module.users.paths("Dataset"):
            return  # told before the tree is indexed: most modules with OpenCV are no Dataset's helper
    opencv = OpenCV(module)
    for call in opencv.hanging:
        yield Report(
            call,
            "the worker can hang: `cv2.setNumThreads(1)` waits for threads that a forked process does not have; pass 0",
            severity=Severity.ERROR,
            target=call,
        )
    if not module.notes:
        return  # all that follows is notes
    use = opencv.first_use
    if opencv.is_guarded:
        return
    if use is None:
        helping = opencv.first_use_from_elsewhere
        if helping is not None:
            statement, how = helping
            yield Report(statement, _MESSAGE.format(how, _setting(statement)), severity=Severity.NOTE)
        return
    call, function, how = use
    owner = module.classes.around(call)
    where = function.name if owner is None else f"{owner.node.name}.{function.name}"
    yield Report(
        call,
        _MESSAGE.format(f"`{short(call.func)}` in `{where}`", _setting(call.func)),
        notes=(
            (function, f"`{where}` {how}"),
            *((each, "spawned workers do not run this call") for each in opencv.out_of_reach),
        ),
        severity=Severity.NOTE,
    )


def _setting(used: ast.AST) -> str:
    """The statement that switches the threads off, by the name under which the file has cv2."""
    if isinstance(used, ast.Attribute):
        return f"{short(used.value)}.setNumThreads(0)"
    if isinstance(used, ast.Import):
        name = next((each.asname or each.name for each in used.names if each.name == "cv2"), "cv2")
        return f"{name}.setNumThreads(0)"
    return "import cv2; cv2.setNumThreads(0)"


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`cv2.setNumThreads(0)` below the imports; 0 for the 1 that can hang."""
    if isinstance(report.target, ast.Call):
        yield Fix(FixLevel.UNSAFE, "pass 0 instead of 1", build.replaced(report.target.args[0], "0"))
        return
    if not OpenCV(build.module).is_imported_at_top:
        raise Unfixable("cv2 is imported under a condition or inside a function")
    called, imported = build.reference("cv2.setNumThreads", report.node)
    below = build.below_imports(f"{called}(0)", called.partition(".")[0])
    yield Fix(FixLevel.UNSAFE, f"call `{called}(0)` below the imports", (*imported, *below))
