"""`torchleak baseline write` and `torchleak baseline prune`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping

from flake8_torchleak.finding import BOUND
from flake8_torchleak.shells.baseline import Baseline, Entries, count, keys, save
from flake8_torchleak.shells.policy import Policy
from flake8_torchleak.shells.run import Complaints, treated
from flake8_torchleak.shells.selection import INTERNAL
from flake8_torchleak.shells.settings import Setting
from flake8_torchleak.shells.texts import Inputs
from flake8_torchleak.shells.treatment import Checking
from flake8_torchleak.wording import leading

DEFAULT = ".torchleak-baseline.json"


def write(inputs: Inputs, settings: Mapping[str, Setting]) -> int:
    """Make (or renew) the baseline: the findings of the files that are checked now, and what it has of others.

    It keeps what it has of codes that are not selected now, too. Returns the exit status.
    Raises ConfigError where the file is none of ours or cannot be written.
    """
    file = settings["baseline"].value or DEFAULT
    baseline = Baseline(file, inputs.paths, None if os.path.lexists(file) else {})
    # Of every severity, so that whoever asks for notes later is told of new ones only.
    policy = Policy({**settings, "report-unused-noqa": Setting(False), "min-severity": Setting("note")})
    complain = Complaints()
    fresh: dict[str, Counter[tuple[str, str]]] = {}
    broken = False
    for each, text, findings in treated(inputs, Checking(policy, complain), complain):
        takes, path = policy.takes(each.path), baseline.path(each.path)
        fresh[path] = Counter(key for finding, key in keys(text, findings) if finding.code not in (INTERNAL, BOUND))
        others = baseline.entries.get(path, Counter())
        partly = any(finding.code == INTERNAL for finding in findings) or (each.notebook and each.notebook.broken)
        broken = broken or bool(partly)
        # What was not looked for, or where a rule or a cell failed, is kept.
        kept = {key: number for key, number in others.items() if partly or not takes(key[0])}
        fresh[path] = fresh[path] | Counter(kept)
    return max(_save(file, {**baseline.remaining(), **fresh}, complain), 2 * broken)


def prune(inputs: Inputs, settings: Mapping[str, Setting]) -> int:
    """Take what has vanished from the code out of the baseline; add nothing. Returns the exit status.

    Raises ConfigError where the file is missing, none of ours, or cannot be written.
    """
    file = settings["baseline"].value or DEFAULT
    baseline = Baseline(file, inputs.paths)
    complain = Complaints()
    broken = False
    for _, _, findings in treated(inputs, Checking(Policy(settings, baseline), complain), complain):
        # The baseline takes note of what it meets.
        broken = broken or any(each.code == INTERNAL for each in findings)
    return max(_save(file, baseline.remaining(), complain), 2 * broken)


def _save(file: str, entries: Entries, complain: Complaints) -> int:
    save(file, entries)
    number, files = count(entries), sum(bool(each) for each in entries.values())
    what = f"{number} finding{'s' * (number != 1)} in {files} file{'s' * (files != 1)}"
    sys.stdout.write(f"{leading(file)} lists {what}.\n")
    return 2 if complain.made else 0
