"""What the arguments of `torchleak check` change: `--fix`, `--diff` and `--add-noqa`, and what does not go together."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from flake8_torchleak.config import ConfigError
from flake8_torchleak.shells.formats import FOR_PEOPLE

if TYPE_CHECKING:
    from flake8_torchleak.shells.policy import Policy
    from flake8_torchleak.shells.texts import Complain
    from flake8_torchleak.shells.treatment import Treatment


def wants_change(arguments: argparse.Namespace) -> bool:
    """Whether files are to be changed, or a change shown. Raises ConfigError for arguments that do not go together."""
    arguments.fix = arguments.fix or arguments.fix_only
    if arguments.add_noqa and arguments.fix:
        raise ConfigError("--fix and --add-noqa: run the one, look at the result, then run the other")
    for flag in ("unsafe_fixes", "fix_baselined", "show_fixes"):
        if getattr(arguments, flag) and (arguments.add_noqa or not (arguments.fix or arguments.diff)):
            raise ConfigError(f"--{flag.replace('_', '-')} goes with --fix or --diff")
    if arguments.diff and arguments.output_file is None and arguments.output_format not in FOR_PEOPLE:
        raise ConfigError(
            f"--diff prints a diff, --output-format={arguments.output_format} findings:"
            " choose one, or a place for the findings by --output-file"
        )
    if arguments.ignore_noqa and (arguments.fix or arguments.diff or arguments.add_noqa):
        raise ConfigError("--ignore-noqa only reports: somebody has decided about what the comments hide")
    changes: bool = arguments.fix or arguments.diff or arguments.add_noqa
    return changes


def repairing(arguments: argparse.Namespace, policy: Policy) -> Callable[[Complain], Treatment]:
    """What `--fix` and `--diff` do with each file. Raises ConfigError where libcst is missing."""
    try:
        from flake8_torchleak.shells.repair import Repairing
    except ModuleNotFoundError as error:
        raise ConfigError(f"fixing needs {error.name}: pip install 'flake8-torchleak[fix]'") from error
    return partial(
        Repairing,
        policy,
        unsafe=arguments.unsafe_fixes,
        diff=arguments.diff,
        baselined=arguments.fix_baselined,
        to_stdout="-" in arguments.paths,
        only=arguments.fix_only and not arguments.diff,
        lists=arguments.show_fixes,
    )


def silencing(arguments: argparse.Namespace, policy: Policy) -> Callable[[Complain], Treatment]:
    """What `--add-noqa` does with each file."""
    from flake8_torchleak.shells.silence import Silencing

    return partial(Silencing, policy, diff=arguments.diff, to_stdout="-" in arguments.paths)
