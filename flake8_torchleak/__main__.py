"""`python -m flake8_torchleak` is `torchleak`."""

import sys

# Processes that Dask starts import this module again, by another name.
if __name__ == "__main__":
    # Python puts the current folder first, and with it what a checkout calls like a module of Python's or of ours.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]

    from flake8_torchleak.shells.cli import main

    sys.exit(main())
