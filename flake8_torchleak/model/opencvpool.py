"""Which functions of OpenCV use its threads: measured, see `tests/test_opencv_pool.py`, which measures again.

The threads of a fresh process before and after one call on an image of 640x480, by opencv-python-headless 4.10.0.84
and 5.0.0.93, which agree. Of images above some 1024x768 (HD is one), 5.0 splits the work of dilate, erode,
morphologyEx, filter2D, sepFilter2D, Sobel, Scharr, Laplacian and adaptiveThreshold as well; 4.10 does not up to
4000x3000, and neither version that of blur, boxFilter, medianBlur, pyrUp and matchTemplate.

By 5.0.0.93 on square images of 28 to 1024 pixels a side: resize, cvtColor, threshold, bilateralFilter and
calcOpticalFlowFarneback start none up to 256x256, and one at 320x320; equalizeHist none up to 512x512, LUT none below
that; warps, GaussianBlur, Canny and pyrDown start one at 28x28. Machines differ: on one with 2 MiB of cache a core,
cubic and Lanczos resize start none up to 300x300, with IPP or without, on another one at 64x64; and bilateralFilter
none at 640x640 (without IPP one at 320x320). Why was not found out.
"""

from __future__ import annotations

_SMALL = 65_536
"""Pixels that are one piece of work: 256x256. More are divided."""
POOLED = {
    **dict.fromkeys(("resize", "cvtColor", "bilateralFilter", "threshold", "calcOpticalFlowFarneback"), _SMALL),
    **dict.fromkeys(("LUT", "equalizeHist"), 4 * _SMALL - 1),
    **dict.fromkeys(("warpAffine", "warpPerspective", "remap", "GaussianBlur", "Canny", "pyrDown", "undistort"), 0),
    **dict.fromkeys(("distanceTransform", "grabCut", "inpaint", "fastNlMeansDenoisingColored"), 0),
    **dict.fromkeys(("linearPolar", "warpPolar"), 0),
}
"""Heavy functions that augmentation uses and that start threads, at least in one of their ways, and the most pixels of
an image for which they start none: of the image that resize makes, of the one that all others are given.

distanceTransform: the precise one.
"""
