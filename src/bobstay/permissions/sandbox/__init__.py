"""The wall around shell commands: what they may write, see and reach, enforced by the operating system."""


class SandboxError(OSError):
    """A command could not be put into the sandbox, and so must not run. The text says why and what to do."""
