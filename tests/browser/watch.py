"""Sees what a page must not do: errors on its console, errors nobody caught, what its policy forbade, other origins."""

import re

from playwright.async_api import BrowserContext, ConsoleMessage, Error, Page, Request, WebError, WebSocket

_TELL = """
document.addEventListener("securitypolicyviolation", (event) => {
  window.__forbidden(`${event.effectiveDirective}: ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`);
});
"""
_OWN = ("data:", "blob:", "about:")


class Watch:
    """Of one browser context, all its pages. What a test expects, it says beforehand or after; the rest fails it."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._expected: list[re.Pattern[str]] = []
        self.complaints: list[str] = []
        self.requests: list[str] = []
        """All addresses that were asked for, in order."""
        self.pending: set[Request] = set()
        """Requests that are under way."""
        self.said: list[str] = []
        """All lines of the console, for whoever looks why a test failed."""

    async def begin(self, context: BrowserContext) -> None:
        await context.expose_binding("__forbidden", lambda _, text: self._complain(f"forbidden by policy: {text}"))
        await context.add_init_script(_TELL)
        context.on("console", self._heard)
        context.on("weberror", self._broke)
        context.on("request", self._asked)
        context.on("requestfinished", self._answered)
        context.on("requestfailed", self._answered)
        context.on("page", self._opened)

    def expect(self, pattern: str) -> None:
        """Complaints in which this is found are as they should be."""
        self._expected.append(re.compile(pattern))

    def unexpected(self) -> list[str]:
        return [each for each in self.complaints if not any(pattern.search(each) for pattern in self._expected)]

    def elsewhere(self) -> list[str]:
        """Addresses of other origins that were asked for."""
        return [url for url in self.requests if not self._is_own(url)]

    def _is_own(self, url: str) -> bool:
        own = self._origin.removeprefix("http")
        return url.startswith(_OWN) or url.startswith((f"http{own}/", f"ws{own}/"))

    def _heard(self, message: ConsoleMessage) -> None:
        self.said.append(f"{message.type}: {message.text}")
        if message.type in ("error", "assert"):
            where = message.location
            self._complain(f"console: {message.text} ({where['url']}:{where['lineNumber']})")

    def _broke(self, error: WebError) -> None:
        self._complain(f"not caught: {_words(error.error)}")

    def _asked(self, request: Request) -> None:
        self.pending.add(request)
        self._note(request.url)

    def _answered(self, request: Request) -> None:
        self.pending.discard(request)

    def _opened(self, page: Page) -> None:
        page.on("websocket", self._connected)
        page.on("crash", lambda _: self._complain("the page crashed"))

    def _connected(self, socket: WebSocket) -> None:
        self._note(socket.url)

    def _note(self, url: str) -> None:
        self.requests.append(url)
        if not self._is_own(url):
            self._complain(f"another origin: {url[:300]}")

    def _complain(self, text: str) -> None:
        self.complaints.append(text)


def _words(error: Error) -> str:
    return f"{error.message} {error.stack or ''}"[:2000]
