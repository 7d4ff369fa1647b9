"""flake8-torchleak: finds PyTorch memory leaks before they run."""

__version__ = "0.1.0"
