"""`torchleak completion`: scripts for shells, made by shtab from the very arguments that the command takes."""

from __future__ import annotations

from flake8_torchleak.config import ConfigError
from flake8_torchleak.shells.arguments import complete

_FILES = frozenset({"paths", "program", "config", "output_file", "stdin_filename", "baseline", "html"})
"""Arguments that are the name of a file."""


def script(shell: str) -> str:
    """The script for a shell. Raises ConfigError where shtab is missing or does not know the shell."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise ConfigError("completion needs shtab: pip install 'flake8-torchleak[completion]'") from None
    if shell not in shtab.SUPPORTED_SHELLS:
        raise ConfigError(f"completion: expected one of {', '.join(shtab.SUPPORTED_SHELLS)}, not {shell!r}")
    parser = complete()
    waiting = [parser]
    while waiting:
        each = waiting.pop()
        for action in each._actions:
            if action.dest in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
        waiting += (each.commands or {}).values()
    return str(shtab.complete(parser, shell))
