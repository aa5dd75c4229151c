"""Expands `${VAR}` and `${VAR:-default}` in the configuration of MCP servers."""

import re
from collections.abc import Callable, Mapping
from typing import Any

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
MAX_LENGTH = 200_000
"""Characters of one expanded text; a longer one is cut, so that a small file cannot become a huge argument."""


class Variables:
    """The variables that a configuration may use. Collects which names it must not use, or could not find."""

    def __init__(self, values: Mapping[str, str], is_withheld: Callable[[str], bool] | None = None) -> None:
        """`is_withheld` tells the variables that this configuration must not get, such as model keys."""
        self._values = values
        self._is_withheld = is_withheld
        self.missing: list[str] = []
        self.refused: list[str] = []

    def expand(self, text: str) -> str:
        """Replace the variables in a text. One that is not set and has no default stays as it is written."""
        if "${" not in text:
            return text
        return _VARIABLE.sub(self._replace, text)[:MAX_LENGTH]

    def expand_list(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.expand(text) for text in texts)

    def expand_values(self, texts: dict[str, str]) -> dict[str, str]:
        return {name: self.expand(text) for name, text in texts.items()}

    def _replace(self, found: "re.Match[str]") -> str:
        name, default = found.group(1), found.group(2)
        if self._is_withheld is not None and self._is_withheld(name):
            _add(self.refused, name)
            return found.group(0)
        value = self._values.get(name, "")
        if value:
            return value
        if default is not None:
            return default
        if name in self._values:
            return ""
        _add(self.missing, name)
        return found.group(0)


def _add(names: list[Any], name: str) -> None:
    if name not in names:
        names.append(name)
