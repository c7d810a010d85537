"""The documentation site: ``make docs``.

The pages are plain Markdown and read well on GitHub; what the site adds is in this folder. Zensical
builds it: the successor of Material for MkDocs, by the same authors, who now only maintain the
latter. It takes three seconds, has a strict mode, and its search needs no other site. The reference
of the Python API is the generated page, not mkdocstrings: it shows the names under their public
modules, pairs sync with async methods, and is the same page on GitHub.
"""
