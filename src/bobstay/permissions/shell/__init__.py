"""What a shell command would do, as far as it can be told without running it."""

from bobstay.permissions.shell.reading import Reading, Simple
from bobstay.permissions.shell.simple import read

__all__ = ["Reading", "Simple", "read"]
