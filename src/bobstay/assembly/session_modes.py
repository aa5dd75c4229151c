"""Permission modes that a session may be put into, and why it may not."""

MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")


class UnknownMode(ValueError):  # noqa: N818 - the name says what happened
    """No permission mode has that name."""


class BypassNotLaunched(ValueError):  # noqa: N818 - the name says what happened
    """Bypassing permissions was not allowed when the program was started."""
