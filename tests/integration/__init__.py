"""Other programs, run for real with what stands in the documents: `pytest -m integration`."""
