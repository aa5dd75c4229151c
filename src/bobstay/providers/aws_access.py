"""Signs requests for AWS with the credentials that botocore finds: variables, profile, SSO, container or instance.

botocore is imported with the first request, in a thread: importing and asking for credentials both take their time.
"""

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from bobstay.providers.base import ProviderError
from bobstay.providers.cloud_access import LearnedSecrets, run_apart

SERVICE = "bedrock"
NO_CREDENTIALS = (
    "No AWS credentials were found. Sign in with `aws sso login` or `aws configure`, name a profile in AWS_PROFILE, "
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or set a Bedrock API key in AWS_BEARER_TOKEN_BEDROCK."
)
NO_REGION = "No AWS region is set. Set AWS_REGION, such as AWS_REGION=us-east-1, or name one in your AWS profile."


class AwsAccess:
    """Adds a signature (version 4) to each request."""

    def __init__(
        self, variables: Mapping[str, str], learn_secrets: Callable[[Mapping[str, str]], None] | None = None
    ) -> None:
        """`variables` has what the environment and the settings say; `learn_secrets` is told what to redact."""
        self._variables = variables
        self._learned = LearnedSecrets(learn_secrets)
        self._credentials: Any = None
        self._session: Any = None
        self._lock = threading.Lock()

    async def headers(self, url: str, body: bytes) -> dict[str, str]:
        region = _endpoint_region(url) or await self.region()
        headers, secrets = await run_apart(self._sign, url, body, region)
        for secret in secrets:
            self._learned.add("AWS credentials", secret)
        return headers

    async def region(self) -> str:
        """Return the region of the variables or of the profile.

        Raises:
            ProviderError: Neither names one.
        """
        named = self._variables.get("AWS_REGION") or self._variables.get("AWS_DEFAULT_REGION")
        region = named or await run_apart(self._profile_region)
        if not region:
            raise ProviderError(NO_REGION, kind="unreachable")
        return region

    def forget(self) -> bool:
        with self._lock:
            self._credentials = self._session = None
        return True

    def _profile_region(self) -> str:
        with self._lock, _aws_errors():
            return self._open_session().get_config_variable("region") or ""

    def _sign(self, url: str, body: bytes, region: str) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return the headers, and the secrets they were made with."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        with self._lock, _aws_errors():
            credentials = self._read_credentials()
            signed = AWSRequest("POST", url, headers={"content-type": "application/json"}, data=body)
            SigV4Auth(credentials, SERVICE, region).add_auth(signed)
        headers = {name.lower(): value for name, value in signed.headers.items()}
        return headers, (credentials.secret_key, credentials.token or "")

    def _read_credentials(self) -> Any:
        """Return the credentials as they are now; botocore renews those that expire soon."""
        if self._credentials is None:
            self._credentials = self._find_credentials()
        if self._credentials is None:
            raise ProviderError(NO_CREDENTIALS, kind="authentication")
        return self._credentials.get_frozen_credentials()

    def _find_credentials(self) -> Any:
        from botocore.credentials import Credentials

        key, secret = self._variables.get("AWS_ACCESS_KEY_ID"), self._variables.get("AWS_SECRET_ACCESS_KEY")
        if key and secret:
            # Set in the settings they are in no process's environment, where botocore would look.
            return Credentials(key, secret, self._variables.get("AWS_SESSION_TOKEN"))
        return self._open_session().get_credentials()

    def _open_session(self) -> Any:
        if self._session is None:
            from botocore.session import Session

            self._session = Session(profile=self._variables.get("AWS_PROFILE"))
        return self._session


def _endpoint_region(url: str) -> str:
    """Return the region in the name of an endpoint of AWS; "" for a gateway, whose name says nothing."""
    service, _, rest = url.partition("://")[2].partition(".")
    return rest.partition(".")[0] if service == "bedrock-runtime" else ""


@contextmanager
def _aws_errors() -> Generator[None, None, None]:
    """Turn whatever goes wrong with credentials into an error of a provider."""
    try:
        yield
    except ProviderError:
        raise
    except Exception as error:
        raise _credentials_error(error) from error


def _credentials_error(error: Exception) -> ProviderError:
    from botocore.exceptions import ConnectionError as AwsConnectionError
    from botocore.exceptions import HTTPClientError

    what = str(error) or type(error).__name__
    if isinstance(error, AwsConnectionError | HTTPClientError):
        return ProviderError(f"The server for AWS credentials was not reached: {what}", kind="connection")
    return ProviderError(
        f"The AWS credentials cannot be used: {what}. Sign in again with `aws sso login` or `aws configure`, or name "
        "another profile in AWS_PROFILE.",
        kind="authentication",
    )
