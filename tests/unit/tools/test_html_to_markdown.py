"""Conversion of HTML to Markdown, hostile HTML included."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bobstay.tools.charset import decode_page, looks_binary
from bobstay.tools.html_to_markdown import find_title, to_markdown
from tests.kit.waiting import DEADLINE

BASE = "http://site.example/docs/"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<h1>Hello <b>you</b></h1><p>One<br>two</p>", "# Hello **you**\n\nOne\ntwo\n"),
        ("a   b\n\n c", "a b c\n"),
        ('<a href="/x?y=1&amp;z=2">there</a>', "[there](http://site.example/x?y=1&z=2)\n"),
        ("<a href='javascript:x()'>no</a> <a href=#top>up</a>", "no up\n"),
        ("<a href=x><div>card</div></a>", "card\n"),
        ("<ul><li>one<li><p>two</p><ol start=3><li>deep<li>er</ol></ul>", "- one\n- two\n  3. deep\n  4. er\n"),
        ("<blockquote>said<p>so</p></blockquote>", "> said\n> so\n"),
        ("<pre><code>if a &lt; b:\n    go()\n</code></pre>", "```\nif a < b:\n    go()\n```\n"),
        ("<pre>``` inside</pre>", "````\n``` inside\n````\n"),
        ("<table><tr><th>A<th>B<tr><td>1<td>2|3</table>end", "| A | B |\n| --- | --- |\n| 1 | 2\\|3 |\n\nend\n"),
        ("<table><tr><td><table><tr><td>x<td>y</table></table>", "x y\n"),
        ("<img src=a.png alt='A picture'><img src=b.png>", "![A picture](http://site.example/docs/a.png)\n"),
        ("<script>var a = '<p>no</p>'</script>yes<style>p{}</style><!-- no <p> -->", "yes\n"),
        ("before<svg/>after", "beforeafter\n"),
        ("1 < 2 <3 a<b", "1 < 2 <3 a\n"),
        ("<p title='a > b'>text", "text\n"),
        ("<b></b>x<hr>y", "x\n\n---\n\ny\n"),
        ("&amp;&#65;&nbsp;&unknown;", "&A &unknown;\n"),
        ("", "\n"),
    ],
)
def test_html_becomes_markdown(source: str, expected: str) -> None:
    """H1-13"""
    assert to_markdown(source, BASE) == expected


def test_the_title_is_found() -> None:
    assert find_title("<html><head><TITLE lang=en> A &amp;\n B </TITLE>") == "A & B"
    assert find_title("no title") == ""


HOSTILE = [
    "<",
    "<a",
    '<a "',
    "<a ='",
    "<a '\">",
    "<!--",
    "<div>",
    "<ul><li>",
    "<table><tr><td>",
    "</",
    "&",
    "&#",
    "<pre>`",
]
HOSTILE += [
    "<a href=x>y",
    "<script>",
    "<b>",
    "<blockquote>x",
    "<p",
    "a\n",
    " ",
    "<title",
    "<!",
    "<?",
    "<svg/>",
    '<a href="',
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_grows_with_the_size_and_not_faster(piece: str) -> None:
    """F23: quadratic work on 400 kB would take minutes."""
    source = piece * (400_000 // len(piece))
    began = time.process_time()
    result = to_markdown(source, BASE)
    find_title(source)
    assert time.process_time() - began < DEADLINE
    assert len(result) < 20 * len(source)


def test_what_comes_out_is_bounded() -> None:
    base = "http://site.example/" + "d" * 1500 + "/"
    assert len(to_markdown("<a href=x>y</a>" * 20_000, base, limit=100_000)) < 200_000


FRAGMENTS = [
    "<",
    ">",
    "/",
    "a",
    "p",
    "ul",
    "li",
    "table",
    "tr",
    "td",
    "pre",
    "blockquote",
    "h1",
    "!--",
    "-->",
    '"',
    "'",
]
FRAGMENTS += ["=", " ", "\n", "&", ";", "#", "href", "script", "</", "<ol", "start", "9", "\0", "\ud800", "é"]


@settings(max_examples=150, deadline=None)
@given(some.lists(some.sampled_from(FRAGMENTS), max_size=60).map("".join) | some.text(max_size=100))
def test_no_html_breaks_it(source: str) -> None:
    assert to_markdown(source, BASE).endswith("\n")
    find_title(source)


@pytest.mark.parametrize(
    ("data", "content_type", "expected"),
    [
        ("grün".encode(), "text/html", "grün"),
        ("grün".encode("latin-1"), "text/html; charset=ISO-8859-1", "grün"),
        ("grün".encode("latin-1"), "text/html", "grün"),
        ("日本".encode("shift_jis"), 'text/html; charset="Shift_JIS"', "日本"),
        (b'<meta charset="koi8-r">' + "да".encode("koi8-r"), "text/html", '<meta charset="koi8-r">да'),
        (b"\xff\xfe" + "hi".encode("utf-16-le"), "text/plain; charset=utf-8", "hi"),
        (b"\xef\xbb\xbfhi", "", "hi"),
        (b"hi", "text/html; charset=no-such-thing", "hi"),
        (b"a-b", "text/html; charset=punycode", "a-b"),
        (b"hi", "text/html; charset=zip", "hi"),
        ("aé".encode()[:-1], "", "a\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_the_encoding_of_a_page_is_found_out(data: bytes, content_type: str, expected: str) -> None:
    """H1-13"""
    assert decode_page(data, content_type) == expected


@given(some.binary(max_size=200), some.text(max_size=40))
def test_any_bytes_can_be_read(data: bytes, content_type: str) -> None:
    assert isinstance(decode_page(data, content_type), str)
    assert isinstance(looks_binary(data), bool)
