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
from flake8_torchleak.finding import Severity
from flake8_torchleak.shells.arguments import parsed
from flake8_torchleak.shells.changing import repairing, silencing, wants_change
from flake8_torchleak.shells.formats import FOR_PEOPLE
from flake8_torchleak.shells.looking import cache, look
from flake8_torchleak.shells.process import Terminated, Unwritable, complain, interruptible, open_streams, settle
from flake8_torchleak.wording import printable

if TYPE_CHECKING:
    from flake8_torchleak.shells.baseline import Baseline
    from flake8_torchleak.shells.settings import Setting
    from flake8_torchleak.shells.texts import Complain, Inputs
    from flake8_torchleak.shells.treatment import Treatment

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
    if not arguments.show_files and not arguments.watch:
        return _checked(arguments)
    from flake8_torchleak.shells.showing import files, print_files
    from flake8_torchleak.shells.watch import watch

    if arguments.show_files:
        return print_files(_inputs(arguments, _settings(arguments)))
    listed = lambda: files(_inputs(arguments, _settings(arguments, says=False)))  # noqa: E731
    return watch(arguments, lambda: _checked(arguments), listed)


def _checked(arguments: argparse.Namespace) -> int:
    """One run over the files."""
    from flake8_torchleak.shells.policy import Policy
    from flake8_torchleak.shells.run import Output, run
    from flake8_torchleak.shells.treatment import Checking

    settings = _settings(arguments)
    inputs = _inputs(arguments, settings)
    policy = Policy(settings, _baseline(inputs, settings), heeds=not arguments.ignore_noqa)
    if arguments.show is not None and (arguments.show < 0 or arguments.output_format not in FOR_PEOPLE):
        raise ConfigError("--show takes a number, and works with the formats text and concise")
    output = Output(
        arguments.output_format,
        arguments.statistics,
        arguments.color,
        arguments.output_file,
        arguments.show,
        arguments.quiet,
        Severity(arguments.fail_on) if arguments.fail_on else None,
        arguments.exit_zero,
    )
    treatment: Callable[[Complain], Treatment]
    if wants_change(arguments):
        treatment = (silencing if arguments.add_noqa else repairing)(arguments, policy)
    else:
        treatment = partial(Checking, policy, look=look(arguments, policy.config, settings))
    return run(inputs, output, treatment)


def _clear(arguments: argparse.Namespace) -> int:
    """`torchleak cache clear`. Raises ConfigError where something cannot be removed."""
    from flake8_torchleak.shells.cache.folder import clear

    place = cache(arguments, _settings(arguments))
    try:
        gone = bool(place) and clear(place)
    except OSError as error:
        raise ConfigError(f"{place}: {error.strerror}") from None
    print(f"Removed {printable(os.path.relpath(place))}." if gone else "There is no cache.")
    return CLEAN


def _settings(arguments: argparse.Namespace, says: bool = True) -> dict[str, Setting]:
    """The settings in force. says: where flake8's differ, on stderr. Raises ConfigError for one that is wrong."""
    from flake8_torchleak.catalogue import catalogue
    from flake8_torchleak.shells.settings import SETTINGS, settings

    try:
        os.getcwd()
    except OSError as error:
        raise ConfigError(f"the current folder: {error.strerror}") from None
    given = {option.name: getattr(arguments, option.field) for option in SETTINGS}
    pairs = list(catalogue())
    found = settings(given, pairs, arguments.config, arguments.isolated)
    if says and not arguments.isolated and not getattr(arguments, "quiet", False):
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
    named = getattr(arguments, "files_from", None)
    if named is not None:
        from flake8_torchleak.shells.showing import listed

        if arguments.paths != ["."]:
            raise ConfigError("--files-from names the files to check: leave out the others")
        arguments.paths, arguments.files_from = listed(named), None
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
    if arguments.output_format == "schema":
        from flake8_torchleak.shells.formats import as_json
        from flake8_torchleak.shells.schema import schema

        sys.stdout.write(as_json(schema()))
        return CLEAN
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


def _scan(arguments: argparse.Namespace) -> int:
    """`torchleak scan`. Raises ConfigError where an extra is missing or an argument is wrong."""
    from flake8_torchleak.shells.scan.command import scan

    return scan(arguments, _settings)


def _completion(arguments: argparse.Namespace) -> int:
    """`torchleak completion`. Raises ConfigError where the extra is missing, or the shell is not known."""
    from flake8_torchleak.shells.completion import script

    sys.stdout.write(script(arguments.shell))
    return CLEAN


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
    "clear": _clear,
    "explain": _explain,
    "rules": _rules,
    "run": _run,
    "completion": _completion,
    "scan": _scan,
    "server": _serve,
}
