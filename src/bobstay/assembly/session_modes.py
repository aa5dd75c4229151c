"""Permission modes that a session may be put into, and why it may not."""

MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")


class UnknownMode(ValueError):  # noqa: N818 - the name says what happened
    """No permission mode has that name."""


class BypassNotLaunched(ValueError):  # noqa: N818 - the name says what happened
    """Bypassing permissions was not allowed when the program was started."""


def check_mode(mode: str, *, can_bypass: bool) -> None:
    """Check whether a session may enter a permission mode.

    Raises:
        UnknownMode, BypassNotLaunched
    """
    if mode not in MODES:
        raise UnknownMode(f"Unknown permission mode: {mode}. It is one of {', '.join(MODES)}.")
    if mode == "bypassPermissions" and not can_bypass:
        raise BypassNotLaunched(
            "Cannot set permission mode to bypassPermissions: the session was not started with "
            "--dangerously-skip-permissions or --allow-dangerously-skip-permissions."
        )
