"""Which functions of OpenCV use its threads: measured, see `tests/test_opencv_pool.py`, which measures again.

The threads of a fresh process before and after one call on an image of 640x480, by opencv-python-headless 4.10.0.84
and 5.0.0.93, which agree. Of images above some 1024x768 (HD is one), 5.0 splits the work of dilate, erode,
morphologyEx, filter2D, sepFilter2D, Sobel, Scharr, Laplacian and adaptiveThreshold as well; 4.10 does not up to
4000x3000, and neither version that of blur, boxFilter, medianBlur, pyrUp and matchTemplate.
"""

from __future__ import annotations

POOLED = frozenset({
    "resize", "cvtColor", "warpAffine", "warpPerspective", "remap", "GaussianBlur", "bilateralFilter", "Canny",
    "threshold", "equalizeHist", "LUT", "pyrDown", "undistort", "distanceTransform", "grabCut", "inpaint",
    "calcOpticalFlowFarneback", "fastNlMeansDenoisingColored", "linearPolar", "warpPolar",
})  # fmt: skip
"""Heavy functions that augmentation uses and that start threads, at least in one of their ways.

resize: when it enlarges, or with cubic interpolation; distanceTransform: the precise one.
"""
