"""Records what a page must not do: console errors, uncaught errors, violations of its policy, requests elsewhere."""

import re

from playwright.async_api import BrowserContext, ConsoleMessage, Error, Page, Request, WebError, WebSocket

_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  window.__forbidden(`${event.effectiveDirective}: ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`);
});
"""
_OWN = ("data:", "blob:", "about:")


class PageMonitor:
    """Of all pages of one browser context. Errors that a test does not declare with `expect` fail it."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._expected: list[re.Pattern[str]] = []
        self.errors: list[str] = []
        self.requests: list[str] = []
        """All requested addresses, in order."""
        self.pending: set[Request] = set()
        """Requests that are under way."""
        self.console_lines: list[str] = []
        """All lines of the console, for whoever looks why a test failed."""

    async def attach(self, context: BrowserContext) -> None:
        await context.expose_binding("__forbidden", lambda _, text: self._fail(f"forbidden by policy: {text}"))
        await context.add_init_script(_REPORT_VIOLATIONS)
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("request", self._on_request)
        context.on("requestfinished", self._on_response)
        context.on("requestfailed", self._on_response)
        context.on("page", self._on_page)

    def expect(self, pattern: str) -> None:
        """Errors in which this is found are expected."""
        self._expected.append(re.compile(pattern))

    def unexpected(self) -> list[str]:
        return [each for each in self.errors if not any(pattern.search(each) for pattern in self._expected)]

    def foreign_requests(self) -> list[str]:
        """Requested addresses of other origins."""
        return [url for url in self.requests if not self._is_own(url)]

    def _is_own(self, url: str) -> bool:
        own = self._origin.removeprefix("http")
        return url.startswith(_OWN) or url.startswith((f"http{own}/", f"ws{own}/"))

    def _on_console(self, message: ConsoleMessage) -> None:
        self.console_lines.append(f"{message.type}: {message.text}")
        if message.type in ("error", "assert"):
            where = message.location
            self._fail(f"console: {message.text} ({where['url']}:{where['lineNumber']})")

    def _on_error(self, error: WebError) -> None:
        self._fail(f"not caught: {_text_of(error.error)}")

    def _on_request(self, request: Request) -> None:
        self.pending.add(request)
        self._record(request.url)

    def _on_response(self, request: Request) -> None:
        self.pending.discard(request)

    def _on_page(self, page: Page) -> None:
        page.on("websocket", self._on_websocket)
        page.on("crash", lambda _: self._fail("the page crashed"))

    def _on_websocket(self, socket: WebSocket) -> None:
        self._record(socket.url)

    def _record(self, url: str) -> None:
        self.requests.append(url)
        if not self._is_own(url):
            self._fail(f"another origin: {url[:300]}")

    def _fail(self, text: str) -> None:
        self.errors.append(text)


def _text_of(error: Error) -> str:
    return f"{error.message} {error.stack or ''}"[:2000]
