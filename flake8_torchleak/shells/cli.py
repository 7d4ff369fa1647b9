"""The command `torchleak`: what each of its subcommands does, prints and returns."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from flake8_torchleak.config import ConfigError
from flake8_torchleak.shells.arguments import parsed
from flake8_torchleak.shells.formats import FOR_PEOPLE
from flake8_torchleak.shells.process import Terminated, Unwritable, complain, interruptible, open_streams, settle
from flake8_torchleak.wording import printable

if TYPE_CHECKING:
    from flake8_torchleak.shells.baseline import Baseline
    from flake8_torchleak.shells.policy import Policy
    from flake8_torchleak.shells.run import Treatment
    from flake8_torchleak.shells.settings import Setting
    from flake8_torchleak.shells.texts import Complain, Inputs

CLEAN, FOUND, ERROR = 0, 1, 2
"""Exit statuses: no finding, some findings, and something that could not be checked or done (with or without)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the process's) and return its exit status; argparse may exit itself."""
    argv = sys.argv[1:] if argv is None else argv
    open_streams()
    try:
        with interruptible():
            return _done(argv)
    except Terminated as signal:
        return 128 + signal.number
    finally:
        settle()


def _done(argv: Sequence[str]) -> int:
    try:
        arguments = _parsed(argv)
        status = _COMMANDS[arguments.command](arguments)
        sys.stdout.flush()
    except ConfigError as error:
        _hand_back(argv)
        return _fail(str(error))
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough.
        return FOUND
    except Unwritable as error:
        return _fail(str(error))
    except (OSError, UnicodeEncodeError) as error:
        return _fail(f"cannot write: {getattr(error, 'strerror', None) or error}")
    except KeyboardInterrupt:
        return 130
    return status


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments. Raises SystemExit where all is said, OSError where that cannot be written."""
    try:
        return parsed(argv)
    except SystemExit as error:
        if error.code == ERROR:
            _hand_back(argv)
        sys.stdout.flush()
        raise


def _hand_back(argv: Sequence[str]) -> None:
    """Write stdin to stdout as it is if that was to be changed: whoever reads our output in its place loses nothing."""
    changes = not {"--fix", "--fix-only", "--add-noqa"}.isdisjoint(argv)
    if changes and "-" in argv and "--diff" not in argv and not sys.stdin.isatty():
        with suppress(OSError):  # closed
            sys.stdout.buffer.write(sys.stdin.buffer.read())
            sys.stdout.flush()


def _fail(text: str) -> int:
    complain(f"torchleak: error: {printable(' '.join(text.splitlines()))}\n")
    return ERROR


def _check(arguments: argparse.Namespace) -> int:
    """`torchleak check`. Raises ConfigError for a setting or code that is wrong."""
    from flake8_torchleak.shells.policy import Policy
    from flake8_torchleak.shells.run import Checking, Output, run

    settings = _settings(arguments)
    inputs = _inputs(arguments, settings)
    policy = Policy(settings, _baseline(inputs, settings))
    if arguments.show is not None and (arguments.show < 0 or arguments.output_format not in FOR_PEOPLE):
        raise ConfigError("--show takes a count, and goes with the formats for people: text and concise")
    output = Output(
        arguments.output_format, arguments.statistics, arguments.color, arguments.output_file, arguments.show
    )
    treatment: Callable[[Complain], Treatment] = partial(Checking, policy)
    if _wants_change(arguments):
        treatment = (_silencing if arguments.add_noqa else _repairing)(arguments, policy)
    return run(inputs, output, treatment)


def _wants_change(arguments: argparse.Namespace) -> bool:
    """Whether files are to be changed, or a change shown. Raises ConfigError for arguments that do not go together."""
    arguments.fix = arguments.fix or arguments.fix_only
    if arguments.add_noqa and arguments.fix:
        raise ConfigError("--fix and --add-noqa: run the one, look at the result, then run the other")
    for flag in ("unsafe_fixes", "fix_baselined"):
        if getattr(arguments, flag) and (arguments.add_noqa or not (arguments.fix or arguments.diff)):
            raise ConfigError(f"--{flag.replace('_', '-')} goes with --fix or --diff")
    if arguments.diff and arguments.output_file is None and arguments.output_format not in FOR_PEOPLE:
        raise ConfigError(
            f"--diff prints a diff, --output-format={arguments.output_format} findings:"
            " choose one, or a place for the findings by --output-file"
        )
    changes: bool = arguments.fix or arguments.diff or arguments.add_noqa
    return changes


def _repairing(arguments: argparse.Namespace, policy: Policy) -> Callable[[Complain], Treatment]:
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
    )


def _silencing(arguments: argparse.Namespace, policy: Policy) -> Callable[[Complain], Treatment]:
    """What `--add-noqa` does with each file."""
    from flake8_torchleak.shells.silence import Silencing

    return partial(Silencing, policy, diff=arguments.diff, to_stdout="-" in arguments.paths)


def _settings(arguments: argparse.Namespace) -> dict[str, Setting]:
    """The settings in force. Raises ConfigError for one that is wrong."""
    from flake8_torchleak.rule import all_rules
    from flake8_torchleak.shells.settings import SETTINGS, settings

    try:
        os.getcwd()
    except OSError as error:
        raise ConfigError(f"the current folder: {error.strerror}") from None
    given = {option.name: getattr(arguments, option.field) for option in SETTINGS}
    pairs = [(each.code, each.slug) for each in all_rules()]
    found = settings(given, pairs, arguments.config, arguments.isolated)
    if not arguments.isolated:
        from flake8_torchleak.shells.neighbours import disagreement

        differs = disagreement(found, [code for code, _ in pairs])
        if differs:
            print(f"torchleak: note: {printable(differs)}", file=sys.stderr)
    return found


def _baseline(inputs: Inputs, settings: dict[str, Setting]) -> Baseline | None:
    """The baseline, where there is to be one. Raises ConfigError for a file that is missing or none of ours."""
    file = settings["baseline"].value
    if not file:
        return None
    from flake8_torchleak.shells.baseline import Baseline

    return Baseline(file, inputs.paths)


def _inputs(arguments: argparse.Namespace, settings: dict[str, Setting]) -> Inputs:
    from flake8_torchleak.shells.globs import Globs
    from flake8_torchleak.shells.texts import Inputs

    excluded = Globs(settings["exclude"].value + settings["extend-exclude"].value)
    return Inputs(tuple(arguments.paths), arguments.stdin_filename, excluded, settings["force-exclude"].value)


def _write(arguments: argparse.Namespace) -> int:
    """`torchleak baseline write`. Raises ConfigError where the baseline cannot be written."""
    from flake8_torchleak.shells.baselining import write

    settings = _settings(arguments)
    return write(_inputs(arguments, settings), settings)


def _prune(arguments: argparse.Namespace) -> int:
    """`torchleak baseline prune`. Raises ConfigError where there is no baseline, or it cannot be written."""
    from flake8_torchleak.shells.baselining import prune

    settings = _settings(arguments)
    return prune(_inputs(arguments, settings), settings)


def _config(arguments: argparse.Namespace) -> int:
    """`torchleak config`: the settings in force, for people and programs."""
    from flake8_torchleak.shells.pages import in_force

    sys.stdout.write(in_force(_settings(arguments), arguments.output_format))
    return CLEAN


def _explain(arguments: argparse.Namespace) -> int:
    """`torchleak explain`: the page of a rule, found by code or slug in any case."""
    from flake8_torchleak.shells.fold import columns, reflowed
    from flake8_torchleak.shells.pages import page

    sys.stdout.write(reflowed(page(arguments.rule), columns(sys.stdout)))
    return CLEAN


def _rules(arguments: argparse.Namespace) -> int:
    """`torchleak rules`: what there is, for people, programs and documents."""
    from flake8_torchleak.shells.fold import columns
    from flake8_torchleak.shells.pages import listing

    sys.stdout.write(listing(arguments.output_format, columns(sys.stdout)))
    return CLEAN


def _run(arguments: argparse.Namespace) -> int:
    """`torchleak run`. Raises ConfigError where torch, the extra or the program is missing, or a setting is wrong."""
    try:
        from flake8_torchleak.shells.record import run
    except ModuleNotFoundError as error:
        own = error.name == "torch"
        advice = "install PyTorch where torchleak is" if own else "pip install 'flake8-torchleak[run]'"
        raise ConfigError(f"running a program needs {error.name}: {advice}") from error
    return run(arguments, _settings(arguments))


def _serve(arguments: argparse.Namespace) -> int:
    """`torchleak server`. Raises ConfigError where the extra is missing."""
    try:
        from flake8_torchleak.server.serving import serve
    except ModuleNotFoundError as error:
        raise ConfigError(f"the server needs {error.name}: pip install 'flake8-torchleak[server]'") from error
    serve()
    return CLEAN


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "check": _check,
    "config": _config,
    "write": _write,
    "prune": _prune,
    "explain": _explain,
    "rules": _rules,
    "run": _run,
    "server": _serve,
}
