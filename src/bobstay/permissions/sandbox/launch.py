"""Launches commands in the sandbox, for foreground and background shells and for tests."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

from bobstay.permissions.path_resolution import within
from bobstay.permissions.sandbox import SandboxError, bwrap, placeholders, seccomp
from bobstay.permissions.sandbox.availability import Availability, available
from bobstay.permissions.sandbox.mount_plan import SCRATCH, TEMPORARY, Plan, SandboxSpec, Survey, empty_file
from bobstay.permissions.sandbox.planner import Planner
from bobstay.permissions.sandbox.proxy import PORT, Proxy
from bobstay.permissions.sandbox.quarantine import QuarantinedPath, QuarantineScan
from bobstay.permissions.sandbox.sandbox_variables import sandbox_environment
from bobstay.system.file_lock import lock, lock_shared

_LINGER = 0.05
_HERE = os.path.dirname(__file__)


class SandboxedCommand:
    """A command that is ready to be started, with its environment and the cleanup after it."""

    def __init__(self) -> None:
        self.command: list[str] = []
        self.environment: dict[str, str] = {}
        self.keep: list[int] = []
        """File descriptors that the command must inherit."""
        self.contained = False
        """All its processes end with it, because it has its own process namespace."""
        self.quarantined: tuple[QuarantinedPath, ...] = ()
        """Files it created that programs outside would execute or load: they were renamed."""
        self._release: Callable[[], None] | None = None
        self._scan: QuarantineScan | None = None
        self._proxy: Proxy | None = None

    def release_descriptors(self) -> None:
        """Close our copies of the descriptors, once the command was started or could not be."""
        for descriptor in self.keep:
            os.close(descriptor)
        self.keep = []

    def finish(self, *, background: bool = False) -> None:
        """Clean up after its last process: remove placeholders, and quarantine files that it should not have created.

        `background`: it ran in the background, in parallel with other work.
        """
        self.release_descriptors()
        if self._scan is not None:
            self.quarantined = self._scan.quarantine_new(background=background)
            self._scan = None
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None
        if self._release is not None:
            self._release()
            self._release = None

    def start_scan(self, planner: Planner, survey: Survey) -> None:
        """Record the autoloaded paths that exist before the command starts."""
        self._scan = QuarantineScan(planner, survey)

    def set_release(self, release: Callable[[], None]) -> None:
        """Set the callback that releases the placeholders when the command has ended."""
        self._release = release

    def pass_bytes(self, content: bytes) -> str:
        """The number of a descriptor from which the command can read `content`."""
        descriptor = os.memfd_create("bobstay", os.MFD_CLOEXEC)
        self.keep.append(descriptor)
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return str(descriptor)

    def open_proxy(self, domains: tuple[str, ...]) -> str:
        """Start a proxy for the command; returns the descriptor over which the sandbox sends its listening socket."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._proxy = Proxy(domains)
        self._proxy.expect(ours)
        self.keep.append(theirs.detach())
        return str(self.keep[-1])


class Sandbox:
    """The sandbox of a session. Its private temporary folder exists as long as the session."""

    def __init__(
        self, spec: SandboxSpec, availability: Availability | None = None, *, python: str = "", unverified: bool = False
    ) -> None:
        """`availability`: the sandbox to use; detected on first use if not given."""
        self.spec = spec
        self._availability = availability
        self._unverified = unverified
        self._planner = Planner(spec)
        self._python = python or os.path.realpath(sys.executable)
        self._temporary = ""
        self._lock = -1
        self._leases: set[placeholders.PlaceholderLease] = set()
        """Leases that are about to be released."""

    @property
    def availability(self) -> Availability:
        if self._availability is None:
            self._availability = available(workspace=self.spec.root, unverified=self._unverified)
        return self._availability

    def entry_for(self, directories: tuple[str, ...]) -> "SandboxEntry":
        """The sandbox for one command of a session whose working directories are `directories`."""
        return SandboxEntry(self, directories)

    def enter(
        self, command: Sequence[str], *, cwd: str, environment: dict[str, str], directories: tuple[str, ...] = ()
    ) -> SandboxedCommand:
        """Wrap a command so that it runs in the sandbox.

        Raises:
            SandboxError: No sandbox works here, or it could not be prepared.
        """
        if not self.availability.kind:
            raise SandboxError(self.availability.refusal)
        entry = SandboxedCommand()
        try:
            if not self._temporary:
                placeholders.sweep(self.spec.state)
                self._temporary, self._lock = _make_private_folder(f"{self.spec.state}/temporary")
            if self.availability.kind == "bwrap":
                self._prepare_bwrap(entry, command, cwd, environment, directories)
            else:
                self._prepare_restricted(entry, command, environment, directories)
        except (OSError, LookupError) as error:
            entry.finish()
            raise SandboxError(f"The sandbox could not be prepared, so the command did not run: {error}") from error
        except BaseException:
            entry.finish()
            raise
        return entry

    def close(self) -> None:
        """Remove the session's placeholders and temporary files."""
        for lease in self._leases:
            lease.release()
        self._leases.clear()
        if self._temporary:
            import shutil

            shutil.rmtree(self._temporary, ignore_errors=True)
            os.close(self._lock)
            self._temporary, self._lock = "", -1

    def plan(self, directories: tuple[str, ...] = ()) -> Plan:
        """The mounts that a command would get, for inspection."""
        return self._planner.plan(self._planner.survey(directories))

    def _prepare_bwrap(
        self,
        entry: SandboxedCommand,
        command: Sequence[str],
        cwd: str,
        environment: dict[str, str],
        directories: tuple[str, ...],
    ) -> None:
        plan = self._prepare_plan(entry, directories)
        with_proxy = self.spec.domains is not None
        entry.contained = True
        entry.environment = sandbox_environment(
            environment, self.spec.variables, temporary=TEMPORARY, proxy=with_proxy and bool(self.spec.domains)
        )
        program = seccomp.program(unix_sockets=self.spec.unix_sockets)
        bwrap_arguments = bwrap.build_arguments(
            plan,
            empty=empty_file(self.spec.state),
            temporary=self._temporary,
            cwd=self._starting_directory(cwd, plan),
            seccomp=int(entry.pass_bytes(program)),
            user=os.getuid(),
        )
        inner = list(command)
        if self.spec.domains:
            channel = entry.open_proxy(self.spec.domains)
            inner = [self._python, "-I", "-S", "-c", _script("give_listener"), channel, str(PORT), *inner]
        arguments = entry.pass_bytes(b"\0".join(map(os.fsencode, bwrap_arguments)) + b"\0")
        outer = [self.availability.path, "--args", arguments, "--", *inner]
        if plan.pins:
            pinned = [word for pair in plan.pins for word in pair]
            outer = [self._python, "-I", "-S", f"{_HERE}/pin_links.py", *pinned, "--", *outer]
        entry.command = outer

    def _prepare_restricted(
        self,
        entry: SandboxedCommand,
        command: Sequence[str],
        environment: dict[str, str],
        directories: tuple[str, ...],
    ) -> None:
        """Landlock and Seatbelt only remove rights: no mounts, no proxy, no process namespace."""
        from bobstay.permissions.sandbox import landlock, seatbelt

        survey = self._planner.survey(directories)
        plan = self._planner.plan(survey)
        entry.start_scan(self._planner, survey)
        entry.environment = sandbox_environment(
            environment, self.spec.variables, temporary=self._temporary, proxy=False
        )
        if self.availability.kind == "seatbelt":
            entry.command = [self.availability.path, "-p", seatbelt.profile(plan, self._temporary), *command]
            return
        grants = landlock.encode(landlock.grants(plan, self._temporary))
        program = seccomp.program(internet=False)
        script = f"{_HERE}/restrict.py"
        entry.command = [
            *(self._python, "-I", "-S", script, entry.pass_bytes(grants), entry.pass_bytes(program)),
            *command,
        ]

    def _prepare_plan(self, entry: SandboxedCommand, directories: tuple[str, ...]) -> Plan:
        """A plan whose placeholders exist, with a lease that keeps them."""
        survey = self._planner.survey(directories)
        lease = placeholders.PlaceholderLease(self.spec.state, survey.locked)
        entry.set_release(lambda: self._release_later(lease))
        plan = self._planner.plan(survey)
        entry.start_scan(self._planner, survey)
        refused: set[str] = set()
        for number in range(len(plan.locked)):
            refused |= lease.put(number, plan.placeholders(number))
        if not refused:
            return plan
        mounts = tuple(mount for mount in plan.mounts if mount.path not in refused)
        return Plan(plan.roots, plan.locked, mounts, plan.pins)

    def _release_later(self, lease: placeholders.PlaceholderLease) -> None:
        """Release after a moment: not while the command's result is awaited, and perhaps the next command reuses it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            lease.release()
            return
        self._leases.add(lease)
        loop.call_later(_LINGER, self._release_now, lease)

    def _release_now(self, lease: placeholders.PlaceholderLease) -> None:
        if lease in self._leases:
            self._leases.discard(lease)
            lease.release()

    def _starting_directory(self, cwd: str, plan: Plan) -> str:
        """The directory in which the command starts: `cwd`, unless it does not exist inside."""
        real = os.path.realpath(cwd)
        if any(within(real, mount.path) for mount in plan.mounts if mount.required and mount.how in ("write", "read")):
            return cwd
        if within(cwd, TEMPORARY):
            return cwd if os.path.isdir(self._temporary + cwd[len(TEMPORARY) :]) else TEMPORARY
        return "/" if any(within(cwd, directory) for directory in SCRATCH) else cwd


class SandboxEntry:
    """The sandbox with the directories of one command."""

    def __init__(self, sandbox: Sandbox, directories: tuple[str, ...]) -> None:
        self._sandbox = sandbox
        self._directories = directories

    @property
    def contained(self) -> bool:
        """Whether all processes of a command end with it."""
        return self._sandbox.availability.kind == "bwrap"

    def enter(self, command: Sequence[str], cwd: str, environment: dict[str, str]) -> SandboxedCommand:
        """Raises `SandboxError`."""
        return self._sandbox.enter(command, cwd=cwd, environment=environment, directories=self._directories)


@cache
def _script(name: str) -> str:
    """The source of a script that runs inside, where the files of bobstay may be hidden."""
    with open(f"{_HERE}/{name}.py", encoding="utf-8") as file:
        return file.read()


def _make_private_folder(parent: str) -> tuple[str, int]:
    """Make a folder that only this user can reach, locked while this process lives; remove those of dead processes."""
    import shutil

    os.makedirs(parent, mode=0o700, exist_ok=True)
    for name in os.listdir(parent):
        with suppress(OSError):
            folder = os.open(f"{parent}/{name}", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                lock(folder, 0)
                shutil.rmtree(f"{parent}/{name}", ignore_errors=True)
            finally:
                os.close(folder)
    path = f"{parent}/{os.getpid()}-{os.urandom(6).hex()}"
    os.mkdir(path, 0o700)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    lock_shared(folder)
    os.chmod(path, 0o1777)  # noqa: S103 - like /tmp; its parent is private
    return path, folder
