"""The harness: small training programs, made by a grammar, run on the real torch before and after their fixes."""
