"""Hostile repositories, generated for each test: each contains one payload that fires if anything in it is loaded."""

from tests.security.repos.bait import Bait, Evidence, Trap
from tests.security.repos.files import FILE_TRAPS
from tests.security.repos.git import GIT_TRAPS
from tests.security.repos.settings import SETTINGS_TRAPS
from tests.security.repos.tools import TOOL_TRAPS

TRAPS: tuple[Trap, ...] = (*SETTINGS_TRAPS, *GIT_TRAPS, *FILE_TRAPS, *TOOL_TRAPS)

__all__ = ["TRAPS", "Bait", "Evidence", "Trap"]
