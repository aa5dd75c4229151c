"""The sandbox of a session, as its settings want it."""

from collections.abc import Callable

from bobstay.assembly.start_context import StartContext
from bobstay.config.secret_variables import passed
from bobstay.config.settings import SandboxSettings
from bobstay.permissions.sandbox.availability import Availability
from bobstay.permissions.sandbox.launch import Sandbox
from bobstay.permissions.sandbox.mount_plan import SandboxSpec


def sandbox_for(start: StartContext, spill: str) -> Sandbox | None:
    """The sandbox commands run in. `spill` is where their long output is kept.

    One that cannot start is returned all the same: it refuses each command and says why. Only a person who said so
    (`failIfUnavailable: false`) gets to run commands without.
    """
    wanted = start.loaded.settings.sandbox
    paths = start.environment.paths
    given = passed(start.environment.withheld, start.loaded.settings.pass_variables)
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


def needs_no_question(
    wanted: SandboxSettings, availability: Callable[[], Availability]
) -> Callable[[str], bool] | None:
    """What the policy asks about a command before it asks a person; None if the answer is always no."""
    if not wanted.enabled or not wanted.auto_allow:
        return None
    return lambda _command: bool(availability().kind)


def _absolute(path: str, start: StartContext) -> str:
    if path == "~" or path.startswith("~/"):
        return start.environment.paths.home + path[1:]
    return path if path.startswith("/") else f"{start.cwd}/{path}"
