"""Reads the text of an instruction file: drops its comments and finds the files that it imports."""

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_IMPORT = re.compile(r"(?:^|(?<=[\s(\[{*_'\"]))@((?:[^\s\\\"]|\\ )+)")
PUNCTUATION = ".,;:!?)]}'*_"
"""What may follow a path in a sentence without being a part of it."""


def drop_comments(text: str) -> str:
    """Remove HTML comments that stand on lines of their own; those in code stay."""
    if "<!--" not in text:
        return text
    lines = text.split("\n")
    closing = _closing_lines(lines)
    kept: list[str] = []
    index, fence = 0, ""
    while index < len(lines):
        line = lines[index]
        in_code, fence = _follow_fence(line, fence)
        end = closing[index]
        if (
            not in_code
            and line.lstrip().startswith("<!--")
            and end < len(lines)
            and lines[end].rstrip().endswith("-->")
        ):
            index = end + 1
            continue
        kept.append(line)
        index += 1
    return "\n".join(kept)


def imports_of(text: str) -> list[str]:
    """Return the paths after `@` outside of code, each once, in their order."""
    found: dict[str, None] = {}
    fence = ""
    for line in text.split("\n") if "@" in text else ():
        in_code, fence = _follow_fence(line, fence)
        if in_code or "@" not in line:
            continue
        for name in _IMPORT.findall(_SPAN.sub(" ", line)):
            path = name.replace("\\ ", " ").partition("#")[0]
            if path:
                found[path] = None
    return list(found)


def _closing_lines(lines: list[str]) -> list[int]:
    """For each line, the first one from there on that ends a comment; the number of lines if there is none."""
    closing = [len(lines)] * len(lines)
    nearest = len(lines)
    for index in range(len(lines) - 1, -1, -1):
        if "-->" in lines[index]:
            nearest = index
        closing[index] = nearest
    return closing


def _follow_fence(line: str, fence: str) -> tuple[bool, str]:
    """Return whether a line belongs to a code block, and the fence that is open after it; `fence` is open before it."""
    found = _FENCE.match(line)
    if not fence:
        return found is not None, found[1] if found else ""
    closes = found is not None and found[1].startswith(fence) and not line.strip().strip(fence[0])
    return True, "" if closes else fence
