"""Fixing: from findings to new source, and the only folder that imports libcst."""
