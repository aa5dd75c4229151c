"""Creates the agent worker of a session: the built-in engine, or the process of an external one."""

import os

from msgspec.structs import replace

from bobstay.config.secret_variables import secret_values
from bobstay.server.files.session_directory import is_allowed
from bobstay.server.root_directories import RootDirectories
from bobstay.server.server_options import ServerOptions
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.workers.native_worker import NativeServices, NativeWorker
from bobstay.server.workers.process.engine_command_line import clear_mcp_configs
from bobstay.server.workers.process.process_worker import ProcessWorker
from bobstay.server.workers.process.spawner import ProcessServices, WorkerFiles
from bobstay.server.workers.worker import AgentWorker, WorkerError


class SessionWorkerFactory:
    def __init__(
        self, options: ServerOptions, native: NativeServices, secrets: SessionSecrets, roots: RootDirectories
    ) -> None:
        temporary = os.path.join(options.state, "temporary")
        os.makedirs(temporary, 0o700, exist_ok=True)
        clear_mcp_configs(temporary)
        self._engines = options.engines
        self._native = native
        self._secrets = secrets
        self._roots = roots
        self._process = ProcessServices(
            native.environment,
            native.inbox,
            native.capacity,
            temporary,
            pass_keys=options.pass_keys,
            questions=options.questions,
        )

    def __call__(self, id: str, epoch: int, session: OpenSession) -> AgentWorker:
        """Create a worker for `session`.

        Raises:
            WorkerError: it must not work in its directory, or its engine is unknown.
        """
        # Checked here because every start of a worker passes through: a prompt, an answer, a restart of the server.
        if not is_allowed(os.path.realpath(session.view.cwd), self._roots.allowed()):
            text = f"{session.view.cwd[:500]} is outside the directories in which sessions of this server may work."
            raise WorkerError(f"{text} An administrator can add it in Settings, Directories.")
        engine = session.view.config.engine
        own = self._secrets.variables_of(session.id)
        if engine == "native":
            services = _with_variables(self._native, own) if own else self._native
            return NativeWorker(id, epoch, session, replace(services, mcp_config=self._secrets.mcp_json(session.id)))
        command = self._engines.get(engine)
        if command is None:
            text = f"This server has no engine {engine!r}. Start it with --engine {engine}=COMMAND."
            raise WorkerError(text)
        files = WorkerFiles(own, self._secrets.mcp_config(session.id))
        return ProcessWorker(id, epoch, session, command, self._process, files)


def _with_variables(services: NativeServices, own: dict[str, str]) -> NativeServices:
    """The same with the variables of one session, which its commands get and which are redacted."""
    environment = services.environment
    secrets = {**environment.secrets, **secret_values(own)}
    environment = replace(environment, children={**environment.children, **own}, secrets=secrets)
    return replace(services, environment=environment)
