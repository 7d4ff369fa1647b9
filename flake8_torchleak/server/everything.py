"""The whole workspace, on request: every file that the command would check, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pygls.uris import from_fs_path

from flake8_torchleak.server.documents import path_of
from flake8_torchleak.server.session import Session
from flake8_torchleak.server.worker import Urgency
from flake8_torchleak.shells.files import python_files


class Seen(NamedTuple):
    """How far it got."""

    files: int
    findings: int
    cancelled: bool

    def __str__(self) -> str:
        found = f"{self.findings} finding{'s' * (self.findings != 1)}" if self.findings else "No findings"
        looked = f"{self.files} file{'s' * (self.files != 1)} checked"
        return f"{found}, {looked}{'; cancelled' * self.cancelled}."


async def check_all(session: Session, report: Callable[[int, int], None], cancelled: Callable[[], bool]) -> Seen:
    """Check the files of all workspace folders. report: told how many are done, and of how many."""
    policies = session.checker.policies
    session.everything = True

    def listed() -> list[str]:
        paths: dict[str, None] = {}
        for folder in policies.folders:
            excluded = policies.of(f"{folder}/.").excluded
            paths.update(dict.fromkeys(python_files([folder], lambda _: None, excluded)))
        return [path for path in paths if path.endswith(".py")]

    open_now = {path_of(uri): uri for uri in session.documents.uris()}
    paths = await session.do(Urgency.ALL, listed)
    done = findings = 0
    for path in paths:
        if cancelled():
            break
        uri = open_now.get(path) or from_fs_path(path) or ""
        await session.check(uri, Urgency.ALL)
        findings += len(session.known[uri].findings)
        done += 1
        report(done, len(paths))
    return Seen(done, findings, done < len(paths))
