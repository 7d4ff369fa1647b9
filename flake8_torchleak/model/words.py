"""Words without which nothing can be found: the gate that most files do not pass.

Plain substrings, because `word in text` costs a tenth of a regular expression or a parse.
"""

from __future__ import annotations

TORCH_WORDS = ("torch", "lightning", "accelerate", "Dataset", "oader", ".backward(", ".eval()")
"""A module with none of these is not about PyTorch (a Dataset's base may come from the project itself)."""

STEP_WORDS = ("backward(", "oader", "_dl", "dl:", ".eval()", "training_step", "train_step", "_iter", "iterator")
"""What makes a loop a step loop: training, a loader, evaluation mode."""

EVALUATION_WORDS = (
    ".eval()", "train(False", "evaluate", "validat", "def eval", "def test", "def val", "def infer", "def predict", "_test(",
    "_eval(", "_val(",
)  # fmt: skip
"""What makes a loop an evaluation loop."""
