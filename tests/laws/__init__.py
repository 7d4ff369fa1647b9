"""Laws 1 to 3: the same program written another way gets the same findings."""
