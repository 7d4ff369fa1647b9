"""What a finding is known by from one run to the next, wherever in its file it has moved."""

from __future__ import annotations

import hashlib
from collections import Counter

from flake8_torchleak.finding import Finding
from flake8_torchleak.shells.paths import portable
from flake8_torchleak.source import Source


class Fingerprints:
    """The fingerprints of one run, each given out once."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, ...]] = Counter()

    def take(self, path: str, finding: Finding, source: Source) -> str:
        """64 hexadecimal digits for the path, the code, and the line that the finding begins on, blanks aside.

        Where these are equal, for the how-many-eth it is: findings are to be handed over in order of place.
        """
        lines = source.lines[finding.span.line - 1 : finding.span.line]
        key = (portable(path), finding.code, " ".join("".join(lines).split()))
        self._seen[key] += 1
        return hashlib.sha256("\0".join((*key, str(self._seen[key]))).encode(errors="surrogatepass")).hexdigest()
