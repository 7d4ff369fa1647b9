"""The shares of spellings with the same findings, by fact: they only get better."""

from __future__ import annotations

SAMPLED = 0.84
"""In the sample."""
NEW = 220
"""Spellings with a finding too many, at most."""

FLOORS: dict[str, float] = {
    "reached by renamed_module": 1.0,
    "reached by renamed_import": 0.95,
    "reached by plain_import": 1.0,
    "reached by module_alias": 0.95,
    "reached by fetched": 0.95,
    "reached by imported_by_name": 0.87,
    "reached by tried": 0.95,
    "reached by chosen": 0.95,
    "reached by hoped": 0.83,
    "reached by starred_library": 1.0,
    "reached by local_alias": 0.97,
    "reached by local_import": 0.97,
    "reached by class_attribute": 0.93,
    "reached by by_partial": 0.97,
    "reached by starred_module": 1.0,
    "reached by handed_module": 0.91,
    "reached by through_module": 0.91,
    "reached by handed_name": 0.64,
    "reached by starred_name": 0.64,
    "reached by handed_alias": 0.64,
    "reached by starred_alias": 0.64,
    "reached by reexported": 0.64,
    "reached by reexported_stars": 0.64,
    "reached by other_path0": 1.0,
    "reached by other_path1": 1.0,
    "gradients off": 0.65,
    "gradients on": 0.28,
    "cut": 0.87,
    "a number": 0.91,
    "a copied array": 0.97,
    "a clone": 0.99,
    "a copied dict": 1.0,
    "a deep copy": 1.0,
    "evaluation mode": 0.9,
    "frozen": 0.56,
    "differentiated": 0.97,
    "an emptied list": 0.76,
    "an emptied dict": 0.77,
    "a bounded deque": 0.76,
    "a list cut short": 0.85,
}
