"""What a shell command would do, as far as it can be told without running it."""

from bobstay.permissions.shell.analyzer import read
from bobstay.permissions.shell.analysis import Plain, Reading, Target

__all__ = ["Plain", "Reading", "Target", "read"]
