"""`python -m flake8_torchleak` is `torchleak`."""

import sys

from flake8_torchleak.shells.cli import main

sys.exit(main())
