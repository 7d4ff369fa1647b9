"""The package with some of its checks switched off: the harness must fail without them, or it tests nothing.

`WITHOUT` names, for each group of checks, the functions that hold it and what they answer when it is off. Whoever adds
a check against escapes adds it here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flake8_torchleak.model.release.escapes import Ending, Fate


def _answers(value: object) -> Callable[..., object]:
    """A function or method that always answers the same."""
    return lambda *arguments, **options: value


WITHOUT: Mapping[str, Mapping[str, object]] = {
    "what becomes of a holder": {
        "flake8_torchleak.model.release.escapes.Escapes.of_holder": _answers(Ending(Fate.READ))
    },
    "objectives": {"flake8_torchleak.model.retention.Retention.is_objective": _answers(False)},
}
