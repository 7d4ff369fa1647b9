"""Whether a value may be released for its holder without a change of what is trained: what a SAFE fix must show."""
