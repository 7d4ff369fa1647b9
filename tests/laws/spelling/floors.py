"""The shares of spellings with the same findings, by fact: they only get better."""

from __future__ import annotations

SAMPLED = 0.94
"""In the sample."""
NEW = 7
"""Spellings with a finding too many, at most."""

FLOORS: dict[str, float] = {
    "reached by renamed_module": 1.0,
    "reached by renamed_import": 0.96,
    "reached by plain_import": 1.0,
    "reached by module_alias": 0.96,
    "reached by fetched": 0.94,
    "reached by imported_by_name": 0.94,
    "reached by tried": 0.96,
    "reached by chosen": 0.96,
    "reached by hoped": 0.94,
    "reached by starred_library": 1.0,
    "reached by local_alias": 0.98,
    "reached by local_import": 0.98,
    "reached by class_attribute": 0.92,
    "reached by by_partial": 0.96,
    "reached by starred_module": 1.0,
    "reached by handed_module": 0.98,
    "reached by through_module": 0.98,
    "reached by handed_name": 0.9,
    "reached by starred_name": 0.9,
    "reached by handed_alias": 0.9,
    "reached by starred_alias": 0.9,
    "reached by reexported": 0.9,
    "reached by reexported_stars": 0.9,
    "reached by other_path0": 1.0,
    "reached by other_path1": 1.0,
    "gradients off": 1.0,
    "gradients on": 1.0,
    "cut": 1.0,
    "a number": 1.0,
    "a copied array": 1.0,
    "a clone": 1.0,
    "a copied dict": 1.0,
    "a deep copy": 1.0,
    "evaluation mode": 0.97,
    "frozen": 0.98,
    "differentiated": 0.99,
    "an emptied list": 0.95,
    "an emptied dict": 1.0,
    "a bounded deque": 1.0,
    "closed": 1.0,
    "a closed figure": 1.0,
    "one thread": 0.83,
    "a list cut short": 1.0,
}
