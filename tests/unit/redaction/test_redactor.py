"""Secrets do not get into what is stored or shown (H12-4): named values, token shapes, streams in pieces."""

import base64
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import Noted, ToolDone
from bobstay.model.message import Text, ToolReply
from bobstay.redaction.redactor import Redactor, placeholder
from bobstay.redaction.token_shapes import HINTS
from tests.kit.waiting import DEADLINE

BODY = "\n".join(base64.b64encode(bytes(range(48))).decode() for _ in range(4))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----"
A = "Ab3" * 14
TOKENS = {
    "anthropic": f"sk-ant-api03-{A}",
    "openai": f"sk-proj-{A}",
    "old openai": f"sk-{A}",
    "openrouter": f"sk-or-v1-{A}",
    "stripe": f"sk_live_{A}",
    "github": f"ghp_{A}",
    "github app": f"ghs_{A}",
    "github fine": f"github_pat_11ABCDEFG0{A}",
    "gitlab": f"glpat-{A}",
    "aws": "AKIAIOSFODNN7ABCDEFG",
    "slack": "xoxb-123456789012-abcdefghijkl",
    "google": "AIza" + A[:35],
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{A}",
    "bearer": f"Bearer {A}",
    "pem": PEM,
}
PLAIN = [
    "the task-proj-management of risk-assessments-in-the-large-organisation-of-ours",
    "git log --oneline | head",
    "Bearer authentication is used here; the bearer of bad news",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    'if "-----BEGIN PRIVATE KEY-----" in text:\n    return parse_private_key_of_this_sort_with_care(text)',
    "https://example.org/a?b=c#eyJustSomething",
    "AKIA is a prefix, ghp_ another, sk- a third, xoxb- a fourth",
]


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_is_known_by_its_shape_wherever_it_stands(kind: str) -> None:
    token = TOKENS[kind]
    redactor = Redactor()
    for text in (token, f"key={token}\n", f'{{"key": "{token}"}}', f"before ({token}) after"):
        redacted = redactor.redact(text)
        assert token.removeprefix("Bearer ") not in redacted
        assert A[:20] not in redacted
        assert "[masked " in redacted
        assert redacted.startswith(text[:2]) or text.startswith(token)


@pytest.mark.parametrize("text", PLAIN)
def test_what_only_resembles_a_token_stays(text: str) -> None:
    assert Redactor().redact(text) is text


def test_colours_in_the_middle_of_a_secret_do_not_save_it() -> None:
    """As `grep --color` marks what it found."""
    redactor = Redactor({"MY_TOKEN": "correct-horse-battery"})
    for secret in (TOKENS["anthropic"], "correct-horse-battery"):
        marked = f"key=\x1b[01;31m{secret[:6]}\x1b[m{secret[6:]}\x1b[0m end"
        shown = redactor.redact(marked)
        assert secret[6:] not in shown
        assert shown.startswith("key=[masked ")
    beside = f"\x1b[32mok\x1b[0m {TOKENS['github']}"
    assert redactor.redact(beside) == "\x1b[32mok\x1b[0m [masked GitHub token]"
    plain = "\x1b[32mall is well\x1b[0m"
    assert redactor.redact(plain) is plain


def test_a_private_key_is_redacted_as_a_file_view_and_as_json_show_it() -> None:
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(PEM.splitlines(), start=1))
    for text in (numbered, PEM.replace("\n", "\\n"), PEM.replace("\n", "\r\n")):
        assert BODY[:30] not in Redactor().redact(f"here: {text} done")
        assert Redactor().redact(f"here: {text} done").endswith(" done")


def test_a_known_value_is_redacted_by_its_name() -> None:
    redactor = Redactor({"DB_PASSWORD": "correct horse", "SHORT_KEY": "abc"})
    assert redactor.redact("pw: correct horse!") == "pw: [masked DB_PASSWORD]!"
    assert redactor.redact("abc") == "abc"
    assert redactor.redact_known(f"correct horse {TOKENS['github']}") == f"[masked DB_PASSWORD] {TOKENS['github']}"


def test_a_value_that_contains_another_is_redacted_whole() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh", "B_KEY": "abcdefgh12345678"})
    assert redactor.redact("x abcdefgh12345678 abcdefgh y") == "x [masked B_KEY] [masked A_KEY] y"


def test_a_value_is_found_as_json_spells_it() -> None:
    assert Redactor({"K_SECRET": 'qu"ote\\slash'}).redact('{"a": "qu\\"ote\\\\slash"}') == '{"a": "[masked K_SECRET]"}'


def test_a_value_that_stands_in_its_own_placeholder_is_left_alone() -> None:
    redactor = Redactor({"MY_SECRET_PASSWORD": "MY_SECRET_PASSWORD", "OTHER_KEY": "abcdefgh"})
    assert redactor.redact("MY_SECRET_PASSWORD abcdefgh") == "MY_SECRET_PASSWORD [masked OTHER_KEY]"


def test_events_and_json_values_are_redacted_at_any_depth_and_kept_if_clean() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh"})
    done = ToolDone(ToolReply("c", (Text("abcdefgh"),)), display={"out": ["x", {"y abcdefgh": 1}], "n": None})
    redacted = redactor.redact_value(done)
    assert redacted.reply.text == "[masked A_KEY]"
    assert redacted.display == {"out": ["x", {"y [masked A_KEY]": 1}], "n": None}
    clean = ToolDone(ToolReply("c", (Text("fine"),)), display={"out": ["x", {"y": 1}]})
    assert redactor.redact_value(clean) is clean
    assert redactor.redact_value(Noted("ok")) == Noted("ok")


def test_placeholders_are_recognised_and_nothing_else_is() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh"})
    assert redactor.find_placeholder({"content": "[masked A_KEY]"}) == ""
    redactor.redact("abcdefgh")
    assert redactor.find_placeholder({"edits": [{"content": "k=[masked A_KEY]"}]}) == "[masked A_KEY]"
    assert redactor.find_placeholder({"content": "[masked B_KEY]"}) == ""


# ---------------------------------------------------------------- properties

SECRET = st.text(alphabet=string.ascii_letters + string.digits + "-_+/= .", min_size=8, max_size=40).map(str.strip)
VALUES = st.dictionaries(
    st.sampled_from(["A_KEY", "B_TOKEN", "C_SECRET", "D_PASSWORD"]), SECRET.filter(lambda text: len(text) >= 8)
)
FREE = st.text(max_size=200)
MIXED = st.lists(st.one_of(FREE, st.sampled_from([*TOKENS.values(), *PLAIN])), max_size=8)


@given(values=VALUES, parts=MIXED)
def test_masking_twice_is_masking_once(values: dict[str, str], parts: list[str]) -> None:
    redactor = Redactor(values)
    once = redactor.redact(" ".join([*parts, *values.values()]))
    assert redactor.redact(once) == once


@given(values=VALUES, parts=MIXED)
def test_no_value_and_no_token_is_left(values: dict[str, str], parts: list[str]) -> None:
    text = "\n".join([*parts, *values.values(), *TOKENS.values()])
    redacted = Redactor(values).redact(text)
    assert A[:20] not in redacted
    ours = " ".join(map(placeholder, ("A_KEY", "B_TOKEN", *(shape.name for hint in HINTS for shape in hint.shapes))))
    assert not [value for value in values.values() if value in redacted and value not in ours]


@given(text=st.text(alphabet=string.ascii_lowercase + " \n.,()", max_size=500))
def test_text_without_secrets_is_the_same_object(text: str) -> None:
    assert Redactor({"A_KEY": "ABCDEFGH"}).redact(text) is text


@given(parts=MIXED, sizes=st.lists(st.integers(1, 30), min_size=1))
def test_a_stream_in_pieces_gives_what_the_whole_gives(parts: list[str], sizes: list[int]) -> None:
    redactor = Redactor({"A_KEY": "correct horse"})
    text = "\n".join([*parts, "correct horse", *TOKENS.values(), "end"])
    stream, shown, at, turn = redactor.stream(), [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        shown.append(stream.feed(text[at : at + size]))
        at, turn = at + size, turn + 1
    shown.append(stream.flush())
    assert "".join(shown) == redactor.redact(text)


@pytest.mark.parametrize(
    "value", ["zzsk-9f8a7b6c5d4e3f2a1b", "a1-ghp_-a1-ghp_-a1-ghp_-z", "abc8 bearer 9f8a7b6c5d4e3f"]
)
def test_a_value_in_which_a_token_may_begin_is_redacted_whole_wherever_the_pieces_end(value: str) -> None:
    redactor = Redactor({"A_KEY": value})
    text = f"it is {value}, and {value}"
    for cut in range(len(text)):
        for other in range(cut, len(text)):
            stream = redactor.stream()
            pieces = [stream.feed(each) for each in (text[:cut], text[cut:other], text[other:])]
            assert "".join((*pieces, stream.flush())) == "it is [masked A_KEY], and [masked A_KEY]"


def test_an_ordinary_stream_is_not_held_up() -> None:
    stream = Redactor({"A_KEY": "zzzzzzzzzz"}).stream()
    assert [stream.feed(piece) for piece in ("Hello ", "world, ", "this is it.\n")] == [
        "Hello ",
        "world, ",
        "this is it.\n",
    ]


def test_a_stream_does_not_hold_without_bound() -> None:
    stream = Redactor().stream()
    shown = "".join(stream.feed("sk-" + "x-" * 500) for _ in range(100))
    assert len(shown) > 80_000


def test_a_megabyte_of_anything_takes_bounded_time() -> None:
    """Patterns must not backtrack: hostile output is as quick to look through as any other."""
    redactor = Redactor({"A_KEY": "abcdefgh"})
    began = time.process_time()
    for hostile in ("sk-", "eyJ", "eyJaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "Bearer ", "x", "A", "xoxb-"):
        redactor.redact(hostile * (1_000_000 // len(hostile)))
    assert time.process_time() - began < DEADLINE
