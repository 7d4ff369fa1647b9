"""What a scan writes: one table of findings, and two that sum it up, as JSON lines or Parquet."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from flake8_torchleak.config import ConfigError
from flake8_torchleak.fixing.write import WriteError, put
from flake8_torchleak.shells.scan.repositories import Repository

FORMATS = ("jsonl", "parquet")
TABLES = ("findings", "repositories", "rules")
SEVERITIES = ("error", "warning", "note")

Row = dict[str, Any]


class Parts:
    """What is known of each repository: a file of its own, so that a scan can be ended at any time.

    asked: what the results depend on besides the checkout: a part that was asked otherwise counts for nothing.
    """

    def __init__(self, folder: str, asked: Mapping[str, object]) -> None:
        self._folder = os.path.join(folder, "parts")
        self._asked = dict(asked)
        try:
            os.makedirs(self._folder, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"scan: {folder}: {error.strerror or error}") from None

    def load(self, repository: Repository) -> Row | None:
        """What is known; None where that is nothing, not of this commit, or no part."""
        try:
            with open(self._path(repository), encoding="utf-8") as file:
                part = json.load(file)
        except (OSError, ValueError):
            return None
        key = self._key(repository)
        return part["result"] if isinstance(part, dict) and part.get("of") == key and "result" in part else None

    def save(self, repository: Repository, result: Row) -> None:
        """Keep it, in one step. Raises ConfigError where that cannot be written."""
        text = json.dumps({"of": self._key(repository), "result": result}) + "\n"
        write(self._path(repository), text.encode())

    def _key(self, repository: Repository) -> Row:
        return {**self._asked, "name": repository.name, "commit": repository.commit, "path": repository.path}

    def _path(self, repository: Repository) -> str:
        name = hashlib.sha256(repository.name.encode(errors="surrogateescape")).hexdigest()
        return os.path.join(self._folder, f"{name[:32]}.json")


def tables(results: Iterable[tuple[Repository, Row]]) -> dict[str, list[Row]]:
    """The rows of each table. results: of each repository what the task gave, or {"failed": why}."""
    findings: list[Row] = []
    repositories: list[Row] = []
    rules: dict[str, Row] = {}
    where: dict[str, set[str]] = {}
    for repository, result in results:
        own = [_row(repository, each) for each in result.get("findings", ())]
        findings += own
        counts = Counter(each["severity"] for each in own)
        repositories.append(
            {
                "repository": _text(repository.name),
                "commit": repository.commit,
                "path": _text(repository.path),
                "findings": len(own),
                **{f"{each}s": counts[each] for each in SEVERITIES},
                "complaints": list(result.get("complaints", ())),
                "seconds": float(result.get("seconds", 0.0)),
                "failed": result.get("failed", ""),
            }
        )
        for each in own:
            rule = rules.setdefault(each["code"], {"code": each["code"], "slug": each["slug"], "findings": 0})
            rule["findings"] += 1
            where.setdefault(each["code"], set()).add(repository.name)
            where.setdefault(f"{each['code']} files", set()).add(f"{repository.name}\0{each['path']}")
    listed = [
        {**rules[code], "repositories": len(where[code]), "files": len(where[f"{code} files"])}
        for code in sorted(rules)
    ]
    return dict(zip(TABLES, (findings, repositories, listed)))


def _row(repository: Repository, finding: Row) -> Row:
    """A finding flat enough for a table: what is nested is JSON."""
    plain = ("path", "cell", "line", "column", "end_line", "end_column", "code", "slug", "severity", "message", "fix")
    return {
        "repository": _text(repository.name),
        "commit": repository.commit,
        **{name: finding.get(name) for name in plain},
        "path": _text(finding["path"]),
        "remedy": finding["remedy"],
        "conventions": finding["conventions"],
        "notes": json.dumps(finding["notes"]),
    }


def _text(name: str) -> str:
    """A name as text: those of files may be bytes that are none, which no table holds."""
    return name.encode(errors="replace").decode()


def write_tables(folder: str, found: Mapping[str, list[Row]], output_format: str) -> None:
    """Write each table into a file of its own, in one step. Raises ConfigError where one cannot be written."""
    for name, rows in found.items():
        if output_format == "parquet":
            content = _parquet(name, rows)
        else:
            content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        write(os.path.join(folder, f"{name}.{output_format}"), content)


def write(path: str, content: bytes) -> None:
    """Raises ConfigError, one line, where that is not possible."""
    try:
        put(path, content)
    except WriteError as error:
        raise ConfigError(f"scan: {path}: {error}") from None


def needs_parquet() -> None:
    """Raise ConfigError where pyarrow is missing: before hours of work, not after."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise ConfigError("scan: Parquet needs pyarrow: pip install 'flake8-torchleak[scan]'") from None


def _parquet(name: str, rows: list[Row]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts, counts, listed = pa.string(), pa.int64(), pa.list_(pa.string())
    columns: dict[str, dict[str, Any]] = {
        "findings": {
            **dict.fromkeys(("repository", "commit", "path"), texts),
            **dict.fromkeys(("cell", "line", "column", "end_line", "end_column"), counts),
            **dict.fromkeys(("code", "slug", "severity", "message", "fix", "remedy"), texts),
            "conventions": listed,
            "notes": texts,
        },
        "repositories": {
            **dict.fromkeys(("repository", "commit", "path"), texts),
            **dict.fromkeys(("findings", *(f"{each}s" for each in SEVERITIES)), counts),
            "complaints": listed,
            "seconds": pa.float64(),
            "failed": texts,
        },
        "rules": {
            **dict.fromkeys(("code", "slug"), texts),
            **dict.fromkeys(("findings", "repositories", "files"), counts),
        },
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(columns[name].items())), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content
