"""What the workers of a pool do with a file: read it, lint it, and tell what that gave and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flake8_torchleak.config import Config
from flake8_torchleak.disk import read
from flake8_torchleak.model.reading import Question, reading
from flake8_torchleak.model.signs import digest
from flake8_torchleak.shells.cache.store import Gatherer, seen_file
from flake8_torchleak.shells.look import found
from flake8_torchleak.shells.pool import Job, Pool, Work
from flake8_torchleak.shells.run import undisturbed
from flake8_torchleak.shells.selection import INTERNAL
from flake8_torchleak.shells.texts import made


def pool(jobs: Sequence[Job], most: int, config: Config, conventions: bool) -> Pool:
    """Workers that lint these files."""
    from flake8_torchleak.rule import all_rules

    all_rules()  # imported once for all that start as copies of this process
    return Pool(jobs, most, partial(start, config, conventions))


def start(config: Config, conventions: bool) -> Work:
    """The work of one worker."""
    gatherer = Gatherer()
    undisturbed().__enter__()  # to the end of the process

    def work(job: Job) -> object:
        try:
            with reading(gatherer.reader), gatherer.reader.noted() as asked:
                return _linted(job, config, conventions, gatherer, asked)
        except Exception:
            return None  # whoever reports on it meets the same, and says so

    return work


def _linted(job: Job, config: Config, conventions: bool, gatherer: Gatherer, asked: dict[Question, None]) -> object:
    path, codes = job
    seen, raw = seen_file(path), read(path)
    file = made(path, path, raw)
    if file is None or seen.digest != digest(raw):
        return None
    findings = found(file.text, path, config, frozenset(codes.split()).__contains__, conventions)
    if any(each.code == INTERNAL for each in findings):
        return None
    return gatherer.told(seen, findings, tuple(asked))
