"""Access tokens for Google Cloud, from the credentials that google-auth finds: application default credentials.

That is a person's own sign-in, a service account, an impersonated one, workload identity, or the machine's. google-auth
is imported with the first request, in a thread: importing and asking for a token both take their time.
"""

import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from bobstay.providers.base import ProviderError
from bobstay.providers.cloud_access import LearnedSecrets, run_apart

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
NO_CREDENTIALS = (
    "No Google Cloud credentials were found. Sign in with `gcloud auth application-default login`, or set "
    "GOOGLE_APPLICATION_CREDENTIALS to the file of a service account."
)
NO_PROJECT = "No Google Cloud project is set. Set ANTHROPIC_VERTEX_PROJECT_ID or GOOGLE_CLOUD_PROJECT."


class GoogleAccess:
    """Adds an access token to each request, and renews it before it expires."""

    def __init__(self, learn_secrets: Callable[[Mapping[str, str]], None] | None = None) -> None:
        """`learn_secrets` is told what to redact."""
        self._learned = LearnedSecrets(learn_secrets)
        self._credentials: Any = None
        self._project = ""
        self._lock = threading.Lock()

    async def headers(self, url: str, body: bytes) -> dict[str, str]:
        headers = await run_apart(self._authorize)
        self._learned.add("Google access token", headers["authorization"].removeprefix("Bearer "))
        return headers

    async def project(self) -> str:
        """Return the project of the credentials.

        Raises:
            ProviderError: They name none.
        """
        await run_apart(self._authorize)
        if not self._project:
            raise ProviderError(NO_PROJECT, kind="unreachable")
        return self._project

    def forget(self) -> bool:
        with self._lock:
            self._credentials = None
        return True

    def _authorize(self) -> dict[str, str]:
        with self._lock:
            try:
                return self._authorize_unguarded()
            except ProviderError:
                raise
            except Exception as error:
                raise _credentials_error(error) from error

    def _authorize_unguarded(self) -> dict[str, str]:
        import google.auth
        from google.auth.exceptions import DefaultCredentialsError
        from google.auth.transport.requests import Request as TokenRequest

        if self._credentials is None:
            # About a quota that is not used here; it would stand between the lines of an answer.
            warnings.filterwarnings("ignore", "Your application has authenticated using end user credentials")
            try:
                self._credentials, project = google.auth.default(scopes=[SCOPE])
            except DefaultCredentialsError as error:
                raise ProviderError(f"{NO_CREDENTIALS} ({error})", kind="authentication") from error
            self._project = project or ""
        if not self._credentials.valid:
            self._credentials.refresh(TokenRequest())
        headers: dict[str, str] = {}
        # `apply` also adds the project that pays, where the credentials name one.
        self._credentials.apply(headers)
        return {name.lower(): value for name, value in headers.items()}


def _credentials_error(error: Exception) -> ProviderError:
    from google.auth.exceptions import TransportError

    what = str(error) or type(error).__name__
    if isinstance(error, TransportError):
        return ProviderError(f"The server for tokens of Google Cloud was not reached: {what}", kind="connection")
    return ProviderError(
        f"The Google Cloud credentials cannot be used: {what}. "
        "Sign in again with `gcloud auth application-default login`.",
        kind="authentication",
    )
