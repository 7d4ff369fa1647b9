"""From keystroke to diagnostics, as an editor sees it: `torchleak server` is driven over JSON-RPC.

usage: python benchmarks/keystroke.py [--package FOLDER]... [--edits N] [--every MS] [--debounce MS] FILE...

For each file, N statements are typed into functions of it, letter by letter every so many milliseconds; then the time
from the last letter to the diagnostics of this very text is taken, less the debounce, and the server's CPU meanwhile
and, for a letter, from the first one on. With several packages (folders that hold `flake8_torchleak`) each file is
given to each of them in turn, so that a busy machine is busy for all. What other files hold is followed as the settings
there say. No file is written. Linux only: CPU is that of /proc. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TYPED = "shape_ = len([0])"
"""What is typed, or its beginning, below."""
PAUSES = (8, 12, 14, 17)
"""After how many letters somebody stops to think, each in turn: two of these texts parse, as usual."""


class Client:
    """An editor, as far as a server can tell."""

    def __init__(self, package: Path, folder: Path, debounce: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(package)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "flake8_torchleak", "server"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._news: queue.Queue[tuple[float, dict[str, Any]]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        options = {"debounce": debounce}
        params = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}, "initializationOptions": options}
        self._send("initialize", params, id=1)
        while self._news.get(timeout=60)[1].get("id") != 1:
            pass
        self._send("initialized", {})

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        while line := out.readline():
            if line.lower().startswith(b"content-length"):
                length = int(line.split(b":")[1])
                while out.readline().strip():
                    pass  # other headers
                self._news.put((time.perf_counter(), json.loads(out.read(length))))

    def _send(self, method: str, params: object, **more: object) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        pipe = self._process.stdin
        assert pipe is not None
        pipe.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        pipe.flush()

    def open(self, path: Path, text: str) -> float:
        """When it was told that a file is open."""
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        self._send("textDocument/didOpen", {"textDocument": document})
        return time.perf_counter()

    def change(self, path: Path, version: int, text: str, line: int, col: int, gone: int = 0) -> float:
        """When it was told of a change in one line: `gone` units behind `col` are replaced."""
        place = {"start": {"line": line, "character": col}, "end": {"line": line, "character": col + gone}}
        document = {"uri": path.as_uri(), "version": version}
        self._send(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [{"range": place, "text": text}]}
        )
        return time.perf_counter()

    def close(self, path: Path) -> None:
        """The file is open no more."""
        self._send("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})

    def shown(self, path: Path, version: int) -> float:
        """When diagnostics of a version arrived."""
        uri = path.as_uri()
        while True:
            when, message = self._news.get(timeout=120)
            params = message.get("params", {})
            if params.get("uri") == uri and params.get("version") == version:
                return when

    @property
    def cpu(self) -> float:
        """Seconds of all its threads."""
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks) / 1e9

    def end(self) -> None:
        """Leave."""
        self._send("shutdown", None, id=2)
        self._send("exit", None)
        self._process.wait(20)


def places(text: str, chosen: random.Random, count: int) -> Iterator[tuple[int, int]]:
    """Lines (0-based) of statements in functions, and their indents."""
    functions = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef) and len(each.body) > 1]
    for _ in range(count if functions else 0):
        statement = chosen.choice(chosen.choice(functions).body[1:])
        above = getattr(statement, "decorator_list", [])
        yield min([statement.lineno, *(each.lineno for each in above)]) - 1, statement.col_offset


def typed(
    client: Client, path: Path, at: tuple[int, int], word: str, version: int, every: float
) -> tuple[tuple[float, float, float], int]:
    """Type a word into a line of its own: seconds from the last letter to diagnostics, CPU then, CPU a letter.

    And the last version.
    """
    line, indent = at
    client.change(path, version, " " * indent + "\n", line, 0)
    client.shown(path, version)
    before = last = client.cpu
    sent = 0.0
    for number, letter in enumerate(word):
        time.sleep(every)
        version += 1
        last = client.cpu
        sent = client.change(path, version, letter, line, indent + number)
    took = client.shown(path, version) - sent
    last = client.cpu - last
    time.sleep(0.05)  # what it does afterwards (the collector) is its CPU, too
    a_letter = (client.cpu - before) / len(word)
    version += 1
    client.change(path, version, "\n", line, 0, indent + len(word))
    client.shown(path, version)
    return (took, last, a_letter), version


def part(found: list[float], share: float) -> float:
    """In milliseconds: what such a share of the figures is at most."""
    return 1000 * sorted(found)[min(int(len(found) * share), len(found) - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--package", action="append", type=Path, help="folders that hold flake8_torchleak")
    parser.add_argument("--edits", type=int, default=4)
    parser.add_argument("--every", type=int, default=120, help="milliseconds between two letters")
    parser.add_argument("--debounce", type=int, default=150)
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    packages = args.package or [Path(__file__).parents[1]]
    folder = Path(os.path.commonpath([each.resolve().parent for each in args.files]))
    clients = [Client(each.resolve(), folder, args.debounce) for each in packages]
    figures: list[list[tuple[float, float, float]]] = [[] for _ in clients]
    for path in (each.resolve() for each in args.files):
        text = path.read_text(encoding="utf-8")
        for client, found in zip(clients, figures):
            client.open(path, text)
            client.shown(path, 1)
            version, pauses = 2, itertools.cycle(PAUSES)
            for at in places(text, random.Random(path.name), args.edits):
                taken, version = typed(client, path, at, TYPED[: next(pauses)], version, args.every / 1000)
                found.append((taken[0] - args.debounce / 1000, *taken[1:]))
                version += 1
            client.close(path)
            last = (f"{1000 * each[0]:.0f} ({1000 * each[1]:.0f})" for each in found[-args.edits :])
            print(*last, path.name, file=sys.stderr)
    print("milliseconds: p50, p75, p95, most | beyond the debounce | CPU meanwhile | CPU a letter | typed")
    for package, found in zip(packages, figures):
        columns = (", ".join(f"{part(list(each), p):.0f}" for p in (0.5, 0.75, 0.95, 1)) for each in zip(*found))
        print(package, *columns, len(found), sep=" | ")
    for client in clients:
        client.end()


if __name__ == "__main__":
    main()
