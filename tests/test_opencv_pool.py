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
    "Canny-small": "cv2.Canny(cv2.resize(image, (84, 84)), 50, 100)",
}
STARTS_NONE = {
    "blur": "cv2.blur(image, (5, 5))",
    "copyMakeBorder": "cv2.copyMakeBorder(image, 9, 9, 9, 9, cv2.BORDER_REFLECT)",
    "dilate": "cv2.dilate(image, np.ones((5, 5), np.uint8), iterations=3)",
    "filter2D": "cv2.filter2D(image, -1, np.ones((5, 5), np.float32) / 25)",
    "flip": "cv2.flip(image, 1)",
    "medianBlur": "cv2.medianBlur(image, 5)",
    "resize-small": "cv2.resize(image, (256, 256))",
    "cvtColor-small": "cv2.cvtColor(cv2.resize(image, (84, 84)), cv2.COLOR_BGR2GRAY)",
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
    assert ("TLK301" in codes(text)) is (name in STARTS)
    assert (name in STARTS) == (name in POOLED) or "-" in name


@pytest.mark.parametrize(
    ("image", "small"),
    [
        ("cv2.resize(image, (self.size, 224))", True),
        ("cv2.resize(image, dsize=self.shape)", True),
        ("cv2.resize(image, (84, 84), interpolation=cv2.INTER_CUBIC)", True),  # machines differ
        ("cv2.resize(image, self.wide)", False),
        ("cv2.resize(image, (320, 320))", False),
        ("cv2.resize(image, (width, 224))", False),
        ("cv2.resize(image, None, fx=2, fy=2)", False),
        ("cv2.resize(image, None)", False),
        ("cv2.cvtColor(image, 4)", False),
        ("cv2.cvtColor(src=image, code=4)", False),
        ("cv2.cvtColor(small, 4)", True),
        ("cv2.cvtColor(small[..., ::-1], 4)", True),
        ("cv2.cvtColor(small.astype(np.float32) / 255, 4)", True),
        ("cv2.cvtColor(255 - small.astype(np.float32), 4)", True),
        ("cv2.cvtColor(cv2.flip(np.array(small), 1), 4)", True),
        ("cv2.cvtColor(other, 4)", False),
        ("cv2.cvtColor(np.zeros((224, 224, 3)), 4)", True),
        ("cv2.cvtColor(cv2.rotate(small, 0), 4)", False),
        ("cv2.cvtColor(self.small, 4)", False),
        ("cv2.LUT(cv2.resize(image, (224, 224)), table)", True),
        ("cv2.warpAffine(small, matrix, (28, 28))", False),
        ("cv2.cvtColor(last, 4)", False),  # by way of too many variables
        ("cv2.cvtColor(d, 4)", True),
        ("cv2.resize(image, self.given)", True),
    ],
)
def test_images_whose_size_is_seen(image: str, small: bool) -> None:
    init = """
        self.paths = data
        self.size, self.wide = 224, (640, 480)
        self.shape = (28, 28)
        self.given = given
    """
    sample = f"""
        image = cv2.imread(self.paths[i])
        small = cv2.resize(image, (84, 84))
        if i:
            small = cv2.resize(image, (64, 64))
        other = small if i else image
        b = small
        c = b
        d = c
        e = d
        f = e
        g = f
        h = g
        last = h
        return {image}
    """
    text = dataset(init, sample).replace("root, data)", "root, data, given=(32, 32))")
    assert ("TLK301" in codes(text)) is not small
