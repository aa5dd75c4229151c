"""Puts a command into the sandbox: the one door through which shells, background jobs and tests go."""

import asyncio
import fcntl
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
from bobstay.permissions.sandbox.quarantine import Moved, Watch
from bobstay.permissions.sandbox.sandbox_variables import variables

_LINGER = 0.05
_HERE = os.path.dirname(__file__)


class SandboxedCommand:
    """A command ready to be started, and what must be seen to afterwards."""

    def __init__(self) -> None:
        self.command: list[str] = []
        self.environment: dict[str, str] = {}
        self.keep: list[int] = []
        """Descriptors the command must be started with."""
        self.contained = False
        """Whatever it leaves behind dies with it: it has a process namespace of its own."""
        self.aside: tuple[Moved, ...] = ()
        """What it made and programs outside would obey: it has another name now."""
        self._release: Callable[[], None] | None = None
        self._watch: Watch | None = None
        self._proxy: Proxy | None = None

    def started(self) -> None:
        """The command runs, or could not be started: our copies of its descriptors are no longer needed."""
        for descriptor in self.keep:
            os.close(descriptor)
        self.keep = []

    def ended(self, *, lasting: bool = False) -> None:
        """All of it is gone. Takes back what was put on the disk, and puts aside what it made and should not have.

        `lasting`: it ran in the background, beside other work.
        """
        self.started()
        if self._watch is not None:
            self.aside = self._watch.sweep(lasting=lasting)
            self._watch = None
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None
        if self._release is not None:
            self._release()
            self._release = None

    def watch(self, planner: Planner, survey: Survey) -> None:
        """Remember what is there before the command starts."""
        self._watch = Watch(planner, survey)

    def hold(self, release: Callable[[], None]) -> None:
        """What to call when all of it is gone."""
        self._release = release

    def pass_on(self, content: bytes) -> str:
        """A descriptor from which the command reads `content`."""
        descriptor = os.memfd_create("bobstay", os.MFD_CLOEXEC)
        self.keep.append(descriptor)
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return str(descriptor)

    def let_out(self, domains: tuple[str, ...]) -> str:
        """A proxy outside for the command, and the descriptor over which it sends its listener."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._proxy = Proxy(domains)
        self._proxy.expect(ours)
        self.keep.append(theirs.detach())
        return str(self.keep[-1])


class Sandbox:
    """The sandbox of a session. Its private folder for temporary files lives as long as the session."""

    def __init__(
        self, spec: SandboxSpec, availability: Availability | None = None, *, python: str = "", unverified: bool = False
    ) -> None:
        """`availability`: what to use; looked for when first needed if not given."""
        self.spec = spec
        self._availability = availability
        self._unverified = unverified
        self._planner = Planner(spec)
        self._python = python or os.path.realpath(sys.executable)
        self._temporary = ""
        self._lock = -1
        self._leases: set[placeholders.PlaceholderLease] = set()
        """Those about to be given back."""

    @property
    def availability(self) -> Availability:
        if self._availability is None:
            self._availability = available(workspace=self.spec.root, unverified=self._unverified)
        return self._availability

    def entering(self, directories: tuple[str, ...]) -> "SandboxEntry":
        """The door for one command of a session that works in `directories`."""
        return SandboxEntry(self, directories)

    def enter(
        self, command: Sequence[str], *, cwd: str, environment: dict[str, str], directories: tuple[str, ...] = ()
    ) -> SandboxedCommand:
        """Wrap a command.

        Raises:
            SandboxError: there is no sandbox here, or it could not be prepared.
        """
        if not self.availability.kind:
            raise SandboxError(self.availability.refusal)
        entry = SandboxedCommand()
        try:
            if not self._temporary:
                placeholders.sweep(self.spec.state)
                self._temporary, self._lock = _private_folder(f"{self.spec.state}/temporary")
            if self.availability.kind == "bwrap":
                self._wrapped(entry, command, cwd, environment, directories)
            else:
                self._restricted(entry, command, environment, directories)
        except (OSError, LookupError) as error:
            entry.ended()
            raise SandboxError(f"The sandbox could not be prepared, so the command did not run: {error}") from error
        except BaseException:
            entry.ended()
            raise
        return entry

    def close(self) -> None:
        """The session is over: its stand-ins and temporary files go."""
        for lease in self._leases:
            lease.release()
        self._leases.clear()
        if self._temporary:
            import shutil

            shutil.rmtree(self._temporary, ignore_errors=True)
            os.close(self._lock)
            self._temporary, self._lock = "", -1

    def plan(self, directories: tuple[str, ...] = ()) -> Plan:
        """What would be mounted, for those who want to look at it."""
        return self._planner.plan(self._planner.survey(directories))

    def _wrapped(
        self,
        entry: SandboxedCommand,
        command: Sequence[str],
        cwd: str,
        environment: dict[str, str],
        directories: tuple[str, ...],
    ) -> None:
        plan = self._prepared(entry, directories)
        with_proxy = self.spec.domains is not None
        entry.contained = True
        entry.environment = variables(
            environment, self.spec.variables, temporary=TEMPORARY, proxy=with_proxy and bool(self.spec.domains)
        )
        program = seccomp.program(unix_sockets=self.spec.unix_sockets)
        words = bwrap.words(
            plan,
            empty=empty_file(self.spec.state),
            temporary=self._temporary,
            cwd=self._standing(cwd, plan),
            seccomp=int(entry.pass_on(program)),
            user=os.getuid(),
        )
        inner = list(command)
        if self.spec.domains:
            channel = entry.let_out(self.spec.domains)
            inner = [self._python, "-I", "-S", "-c", _script("give_listener"), channel, str(PORT), *inner]
        arguments = entry.pass_on(b"\0".join(map(os.fsencode, words)) + b"\0")
        outer = [self.availability.path, "--args", arguments, "--", *inner]
        if plan.pins:
            pinned = [word for pair in plan.pins for word in pair]
            outer = [self._python, "-I", "-S", f"{_HERE}/pin_links.py", *pinned, "--", *outer]
        entry.command = outer

    def _restricted(
        self,
        entry: SandboxedCommand,
        command: Sequence[str],
        environment: dict[str, str],
        directories: tuple[str, ...],
    ) -> None:
        """The sandboxes that only take rights away: no other view of the disk, no proxy, no processes of its own."""
        from bobstay.permissions.sandbox import landlock, seatbelt

        survey = self._planner.survey(directories)
        plan = self._planner.plan(survey)
        entry.watch(self._planner, survey)
        entry.environment = variables(environment, self.spec.variables, temporary=self._temporary, proxy=False)
        if self.availability.kind == "seatbelt":
            entry.command = [self.availability.path, "-p", seatbelt.profile(plan, self._temporary), *command]
            return
        grants = landlock.encode(landlock.grants(plan, self._temporary))
        program = seccomp.program(internet=False)
        script = f"{_HERE}/restrict.py"
        entry.command = [
            *(self._python, "-I", "-S", script, entry.pass_on(grants), entry.pass_on(program)),
            *command,
        ]

    def _prepared(self, entry: SandboxedCommand, directories: tuple[str, ...]) -> Plan:
        """A plan whose stand-ins are in place, behind a lock that keeps them there."""
        survey = self._planner.survey(directories)
        lease = placeholders.PlaceholderLease(self.spec.state, survey.locked)
        entry.hold(lambda: self._give_back(lease))
        plan = self._planner.plan(survey)
        entry.watch(self._planner, survey)
        refused: set[str] = set()
        for number in range(len(plan.locked)):
            refused |= lease.put(number, plan.stand_ins(number))
        if not refused:
            return plan
        mounts = tuple(mount for mount in plan.mounts if mount.path not in refused)
        return Plan(plan.roots, plan.locked, mounts, plan.pins)

    def _give_back(self, lease: placeholders.PlaceholderLease) -> None:
        """Not while somebody waits for the command's result, and not at all if the next command needs the same."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            lease.release()
            return
        self._leases.add(lease)
        loop.call_later(_LINGER, self._given_back, lease)

    def _given_back(self, lease: placeholders.PlaceholderLease) -> None:
        if lease in self._leases:
            self._leases.discard(lease)
            lease.release()

    def _standing(self, cwd: str, plan: Plan) -> str:
        """Where the command starts: where it was, unless that place is not there inside."""
        real = os.path.realpath(cwd)
        if any(within(real, mount.path) for mount in plan.mounts if mount.firm and mount.how in ("write", "read")):
            return cwd
        if within(cwd, TEMPORARY):
            return cwd if os.path.isdir(self._temporary + cwd[len(TEMPORARY) :]) else TEMPORARY
        return "/" if any(within(cwd, place) for place in SCRATCH) else cwd


class SandboxEntry:
    """The sandbox as a single command sees it."""

    def __init__(self, sandbox: Sandbox, directories: tuple[str, ...]) -> None:
        self._sandbox = sandbox
        self._directories = directories

    @property
    def contained(self) -> bool:
        """Whether all that a command leaves behind ends with it."""
        return self._sandbox.availability.kind == "bwrap"

    def enter(self, command: Sequence[str], cwd: str, environment: dict[str, str]) -> SandboxedCommand:
        """Raises `SandboxError`."""
        return self._sandbox.enter(command, cwd=cwd, environment=environment, directories=self._directories)


@cache
def _script(name: str) -> str:
    """The text of a script that runs inside, where our own files may not be seen."""
    with open(f"{_HERE}/{name}.py", encoding="utf-8") as file:
        return file.read()


def _private_folder(parent: str) -> tuple[str, int]:
    """A new folder only we can reach, locked as long as we live; those of the dead are removed."""
    import shutil

    os.makedirs(parent, mode=0o700, exist_ok=True)
    for name in os.listdir(parent):
        with suppress(OSError):
            lock = os.open(f"{parent}/{name}", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(f"{parent}/{name}", ignore_errors=True)
            finally:
                os.close(lock)
    path = f"{parent}/{os.getpid()}-{os.urandom(6).hex()}"
    os.mkdir(path, 0o700)
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_SH)
    os.chmod(path, 0o1777)  # noqa: S103 - as /tmp is; nobody else gets past the folder it is in
    return path, lock
