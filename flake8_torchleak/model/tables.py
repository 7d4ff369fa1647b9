"""The tables whose rows are asked of a reader, by the names that it notes."""

from __future__ import annotations

from flake8_torchleak.model.census import loaders_by_class
from flake8_torchleak.model.importers import by_name
from flake8_torchleak.model.mentions import names_beside, programs

TABLES = {each.__name__: each for each in (by_name, loaders_by_class, names_beside, programs)}
