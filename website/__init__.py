"""The site's generated parts: `mkdocs build --strict` makes the whole site, `mkdocs serve` shows it while one writes.

hooks.py is what mkdocs calls, and all that needs it; rule_pages.py makes a rule's page of its module's docstring,
parts.py the tables inside hand-written pages, symptoms.py reads the index of symptoms, words.py explains words.
"""
