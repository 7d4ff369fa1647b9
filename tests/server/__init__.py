"""The language server, spoken to as an editor speaks to it, and its parts."""
