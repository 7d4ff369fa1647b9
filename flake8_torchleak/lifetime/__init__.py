"""What becomes of values: programs followed step by step, through helpers, methods, objects and files."""
