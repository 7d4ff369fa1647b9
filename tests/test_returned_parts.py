"""TLK201, TLK202: what is handed out is no view, or nobody edits it."""

from __future__ import annotations

import pytest

from tests.model import codes, dataset

TABLE = "table = pd.read_csv(root)\n"
COLUMNS = {
    "a column of text": ("np.asarray(table['question'])", "self.data[i]", False),
    "its values": ("table['question'].values", "self.data[i]", False),
    "to_numpy": ("table['question'].astype(str).to_numpy()", "self.data[i]", False),
    "an array of a column": ("np.asanyarray(table['label'])", "self.data[i]", False),
    "several elements of a column": ("table['question'].values", "self.data[i : i + 8]", True),
    "rows": ("table.values", "self.data[i]", True),
    "rows of some columns": ("table[['x', 'y']].to_numpy()", "self.data[i]", True),
    "rows that are grouped": ("table['x'].rolling(8).values", "self.data[i]", True),
    "an array of rows": ("np.asarray(table)", "self.data[i]", True),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_an_element_of_a_column_is_no_view(name: str) -> None:
    made, given, found = COLUMNS[name]
    text = dataset(f"{TABLE}self.data = {made}", f"return {given}")
    assert ("TLK201" in codes(text)) is found
