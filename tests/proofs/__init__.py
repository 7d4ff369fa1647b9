"""Proofs: every claim of a rule's page is run on the real torch, and its figures are written into that page.

A proof is `fixtures/<CODE>_<slug>/proof.py`. It runs the very files that are linted, one child process a variant, in
a real DataLoader or step loop, and says what must come out of it. `python -m tests.proofs` runs them and prints a
table; `--write` also writes `measured.json`, and from it the "Measured" sections of the rules, the table of
docs/measured.md and the plots. Linux only: what is measured is read from /proc and from glibc.
"""
