"""Fuzzing: programs made by hypothesmith and by mutation, and laws that hold for every program.

`tests/test_fuzz.py` checks a fixed set of programs; `python -m tests.fuzz --minutes 30` makes new ones, and prints
those that break a law, made small.
"""
