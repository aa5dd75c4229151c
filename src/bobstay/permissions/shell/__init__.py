"""What a shell command would do, as far as it can be told without running it."""

from bobstay.permissions.shell.analysis import RedirectTarget, ShellAnalysis, SimpleCommand
from bobstay.permissions.shell.analyzer import read

__all__ = ["RedirectTarget", "ShellAnalysis", "SimpleCommand", "read"]
