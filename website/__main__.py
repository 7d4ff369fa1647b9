"""`python -m website` writes what the repository itself shows: the pages of the rules, and the parts of other pages."""

from __future__ import annotations

from website import parts, rule_pages


def written() -> dict[str, str]:
    """The pages as they stand in the repository, by their path in docs: nothing in them is left to be filled in."""
    of_rules = {name: parts.linked(parts.filled(text), name) for name, text in rule_pages.pages().items()}
    others = {path.name: path.read_text(encoding="utf-8") for path in (parts.ROOT / "docs").glob("*.md")}
    return of_rules | {name: parts.filled_in(text) for name, text in others.items() if parts.filled_in(text) != text}


if __name__ == "__main__":
    folder = parts.ROOT / "docs"
    folder.joinpath("rules").mkdir(exist_ok=True)
    for name, text in written().items():
        folder.joinpath(name).write_text(text, encoding="utf-8")
