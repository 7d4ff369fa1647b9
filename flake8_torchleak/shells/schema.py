"""A JSON Schema of `[tool.torchleak]`, made from the settings, in the form that SchemaStore takes: for editors."""

from __future__ import annotations

from typing import Any

from flake8_torchleak.addresses import SITE
from flake8_torchleak.config import DEFAULT, OPTIONS, Option
from flake8_torchleak.finding import BOUND
from flake8_torchleak.rule import all_rules
from flake8_torchleak.shells.files import NOT_OURS
from flake8_torchleak.shells.selection import INTERNAL
from flake8_torchleak.shells.settings import SETTINGS

ADDRESS = "https://json.schemastore.org/partial-torchleak.json"

_NAME = r"[^\W\d]\w*(\.[^\W\d]\w*)*"
_CODE = {"$ref": "#/definitions/code"}
_CODES = {"$ref": "#/definitions/codes"}

Object = dict[str, Any]


def schema() -> Object:
    """The schema of the table."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": ADDRESS,
        "$comment": "The table [tool.torchleak] of pyproject.toml",
        "title": "torchleak",
        "description": "Settings of torchleak, which finds PyTorch memory leaks without running the code",
        "x-taplo": {"links": {"key": SITE}},
        "type": "object",
        "additionalProperties": False,
        "definitions": {
            "code": {"description": "The code of a rule, or how several begin", "type": "string", "enum": _prefixes()},
            "codes": _listed(_CODE, r"^[\s,]*(TL?K?[0-9]{0,3}[\s,]*)*$", "TLK1, TLK402"),
            "names": _listed({"type": "string", "pattern": f"^{_NAME}$"}, rf"^[\s,]*({_NAME}([\s,]+|$))*$", "a.B, c"),
            "globs": _listed({"type": "string", "pattern": r"^(?!\s*#)"}, r"^(?!\s*#)", "gen/, *_pb2.py"),
        },
        "properties": {option.name: _described(option) for option in SETTINGS},
    }


def _prefixes() -> list[str]:
    codes = (*(each.code for each in all_rules()), INTERNAL, BOUND)
    return sorted({code[:end] for code in codes for end in range(1, len(code) + 1)})


def _listed(item: Object, pattern: str, example: str) -> Object:
    """A list, which may be written as one string, too."""
    return {
        "anyOf": [
            {"type": "array", "items": item},
            {"type": "string", "pattern": pattern, "description": "The same in one string", "examples": [example]},
        ]
    }


def _described(option: Option) -> Object:
    found: Object = {"description": option.help, **_kind(option)}
    if option.name == "exclude":
        found["default"] = list(NOT_OURS)
    elif option in OPTIONS:
        default = getattr(DEFAULT, option.field)
        found["default"] = list(default) if isinstance(default, tuple) else default
    elif option.metavar == "FLAG":
        found["default"] = False
    return found


def _kind(option: Option) -> Object:
    if "|" in option.metavar:
        return {"type": "string", "enum": option.metavar.split("|")}
    if option.name == "select":
        nothing = [{"type": "array", "maxItems": 0}, {"type": "string", "pattern": r"^[\s,]*$"}]
        return {"allOf": [_CODES, {"not": {"anyOf": nothing}}]}
    kinds: dict[str, Object] = {
        "CODES": {"allOf": [_CODES]},
        "NAMES": {"allOf": [{"$ref": "#/definitions/names"}]},
        "GLOBS": {"allOf": [{"$ref": "#/definitions/globs"}]},
        "GLOB:CODES": {
            "anyOf": [
                {"type": "object", "propertyNames": {"pattern": r"^(?![!#])\s*\S"}, "additionalProperties": _CODES},
                {"type": "string", "pattern": "^[^:]+:[^:]+", "examples": ["tests/*:TLK4,TLK1"]},
            ]
        },
        "COUNT": {
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": r"^\s*0*[1-9][0-9]*\s*$"}]
        },
        "FILE": {"type": "string"},
        "FLAG": {"type": "boolean"},
    }
    return kinds[option.metavar]
