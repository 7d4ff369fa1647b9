"""Findings kept from run to run: in a folder beside the project's settings, checked against the files before use."""
