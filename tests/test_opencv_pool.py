"""Which functions of OpenCV start threads: measured again, one process a call."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flake8_torchleak.model.opencvpool import POOLED
from tests.model import codes, dataset

STARTS = {
    "cvtColor": "cv2.cvtColor(image, cv2.COLOR_BGR2RGB)",
    "warpAffine": "cv2.warpAffine(image, np.float32([[1, 0.1, 3], [0.1, 1, 2]]), (640, 480))",
    "resize": "cv2.resize(image, (1280, 960))",
}
STARTS_NONE = {
    "blur": "cv2.blur(image, (5, 5))",
    "copyMakeBorder": "cv2.copyMakeBorder(image, 9, 9, 9, 9, cv2.BORDER_REFLECT)",
    "dilate": "cv2.dilate(image, np.ones((5, 5), np.uint8), iterations=3)",
    "filter2D": "cv2.filter2D(image, -1, np.ones((5, 5), np.float32) / 25)",
    "flip": "cv2.flip(image, 1)",
    "medianBlur": "cv2.medianBlur(image, 5)",
    "morphologyEx": "cv2.morphologyEx(image, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))",
}
PROGRAM = """\
import os, cv2, numpy as np

image = np.random.default_rng(0).integers(0, 255, (480, 640, 3), np.uint8)
before = len(os.listdir("/proc/self/task"))
{}
print(cv2.getNumThreads(), len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads as Linux lists them")
@pytest.mark.parametrize("name", [*STARTS, *STARTS_NONE])
def test_the_threads_that_one_call_starts(name: str) -> None:
    pytest.importorskip("cv2")
    call = {**STARTS, **STARTS_NONE}[name]
    program = [sys.executable, "-c", PROGRAM.format(call)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=600)
    allowed, started = map(int, done.stdout.split())
    if allowed > 1:
        assert (started > 0) == (name in STARTS)


@pytest.mark.parametrize("name", [*STARTS, *STARTS_NONE])
def test_who_starts_threads_is_reported(name: str) -> None:
    call = {**STARTS, **STARTS_NONE}[name]
    text = dataset("self.paths = data", f"image = cv2.imread(self.paths[i])\nreturn {call}")
    assert ("TLK301" in codes(text)) is (name in STARTS) is (name in POOLED)
