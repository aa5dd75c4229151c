"""Whatever happened to a history, what is sent is legal (H3-7, F4, F5)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.engine.repair import CLOSING, IMAGE_LIMIT, INTERRUPTED, NOT_STARTED, clean_prefix, repair
from bobstay.model.message import Block, Image, Message, Text, Thinking, ToolCall, ToolReply

ids = st.sampled_from(["a", "b", "c", "a_2", ""])
texts = st.sampled_from(["", " ", "x", "two words"])
images = st.builds(Image, st.just("image/png"), st.sampled_from(["", "aGk=", "A" * (IMAGE_LIMIT + 1)]))
calls = st.builds(ToolCall, ids, st.sampled_from(["Read", ""]), st.just({}))
replies = st.builds(ToolReply, ids, st.lists(st.builds(Text, texts) | images, max_size=2).map(tuple), st.booleans())
blocks = st.builds(Text, texts) | st.builds(Thinking, texts, texts) | images | calls | replies
assistant_blocks = st.builds(Text, texts) | st.builds(Thinking, texts, texts) | calls
user_blocks = st.builds(Text, texts) | images | replies
messages = st.builds(
    lambda role, inner: Message(role, tuple(inner)),
    st.just("assistant"),
    st.lists(assistant_blocks, max_size=4),
) | st.builds(lambda inner: Message("user", tuple(inner)), st.lists(user_blocks, max_size=4))
histories = st.lists(messages, max_size=8)


def illegalities(history: list[Message]) -> list[str]:
    found = []
    if history and history[0].role != "user":
        found.append("starts with the model")
    seen: set[str] = set()
    for index, message in enumerate(history):
        if index and history[index - 1].role == message.role:
            found.append(f"{index}: role repeated")
        if not message.blocks:
            found.append(f"{index}: empty message")
        found += [f"{index}: empty block" for block in message.blocks if empty(block)]
        asked = [b.id for b in message.blocks if isinstance(b, ToolCall)]
        if len(set(asked)) != len(asked) or seen & set(asked):
            found.append(f"{index}: id used twice")
        seen |= set(asked)
        answered = [b.call_id for b in message.blocks if isinstance(b, ToolReply)]
        wanted = [b.id for b in history[index - 1].blocks if isinstance(b, ToolCall)] if index else []
        if answered != wanted:
            found.append(f"{index}: answers {answered} where {wanted} were asked")
        if answered and any(isinstance(b, ToolReply) for b in message.blocks[len(answered) :]):
            found.append(f"{index}: replies not first")
        if message.role == "assistant" and isinstance(message.blocks[-1], Thinking):
            found.append(f"{index}: ends in thinking")
    if history and history[-1].role == "assistant":
        found.append("ends with the model")
    return found


def empty(block: Block) -> bool:
    match block:
        case Text(text=text):
            return not text.strip()
        case Thinking(text=text, signature=signature):
            return not (text or signature)
        case Image(data=data):
            return not 0 < len(data) <= IMAGE_LIMIT
        case ToolCall(id=id_, name=name):
            return not (id_ and name)
        case ToolReply(content=content):
            return not content or any(empty(part) for part in content)


@given(histories)
@settings(max_examples=600, deadline=None)
def test_a_repaired_history_is_always_legal(history: list[Message]) -> None:
    assert illegalities(repair(history)) == []


@given(histories)
@settings(max_examples=400, deadline=None)
def test_repairing_twice_changes_nothing(history: list[Message]) -> None:
    once = repair(history)
    twice = repair(once)
    assert twice == once
    assert all(a is b for a, b in zip(once, twice, strict=True))


@given(histories)
@settings(max_examples=400, deadline=None)
def test_skipping_the_clean_prefix_gives_the_same_history(history: list[Message]) -> None:
    once = repair(history)
    clean = clean_prefix(once, once)
    assert repair(once, clean=clean) == once


def test_messages_are_clean_up_to_the_last_answer_before_one_that_was_touched() -> None:
    first, answer, more, last = (Message(role, (Text(role),)) for role in ("user", "assistant") * 2)
    touched = Message("assistant", (Text("other"),))
    assert clean_prefix([first, answer, more, last], [first, answer, more, last]) == 3
    assert clean_prefix([first, answer, more, last], [first, answer, more, touched]) == 1
    assert clean_prefix([first, answer], [first, touched]) == 0


def test_an_unanswered_call_is_answered_with_a_warning_to_check_first() -> None:
    history = [Message("user", (Text("go"),)), Message("assistant", (ToolCall("a", "Bash", {}),))]
    assert repair(history)[-1].blocks == (ToolReply("a", (Text(INTERRUPTED),), is_error=True),)


def test_a_call_that_never_began_is_answered_as_such() -> None:
    history = [Message("user", (Text("go"),)), Message("assistant", (ToolCall("a", "Bash", {}),))]
    assert repair(history, never_started=frozenset("a"))[-1].blocks == (
        ToolReply("a", (Text(NOT_STARTED),), is_error=True),
    )


def test_a_history_that_ends_with_the_model_is_asked_to_go_on() -> None:
    history = [Message("user", (Text("go"),)), Message("assistant", (Text("half"),))]
    assert repair(history)[-1] == Message("user", (Text(CLOSING),))


def test_a_thought_that_led_nowhere_is_no_part_of_the_next_answer() -> None:
    history = [
        Message("user", (Text("go"),)),
        Message("assistant", (Thinking("lost", "s1"),)),
        Message("assistant", (Thinking("new", "s2"), Text("done"))),
        Message("user", (Text("on"),)),
    ]
    assert repair(history) == [history[0], history[2], history[3]]


def test_a_legal_history_comes_back_as_the_same_objects() -> None:
    history = [
        Message("user", (Text("go"),)),
        Message("assistant", (ToolCall("a", "Read", {}),)),
        Message("user", (ToolReply("a", (Text("one"),)),)),
    ]
    assert all(a is b for a, b in zip(repair(history), history, strict=True))
