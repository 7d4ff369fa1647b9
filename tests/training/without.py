"""The package with some of its checks switched off: the harness must fail without them, or it tests nothing.

`WITHOUT` names, for each group of checks, the functions that hold it and what they answer when it is off. Whoever adds
a check against escapes adds it here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flake8_torchleak.model.release.fate import Ending, Fate


def _answers(value: object) -> Callable[..., object]:
    """A function or method that always answers the same."""
    return lambda *arguments, **options: value


_ESCAPES = "flake8_torchleak.model.release.escapes.Escapes.of_holder"
_SPENT = "flake8_torchleak.model.release.spent.Spent.is_spent"
_SHARING = "flake8_torchleak.model.release.sharing.Sharing.edits_samples"

WITHOUT: Mapping[str, Mapping[str, object]] = {
    # Nobody who could differentiate it is seen.
    "escapes": {_ESCAPES: _answers(Ending(Fate.READ))},
    # Whatever happens to it, it counts as differentiated already.
    "spent": {_SPENT: _answers(True)},
    # Nobody is seen who edits samples.
    "sharing": {_SHARING: _answers(None)},
}
