"""Converts any HTML to Markdown in one pass: no tree, no backtracking, bounded output."""

import html
import re
from urllib.parse import urljoin

from bobstay.tools.html_tokens import Tag, tokenize

# fmt: off
_PARAGRAPHS = frozenset({
    "p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "address", "figure",
    "figcaption", "form", "fieldset", "details", "summary", "dl", "dt", "dd", "center", "hgroup", "body", "html",
    "legend", "option", "optgroup", "select", "caption", "thead", "tbody", "tfoot",
})
# fmt: on
_MARKS = {"strong": "**", "b": "**", "em": "_", "i": "_", "del": "~~", "s": "~~", "code": "`", "kbd": "`", "samp": "`"}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLANKS = re.compile(r"\s+")
_MAX_DEPTH = 8
"""Quotes and lists nested deeper than this are shown at this depth."""


def to_markdown(source: str, base: str = "", limit: int = 4_000_000) -> str:
    """Convert an HTML page to Markdown of at most about `limit` characters. `base` makes links absolute."""
    writer = _Writer(base)
    for piece in tokenize(source):
        if isinstance(piece, str):
            writer.text(html.unescape(piece))
        elif piece.closing:
            writer.end(piece)
        else:
            writer.start(piece)
        if writer.size > limit:
            break
    return writer.finish()


def find_title(source: str) -> str:
    """The title of the page, or ""."""
    found = re.search(r"<title[^>]{0,200}>([^<]{0,1000})", source[:100_000], re.IGNORECASE)
    return _BLANKS.sub(" ", html.unescape(found[1])).strip() if found else ""


class _Writer:
    def __init__(self, base: str) -> None:
        self.size = 0
        self._base = base
        self._out: list[str] = []
        self._line: list[str] = []
        self._link: tuple[int, str] | None = None
        """Start of the open link in the line, and its target."""
        self._nest: list[str] = []
        """The open lists and quotes: "ul", "ol" or "quote"."""
        self._counts: list[int] = []
        """Number of the next item, for each open list."""
        self._marker = ""
        self._heading = ""
        self._pre = 0
        self._tables = 0
        self._rows = 0
        self._cells: list[str] = []

    def text(self, text: str) -> None:
        if self._pre:
            self._add(text)
            return
        text = _BLANKS.sub(" ", text)
        if text == " " and (not self._line or self._line[-1].endswith(" ")):
            return
        self._add(text)

    def start(self, tag: Tag) -> None:  # noqa: C901, PLR0912 - one case per kind of element
        match tag.name:
            case name if self._pre and name in _PARAGRAPHS:
                self._add("\n")
            case "br":
                self._add("\n")
            case "hr":
                self._block()
                self._emit("---")
            case "a":
                self._end_link()
                self._link = (len(self._line), self._absolute(tag.attribute("href")))
            case "img":
                self._image(tag)
            case "ul" | "ol":
                self._block()
                self._open(tag.name, _number(tag.attribute("start")))
            case "li":
                self._block()
                self._item()
            case "blockquote":
                self._block()
                self._open("quote", 0)
            case "pre":
                self._block()
                self._pre = 1
            case "table":
                self._block()
                self._cell()
                self._row()
                self._out.append("")
                self._tables += 1
                self._rows = 0
            case "tr":
                self._cell()
                self._row()
            case "td" | "th":
                self._cell()
            case name if name in _HEADINGS:
                self._block()
                self._heading = _HEADINGS[name]
            case name if name in _PARAGRAPHS:
                self._block()
            case name if name in _MARKS and not self._pre:
                self._add(_MARKS[name])
            case _:
                pass

    def end(self, tag: Tag) -> None:
        match tag.name:
            case name if self._pre and name in _PARAGRAPHS:
                return
            case "a":
                self._end_link()
            case "ul" | "ol" | "blockquote":
                self._block()
                self._close("quote" if tag.name == "blockquote" else tag.name)
            case "pre":
                self._block()
                self._pre = 0
            case "table":
                self._cell()
                self._row()
                self._tables = max(0, self._tables - 1)
                self._out.append("")
            case "tr":
                self._cell()
                self._row()
            case "td" | "th":
                self._cell()
            case name if name in _HEADINGS or name in _PARAGRAPHS or name == "li":
                self._block()
            case name if name in _MARKS and not self._pre:
                self._mark_end(_MARKS[name])
            case _:
                pass

    def finish(self) -> str:
        self._cell()
        self._row()
        self._block()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._out)).strip("\n") + "\n"

    def _add(self, text: str) -> None:
        self._line.append(text)
        self.size += len(text)

    def _mark_end(self, mark: str) -> None:
        if self._line and self._line[-1] == mark:
            self._line.pop()  # the element was empty
        else:
            self._add(mark)

    def _end_link(self) -> None:
        if self._link is None:
            return
        start, target = self._link
        self._link = None
        label = "".join(self._line[start:]).strip()
        if label and target and not self._pre:
            self._line[start:] = [f"[{label}]({target})"]
            self.size += len(target)

    def _image(self, tag: Tag) -> None:
        alt = _BLANKS.sub(" ", tag.attribute("alt")).strip()
        if alt:
            self._add(f"![{alt}]({self._absolute(tag.attribute('src'))})")

    def _absolute(self, reference: str) -> str:
        if not reference or len(reference) > 2000 or reference.startswith(("#", "javascript:", "data:")):
            return ""
        try:
            joined = urljoin(self._base, reference.strip()) if self._base else reference.strip()
        except ValueError:
            return ""
        return joined.replace(" ", "%20").replace(")", "%29")

    def _open(self, kind: str, number: int) -> None:
        self._nest.append(kind)
        if kind != "quote":
            self._counts.append(number)

    def _close(self, kind: str) -> None:
        if self._nest and self._nest[-1] == kind:
            self._nest.pop()
            if kind != "quote":
                self._counts.pop()
        if not self._nest:
            self._out.append("")

    def _item(self) -> None:
        self._marker = "- "
        if self._nest and self._nest[-1] == "ol":
            self._marker = f"{self._counts[-1]}. "
            self._counts[-1] += 1

    def _block(self) -> None:
        """End the paragraph and emit its text."""
        self._end_link()
        if self._tables:
            self._add(" ")  # a table row is one line
            return
        text = "".join(self._line)
        self._line.clear()
        if self._pre:
            if text.strip():
                fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
                self._emit(fence + "\n" + text.strip("\n") + "\n" + fence)
            return
        text = "\n".join(line.strip() for line in text.split("\n")).strip()
        if text:
            self._emit(self._heading + text.replace("\n", " ") if self._heading else text)
        self._heading = ""

    def _emit(self, text: str) -> None:
        nest = self._nest[-_MAX_DEPTH:]
        prefix = "".join("> " if kind == "quote" else "  " for kind in nest)
        if nest and nest[-1] != "quote":
            prefix = prefix[:-2]
            first = prefix + (self._marker or "  ")
            prefix += " " * len(self._marker or "  ")
        else:
            first = prefix + self._marker
        loose = not nest and not (self._tables and text.startswith("|"))
        if loose or text.startswith("```"):
            self._out.append("")
        lines = text.split("\n")
        self._out.extend([(first if index == 0 else prefix) + line for index, line in enumerate(lines)])
        if loose:
            self._out.append("")
        self.size += len(prefix) * len(lines)
        self._marker = ""

    def _cell(self) -> None:
        if not self._tables:
            return
        self._end_link()
        text = _BLANKS.sub(" ", "".join(self._line)).strip()
        self._line.clear()
        if text:
            self._cells.append(text.replace("|", "\\|"))

    def _row(self) -> None:
        if not self._tables or not self._cells:
            return
        cells, self._cells = self._cells, []
        self._heading = self._marker = ""
        if self._tables > 1 or len(cells) == 1:
            self._emit(" ".join(cells))  # a nested table is layout
            return
        self._emit("| " + " | ".join(cells) + " |")
        if self._rows == 0:
            self._emit("|" + " --- |" * len(cells))
        self._rows += 1


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 1
