"""Shared code of the file tools: paths, contents, matching, patches and atomic replacement."""
