"""Measures a training run on the real torch: what it keeps across steps, where that was made, and who holds it.

Imports torch, so nothing of the linter imports it. `record` is what programs and tests use; `torchleak run` the rest.
"""

from flake8_torchleak.recorder.recording import Recording, record
from flake8_torchleak.recorder.result import Kept, Record, Site

__all__ = ["Kept", "Record", "Recording", "Site", "record"]
