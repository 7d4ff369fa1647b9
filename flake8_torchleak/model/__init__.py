"""Facts about one module, each computed on first use and shared by all rules."""
