"""Runs a program as Python would, under a recording."""

from __future__ import annotations

import ast
import importlib.util
import os
import runpy
import sys
import tokenize
import traceback
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from types import ModuleType

from flake8_torchleak.recorder import frames
from flake8_torchleak.recorder.recording import Enough, Recording


class NoProgram(Exception):
    """There is no such script or module; the message is one line."""


@dataclass(frozen=True, slots=True)
class Program:
    """A script, or a module as after `python -m`, and its arguments."""

    name: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False

    def find(self) -> str:
        """The path of its file. What lies beside it counts as first-party. Raises NoProgram."""
        path = self._module() if self.is_module else self._script()
        _parse(path)
        frames.adopt(os.path.dirname(path))
        return path

    def _script(self) -> str:
        if not os.path.isfile(self.name):
            raise NoProgram(f"{self.name}: {'is a folder' if os.path.isdir(self.name) else 'no such file'}")
        return os.path.abspath(self.name)

    def _module(self) -> str:
        sys.path.insert(0, os.getcwd())
        try:
            spec = importlib.util.find_spec(self.name)
            if spec is not None and spec.submodule_search_locations:
                spec = importlib.util.find_spec(f"{self.name}.__main__")
                if spec is None:
                    raise NoProgram(f"{self.name}: a package without a module __main__; name one of its modules")
        except ModuleNotFoundError:
            spec = None
        except NoProgram:
            raise
        except Exception as error:
            # To find `a.b` Python imports `a`.
            raise NoProgram(f"{self.name}: {type(error).__name__}: {error}".splitlines()[0]) from error
        finally:
            sys.path.pop(0)
        if spec is None or not spec.origin:
            raise NoProgram(f"{self.name}: no such module")
        return os.path.abspath(spec.origin)

    def run(self) -> None:
        """Run it as `__main__`, with the arguments and the path that it would see alone."""
        place = os.getcwd() if self.is_module else os.path.dirname(os.path.abspath(self.name))
        sys.argv = [self.name, *self.arguments]
        sys.path[0:0] = [place]
        if self.is_module:
            runpy.run_module(self.name, run_name="__main__", alter_sys=True)
        else:
            # As Python does: what the code says of its file stays true when the program goes elsewhere.
            runpy.run_path(os.path.abspath(self.name), run_name="__main__")


def _parse(path: str) -> None:
    """Raise NoProgram, one line, if a file of source does not parse."""
    if not path.endswith(".py"):
        return
    try:
        with tokenize.open(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are shown when it runs
            ast.parse(file.read(), path)
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise NoProgram(f"{path}{line}: {getattr(error, 'msg', error)}") from error
    except OSError as error:
        raise NoProgram(f"{path}: {error.strerror}") from error


def run(
    program: Program, recording: Recording, interrupts: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
) -> str:
    """Run a program under a recording; how it ended, in words, if that was not by itself or by the limit of steps.

    Its exceptions are printed as Python prints them, and go no further. interrupts: those that come from outside.
    """
    argv, path, place = sys.argv[:], sys.path[:], os.getcwd()
    recording.start()
    ended = ""
    try:
        program.run()
    except Enough:
        pass
    except interrupts:
        ended = "it was interrupted"
    except SystemExit as error:
        if error.code not in (None, 0):
            if not isinstance(error.code, int):
                print(error.code, file=sys.stderr)  # as Python does
            ended = f"it exited with {error.code!r}"
    except BaseException as error:
        _show(error)
        ended = f"it raised {type(error).__name__}: {error}".splitlines()[0]
    finally:
        recording.stop()
        sys.argv, sys.path[:] = argv, path
        os.chdir(place)
    return ended


def _show(error: BaseException) -> None:
    """The traceback from the program's own first frame on."""
    trace = error.__traceback__
    while trace is not None and frames.owner(trace.tb_frame.f_code) != frames.OWN:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace or error.__traceback__)


def own_files(before: Collection[str]) -> list[str]:
    """The first-party files of the modules that were imported, but for those of the names `before`."""
    modules = {name: module for name, module in list(sys.modules.items()) if type(module) is ModuleType}
    found = [module.__dict__.get("__file__") for name, module in modules.items() if name not in before]
    return sorted(
        {path for path in found if path and path.endswith(".py") and frames.owner_of_file(path) == frames.OWN}
    )
