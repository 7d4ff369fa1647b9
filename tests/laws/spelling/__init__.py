"""Spelling laws: a program that says the same fact in other words gets the same findings."""
