"""Start context: the settings, model and log from which a session is built."""

from msgspec import Struct

from bobstay.assembly.model_routes import ModelRoutes
from bobstay.assembly.session_log import OpenedLog
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.config.settings_files import LoadedSettings
from bobstay.redaction.redactor import Redactor


class Predecessor(Struct, frozen=True):
    """The session that a person ended with `/clear`, and that this one takes the place of."""

    spent: float
    """What it, and those before it, cost in this process: a budget holds for all of them."""


class StartContext(Struct, frozen=True):
    options: Options
    environment: Environment
    loaded: LoadedSettings
    cwd: str
    routes: ModelRoutes
    model: str
    redactor: Redactor
    history: OpenedLog
    warnings: list[str]
    """For the person who started it."""
    predecessor: Predecessor | None = None

    @property
    def session_id(self) -> str:
        return self.history.log.session_id

    @property
    def key_source(self) -> str:
        """The environment variable the model's key comes from."""
        return next((name for name in self.environment.keys if name.endswith(("_API_KEY", "_AUTH_TOKEN"))), "none")
