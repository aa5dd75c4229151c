"""Errors of signing in to an MCP server, with texts for people that contain no token."""


class OAuthProblem(Exception):  # noqa: N818 - the base of two outcomes
    """A server cannot be used because of its sign-in."""

    def __init__(self, server_name: str, text: str) -> None:
        super().__init__(text)
        self.server_name = server_name


class NeedsAuthorization(OAuthProblem):
    """A person must sign in first."""

    def __init__(self, server_name: str, why: str = "") -> None:
        reason = f" {why}" if why else ""
        super().__init__(
            server_name,
            f"The MCP server {server_name} needs you to sign in.{reason} Run: bobstay mcp login {server_name}",
        )


class AuthorizationFailed(OAuthProblem):
    """The sign-in, or the refresh of a token, did not work."""

    def __init__(self, server_name: str, why: str) -> None:
        super().__init__(server_name, f"Signing in to the MCP server {server_name} failed. {why}")
