"""Host rules: resolves a URL to the host it names and matches it against `domain:` patterns."""

from msgspec import Struct

from bobstay.permissions.path_pattern import BadPattern, matches_wildcard

PRIVATE_SUFFIXES = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa")
AMBIGUOUS = "\u00df\u1e9e\u03c2\u200c\u200d"
"""Letters that the two versions of IDNA map to different hosts."""


class Address(Struct, frozen=True):
    """The host that a URL names, or why it is not certain."""

    host: str = ""
    """Normalised: lower case, IDNA, without a trailing dot."""
    candidates: tuple[str, ...] = ()
    """Every host that some program might read from the URL; deny and ask rules are matched with all of them."""
    trouble: str = ""
    forbidden: bool = False
    """Never fetched, whatever the rules allow."""
    public: bool = False
    """Neither loopback nor private, nor an unusual spelling of a numeric address."""


def parse_address(url: str) -> Address:
    """Parse a URL conservatively: anything that two parsers may read differently is reported in `trouble`."""
    if "\0" in url or "%00" in url:
        return Address(trouble="the URL contains a NUL byte", forbidden=True)
    scheme, colon, rest = url.strip().partition(":")
    if not colon or scheme.lower() not in ("http", "https"):
        return Address(trouble="only http and https URLs can be fetched", forbidden=True)
    candidates = _candidates(rest)
    trouble = _url_problem(url, rest)
    if not trouble:
        host = _host(_authority(rest[2:]))
        if host:
            return Address(host, candidates, "", public=_is_public(host))
        trouble = "the URL's host cannot be read"
    return Address(candidates=candidates, trouble=trouble)


def _url_problem(url: str, rest: str) -> str:
    if not url.isprintable() or any(character.isspace() for character in url):
        return "the URL contains white space or control characters"
    if "\\" in url:
        return "the URL contains a backslash, which programs read differently"
    if not rest.startswith("//"):
        return "the URL has no host"
    authority = _authority(rest[2:])
    if "@" in authority:
        return "the URL carries a user name, which can disguise the host"
    if "%" in authority:
        return "the URL's host is percent-encoded"
    return ""


def _authority(rest: str) -> str:
    for stop in "/?#":
        rest = rest.partition(stop)[0]
    return rest


def _candidates(rest: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for reading in (rest, rest.replace("\\", "/")):
        for piece in _authority(reading.lstrip("/")).split("@"):
            if host := _host(piece):
                found[host] = None
                if number := _number(host):
                    found[number] = None
    return tuple(found)


def _host(authority: str) -> str:
    """The normalised host of `host[:port]`, or "" if it is not one."""
    if authority.startswith("["):
        host, bracket, port = authority[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            return ""
        return _ipv6(host) if _is_port(port.removeprefix(":")) else ""
    host, _, port = authority.partition(":")
    return normalise_host(host) if _is_port(port) and "*" not in host else ""


def _is_port(text: str) -> bool:
    return not text or (text.isascii() and text.isdigit() and len(text) <= 5)


def normalise_host(host: str) -> str:
    """Lower case, IDNA form, no trailing dot; "" if it is not a host name."""
    host = host.removesuffix(".")
    if len(host) > 253:
        return ""
    if not host.isascii():
        if any(character in host for character in AMBIGUOUS):
            return ""
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return ""
    host = host.lower()
    labels = host.split(".")
    is_valid = all(label and label.replace("-", "").replace("_", "").replace("*", "x").isalnum() for label in labels)
    return host if is_valid else ""


def _ipv6(text: str) -> str:
    import ipaddress

    try:
        return f"[{ipaddress.IPv6Address(text).compressed}]"
    except ValueError:
        return ""


def _is_public(host: str) -> bool:
    if host.startswith("["):
        import ipaddress

        found = ipaddress.IPv6Address(host[1:-1])
        embedded = found.ipv4_mapped or found.sixtofour or found.teredo
        return (
            found.is_global and not found.is_multicast and not embedded and not found.compressed.startswith("64:ff9b:")
        )
    if number := _number(host):
        import ipaddress

        address4 = ipaddress.IPv4Address(number)
        return number == host and address4.is_global and not address4.is_multicast
    labels = host.split(".")
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        return False
    return len(labels) > 1 and not any(host.endswith("." + suffix) for suffix in PRIVATE_SUFFIXES)


def _number(host: str) -> str:
    """The dotted form of a host that the C library would read as an IPv4 address; "" for others."""
    parts = host.split(".")
    if len(parts) > 4:
        return ""
    numbers: list[int] = []
    for part in parts:
        value = _integer(part)
        if value is None:
            return ""
        numbers.append(value)
    *high, low = numbers
    if any(value > 255 for value in high) or low >= 256 ** (5 - len(numbers)):
        return ""
    whole = low + sum(value << (24 - 8 * position) for position, value in enumerate(high))
    return ".".join(str(whole >> shift & 255) for shift in (24, 16, 8, 0))


def _integer(text: str) -> int | None:
    if not text.isascii() or not text[:1].isdigit() or len(text) > 16:
        return None
    base = 16 if text.startswith("0x") else 8 if text.startswith("0") and len(text) > 1 else 10
    digits = text[2:] if base == 16 else text
    try:
        return int(digits, base) if digits else 0
    except ValueError:
        return None


class HostPattern(Struct, frozen=True):
    """The pattern after `domain:` in a rule."""

    pattern: str

    @classmethod
    def parse(cls, text: str) -> "HostPattern":
        kind, colon, domain = text.partition(":")
        if not colon or kind != "domain":
            raise BadPattern("expected WebFetch(domain:example.com)")
        domain = domain.strip()
        pattern = domain if domain == "*" else _ipv6(domain[1:-1]) if domain.startswith("[") else normalise_host(domain)
        if not pattern:
            raise BadPattern(f"{domain!r} is not a host: expected a name such as example.com, *.example.com or *")
        return cls(pattern)

    def matches(self, address: Address, *, generously: bool) -> bool:
        if generously:
            hosts = (address.host, *address.candidates)
            return self.pattern == "*" or any(self._matches(host) for host in hosts if host)
        if address.trouble or not address.host:
            return False
        if not address.public and not self._may_name_private(address.host):
            return False
        return self.pattern == "*" or self._matches(address.host)

    def _may_name_private(self, host: str) -> bool:
        """Whether the pattern may cover a private host: by exact name or zone (`*.corp`), not by a range of numbers."""
        if "*" not in self.pattern:
            return True
        zone = self.pattern.removeprefix("*.")
        return "*" not in zone and not host.startswith("[") and not host.rpartition(".")[2][:1].isdigit()

    def _matches(self, host: str) -> bool:
        if self.pattern.startswith("*."):
            rest = self.pattern[1:]
            if "*" not in rest:
                return host.endswith(rest) and len(host) > len(rest)
        wanted, given = self.pattern.split("."), host.split(".")
        return len(wanted) == len(given) and all(map(matches_wildcard, wanted, given))
