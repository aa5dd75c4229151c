"""The sandbox for shell commands: limits on what they write, read and connect to, enforced by the operating system."""


class SandboxError(OSError):
    """A command could not be put into the sandbox and must not run. The message says why and what to do."""
