"""`python -m website` writes the pages of the rules into docs/rules, where the repository itself shows them."""

from __future__ import annotations

from website import parts, rule_pages


def written() -> dict[str, str]:
    """The pages as they stand in the repository, by their path in docs: nothing in them is left to be filled in."""
    return {name: parts.linked(parts.filled(text), name) for name, text in rule_pages.pages().items()}


if __name__ == "__main__":
    folder = parts.ROOT / "docs"
    folder.joinpath("rules").mkdir(exist_ok=True)
    for name, text in written().items():
        folder.joinpath(name).write_text(text, encoding="utf-8")
