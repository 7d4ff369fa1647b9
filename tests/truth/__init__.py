"""The truth of the rules: programs made by a grammar, labelled by what they retain when they run, compared with `lint`.

`python -m tests.truth --count 200 --seed 1` prints the table; docs/truth.md says what it means.
"""
