"""The ways in and out: flake8, the command, reports. Thin: nothing about leaks is decided here."""
