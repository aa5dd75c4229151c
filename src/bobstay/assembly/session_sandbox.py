"""Builds the sandbox of a session from its settings."""

from collections.abc import Callable

from bobstay.assembly.start_context import StartContext
from bobstay.config.secret_variables import select_passed
from bobstay.config.settings import SandboxSettings
from bobstay.permissions.sandbox.availability import Availability
from bobstay.permissions.sandbox.launch import Sandbox
from bobstay.permissions.sandbox.mount_plan import SandboxSpec


def build_sandbox(start: StartContext, spill: str) -> Sandbox | None:
    """Build the sandbox that commands run in. `spill` is the folder of their long output.

    A sandbox that cannot start is returned as well: it refuses each command and says why. Commands run without one
    only if the settings allow that (`failIfUnavailable: false`).
    """
    wanted = start.loaded.settings.sandbox
    paths = start.environment.paths
    given = select_passed(start.environment.withheld, start.loaded.settings.pass_variables)
    sandbox = Sandbox(
        SandboxSpec(
            root=start.cwd,
            home=paths.home,
            state=f"{paths.bobstay}/sandbox",
            writable=wanted.writable,
            hidden=(paths.bobstay, paths.claude, *(_absolute(path, start) for path in wanted.hidden)),
            shown=(spill,),
            domains=wanted.network.allowed_domains or None,
            unix_sockets=bool(wanted.network.unix_sockets),
            variables=(*wanted.variables, *start.loaded.settings.variables, *given),
        ),
        unverified=bool(wanted.allow_unverified),
    )
    if wanted.fail_if_unavailable is False and not sandbox.availability.kind:
        tried = "; ".join(f"{name}: {why}" for name, why in sandbox.availability.found)
        start.warnings.append(f"Commands run without a sandbox, as the settings allow where none works ({tried}).")
        return None
    return sandbox


def build_auto_allow(wanted: SandboxSettings, availability: Callable[[], Availability]) -> Callable[[str], bool] | None:
    """Return the predicate by which the policy allows a sandboxed command without asking; None if it never does."""
    if not wanted.enabled or not wanted.auto_allow:
        return None
    return lambda _command: bool(availability().kind)


def _absolute(path: str, start: StartContext) -> str:
    if path == "~" or path.startswith("~/"):
        return start.environment.paths.home + path[1:]
    return path if path.startswith("/") else f"{start.cwd}/{path}"
