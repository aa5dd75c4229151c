"""The environment inside a sandbox: only listed variables that tools need."""

from collections.abc import Mapping

from bobstay.permissions.sandbox.proxy import PORT
from bobstay.system.process_tree import MARK

_NAMES = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "PWD"),
        *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "CI", "DEBUG", "PAGER", "EDITOR"),
        *("MAKEFLAGS", "MAKELEVEL", "CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"),
        *("PKG_CONFIG_PATH", "MANPATH", "INFOPATH", "VIRTUAL_ENV", "SDKMAN_DIR", "SOURCE_DATE_EPOCH", "IS_SANDBOX"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", MARK),
    )
)
_BEGINNINGS = (
    *("LC_", "GIT_", "PYTHON", "PIP_", "UV_", "PYENV_", "POETRY_", "PIPENV_", "CONDA_", "TOX_", "PYTEST_", "COVERAGE_"),
    *("NODE_", "NPM_", "npm_", "NVM_", "YARN_", "PNPM_", "BUN_", "DENO_", "COREPACK_", "JEST_", "VITE_"),
    *("GO", "CGO_", "CARGO_", "RUST", "JAVA_", "JDK_", "MAVEN_", "GRADLE_", "SBT_", "KOTLIN_", "ANDROID_"),
    *("RUBY", "GEM_", "BUNDLE_", "RBENV_", "PHP_", "COMPOSER_", "DOTNET_", "NUGET_", "CMAKE_", "CTEST_", "MESON_"),
    *("ASDF_", "MISE_", "VOLTA_", "FNM_", "HOMEBREW_", "NIX_", "GUIX_", "LSB_", "DEB"),
)
_NEVER = frozenset(("GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND"))
"""They name programs outside the sandbox, or give access to keys."""


def sandbox_environment(
    source: Mapping[str, str], also: tuple[str, ...], *, temporary: str, proxy: bool
) -> dict[str, str]:
    """The environment inside. Secrets were already removed from `source`."""
    found = {
        name: value
        for name, value in source.items()
        if name in also or (name not in _NEVER and (name in _NAMES or name.startswith(_BEGINNINGS)))
    }
    found["TMPDIR"] = temporary
    # The home is read-only, and npm and go fail without a writable cache.
    found.setdefault("npm_config_cache", f"{temporary}/.npm")
    found.setdefault("GOCACHE", f"{temporary}/.go-build")
    if proxy:
        proxy_url = f"http://127.0.0.1:{PORT}"
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            found[name] = proxy_url
        found["NO_PROXY"] = found["no_proxy"] = "localhost,127.0.0.1,::1"
        found["NODE_USE_ENV_PROXY"] = "1"
    return found
