"""Static analysis of shell commands: what a command would do, without running it."""

from bobstay.permissions.shell.analysis import RedirectTarget, ShellAnalysis, SimpleCommand
from bobstay.permissions.shell.analyzer import analyze

__all__ = ["RedirectTarget", "ShellAnalysis", "SimpleCommand", "analyze"]
