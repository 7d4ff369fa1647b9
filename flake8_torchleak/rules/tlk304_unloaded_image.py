"""unloaded-image: images are opened with PIL and kept unread, each with an open file.

Leaks
-----
    self.images = [Image.open(path) for path in sorted(folder.glob("*.jpg"))]

Instead
-------
    self.images = [Image.open(path).convert("RGB") for path in sorted(folder.glob("*.jpg"))]

Why
---
`Image.open` reads the header and keeps the file open until the pixels are asked for. A container of opened images
holds one descriptor for each: "Too many open files" at the usual limit of 1,024. Forked workers share the files'
positions: those of one epoch leave every file that they read at its end, and those of the next find nothing there.
Source: Pillow's documentation on file handling, pytorch/vision#539.

Measured
--------
500 opened PNG images in a list: 500 descriptors; copied: 0. At a limit of 256 descriptors: OSError, "Too many
open files". With two forked workers, 0 images fail in the first epoch and 500 of 500 in the second; copied 0
(Pillow 13).

By hand, read with `.load()` or `.convert("RGB")`: 0 descriptors, too.

Run by `fixtures/TLK304_unloaded_image/proof.py`, fixed by `torchleak check --fix`: torch 2.13.0+cpu, Python
3.11.7, 2 cores, no GPU.

When it stays silent
--------------------
The image is read at once (`.convert`, `.load`, `.copy`, `np.array(...)`), opened in a `with` block or per sample, or
the file does not show that it is one of many. A note where the container is a variable: its files are closed when the
function returns.

How to fix it
-------------
`.copy()` where the image is opened: decoded, in its own mode, without its file. Unsafe: all pixels are in memory then
(600 KB for 450 x 450), and file name and format are not copied. For large sets keep the paths, and open per sample.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.builder import Builder
from flake8_torchleak.finding import Fix, FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.images import may_keep_images, unloaded
from flake8_torchleak.model.module import Module
from flake8_torchleak.rule import Report, rule


@rule(
    "TLK304",
    "unloaded-image",
    fix=FixLevel.UNSAFE,
    severity=Severity.WARNING,
    subject=Subject.TORCH,
    words=("Image.open", "PIL.Image import"),
    shape=may_keep_images,
)
def check(module: Module) -> Iterator[Report]:
    for each in unloaded(module):
        yield Report(
            each.call,
            f"one file stays open per image: `{each.name}` keeps images that are opened but not read; "
            "store `Image.open(...).copy()`, or the paths",
            severity=Severity.WARNING if each.kept else Severity.NOTE,
            why="the files are closed when the function returns",
            target=each.call,
        )


def fix(report: Report, build: Builder) -> Iterator[Fix]:
    """`.copy()`, which reads the image and lets go of its file."""
    assert isinstance(report.target, ast.Call)
    yield Fix(FixLevel.UNSAFE, "read the image here: store a copy (`.copy()`)", build.method(report.target, "copy"))
