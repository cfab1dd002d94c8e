"""The policies that cut: what they keep, where they cut, and that a cut holds until the next."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import ConfigError
from agentloop.history import EstimateCounter, Impossible, KeepLast, Meter, Send, TokenBudget, check, pin
from agentloop.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage

S = SystemMessage("be kind")
U1, U2 = UserMessage("first question " * 5), UserMessage("second question " * 5)
CALLS = AssistantMessage(None, (ToolCall("c1", "f"), ToolCall("c2", "f")))
R1, R2 = ToolMessage("c1", "one " * 10), ToolMessage("c2", "two " * 10)
OK = AssistantMessage("ok")
HISTORY = [S, U1, CALLS, R1, R2, OK, U2]


def view(policy: Any, messages: list[Message], counter: Any) -> list[Message]:
    answer = policy(messages, counter)
    assert isinstance(answer, Send), answer
    return list(answer.view)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_keep_last_keeps_instructions_the_newest_message_and_whole_groups(n: int, words: Any):
    kept = view(KeepLast(n), HISTORY, words)
    check(kept)
    assert (kept[0], kept[-1]) == (S, U2)


def test_keep_last_counts_in_messages_and_rounds_down_to_groups(words: Any):
    assert view(KeepLast(1), HISTORY, words) == [S, U2]
    assert view(KeepLast(4), HISTORY, words) == [S, U1, OK, U2]
    assert view(KeepLast(6), HISTORY, words) == HISTORY


def test_a_policy_reads_dicts(words: Any):
    dicts: Any = [message.to_dict() for message in HISTORY]
    assert view(KeepLast(4), dicts, words) == [S, U1, OK, U2]


@pytest.mark.parametrize("budget", range(14, 52))
def test_a_budget_never_cuts_into_a_group(budget: int, words: Any):
    kept = view(TokenBudget(budget, budget), HISTORY, words)
    check(kept)
    assert words.count(kept) <= budget
    assert (kept[0], kept[-1]) == (S, U2)


def test_with_room_for_all_the_view_is_the_history(words: Any):
    assert view(TokenBudget(1000, 500), HISTORY, words) == HISTORY


def test_nothing_is_cut_up_to_high_and_then_down_to_low(words: Any):
    history: list[Message] = []
    sizes: list[int] = []
    for n in range(12):
        history.append(UserMessage("q " * 10))
        sizes.append(words.count(view(TokenBudget(100, 50), history, words)))
        history.append(AssistantMessage(f"{n} " * 10))
    assert sizes == [10, 30, 50, 70, 90, 50, 70, 90, 50, 70, 90, 50]


def test_messages_that_came_between_two_requests_are_cut_at_once(words: Any):
    history = [UserMessage("q " * 10) for _ in range(12)]
    assert words.count(view(TokenBudget(100, 50), history, words)) == 50


def test_equal_bounds_keep_as_much_as_fits(words: Any):
    history = [UserMessage("q " * 40) if n % 2 == 0 else AssistantMessage("a " * 40) for n in range(21)]
    assert view(TokenBudget(450, 450), history, words) == history[-11:]


def test_the_task_stays_in_view_when_a_long_run_of_tools_is_cut(turn: Any, words: Any):
    history = [S, U1]
    for n in range(20):
        history += turn(f"c{n}")
    kept = view(TokenBudget(60, 40), history, words)
    assert kept[:2] == [S, U1]
    assert kept[2:] == history[-len(kept[2:]) :]
    assert words.count(kept) <= 60


def test_pinned_messages_stay_with_their_whole_group(turn: Any, words: Any):
    asked, result = turn("c0", words=5)
    history = [U1, asked, pin(result), OK, *[UserMessage("q " * 30), OK] * 5, U2]
    kept = view(TokenBudget(60, 40), history, words)
    assert kept[:2] == [asked, history[2]]
    assert kept[-1] == U2


def test_pins_can_be_chosen_by_a_predicate(words: Any):
    fact = UserMessage("my name is Ada")
    history = [fact, OK, *[UserMessage("q " * 30), OK] * 5, U2]
    policy = TokenBudget(60, 40, pinned=lambda message: message is fact)
    assert view(policy, history, words)[0] is fact


def test_a_message_above_the_budget_is_told_with_the_numbers(words: Any):
    answer = TokenBudget(100, 50)([S, OK, UserMessage("q " * 200)], words)
    assert isinstance(answer, Impossible)
    assert "cannot be brought to 100 tokens" in answer.reason
    assert "newest user message with its results 200" in answer.reason


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: KeepLast(0), r"KeepLast\(n=0\): must be a whole number"),
        (lambda: KeepLast(2.5), r"KeepLast\(n=2.5\): must be a whole number"),  # type: ignore[arg-type]
        (lambda: TokenBudget(0, 0), r"TokenBudget\(high=0\): must be a whole number"),
        (lambda: TokenBudget(100, -1), r"TokenBudget\(low=-1\): must be a whole number"),
        (lambda: TokenBudget(100, 200), "low must not be above high"),
    ],
)
def test_budgets_that_mean_nothing_are_refused(make: Any, told: str):
    with pytest.raises(ConfigError, match=told):
        make()


def test_an_empty_history_has_an_empty_view(words: Any):
    for policy in (KeepLast(1), TokenBudget(10, 5)):
        assert view(policy, [], words) == []


# --- any conversation ---

sizes = st.integers(0, 40)
user_turn = st.tuples(st.just("user"), sizes, st.just(0))
answer_turn = st.tuples(st.just("answer"), sizes, st.just(0))
tool_turn = st.tuples(st.just("tool"), sizes, st.integers(1, 3))
system_turn = st.tuples(st.just("system"), st.integers(0, 3), st.just(0))
pinned_turn = st.tuples(st.just("pinned"), st.integers(0, 3), st.just(0))
conversations = st.lists(st.one_of(user_turn, answer_turn, tool_turn, system_turn, pinned_turn), max_size=40)


def messages_of(turns: list[tuple[str, int, int]]) -> list[Message]:
    out: list[Message] = []
    for number, (kind, size, calls) in enumerate(turns):
        text = f"{number} " + "w " * size
        ids = [f"c{number}_{k}" for k in range(calls)]
        match kind:
            case "user":
                out.append(UserMessage(text))
            case "answer":
                out.append(AssistantMessage(text))
            case "system":
                out.append(SystemMessage(text))
            case "pinned":
                out.append(pin(UserMessage(text)))
            case _:
                out.append(AssistantMessage(None, tuple(ToolCall(id, "f") for id in ids)))
                out += [ToolMessage(id, text) for id in ids]
    return out


policies = st.one_of(
    st.builds(KeepLast, st.integers(1, 12)),
    st.tuples(st.integers(1, 150), st.integers(1, 150)).map(lambda pair: TokenBudget(max(pair), min(pair))),
)


@given(conversations, policies)
def test_a_view_is_legal_in_order_and_keeps_what_must_stay(turns: list[Any], policy: Any):
    history = [*messages_of(turns), UserMessage("now")]
    answer = policy(history, EstimateCounter())
    if isinstance(answer, Impossible):
        return
    check(answer.view)
    places = [next(i for i, m in enumerate(history) if m is shown) for shown in answer.view]
    assert places == sorted(set(places))
    left = [m for i, m in enumerate(history) if i not in places]
    assert not any(isinstance(m, SystemMessage) or m.extra.get("pinned") for m in left)
    assert answer.view[-1] is history[-1]


@given(conversations, policies)
def test_a_view_depends_on_the_messages_only(turns: list[Any], policy: Any):
    history = messages_of(turns)
    counter = EstimateCounter()
    growing = Meter(counter)
    for end in range(len(history) + 1):
        if end == len(history) or isinstance(history[end], AssistantMessage):
            step_by_step = policy(history[:end], growing)
            assert step_by_step == policy(history[:end], counter)


@given(conversations, st.integers(20, 150), st.integers(1, 150))
def test_between_two_cuts_each_view_is_the_one_before_plus_what_is_new(turns: list[Any], high: int, low: int):
    history = messages_of(turns)
    policy, meter = TokenBudget(max(high, low), min(high, low)), Meter(EstimateCounter())
    before: list[Message] | None = None
    seen = 0
    for end in range(len(history) + 1):
        if end != len(history) and not isinstance(history[end], AssistantMessage):
            continue
        answer = policy(history[:end], meter)
        if isinstance(answer, Impossible):
            return
        if before is not None:
            grown = [*before, *history[seen:end]]
            fits = meter.fixed + sum(meter.counter.size(m) for m in grown) <= policy.high
            assert (list(answer.view) == grown) or not fits
        before, seen = list(answer.view), end


@given(conversations)
def test_a_counter_is_only_asked_about_legal_lists_in_the_order_of_the_history(turns: list[Any]):
    history = [*messages_of(turns), UserMessage("now")]

    class Strict:
        def count(self, messages: Any, tools: Any = ()) -> int:
            check(messages)
            places = [next(i for i, m in enumerate(history) if m is asked) for asked in messages]
            assert places
            assert places == sorted(set(places))
            return sum(len(m.text) for m in messages) + 7

    TokenBudget(200, 100)(history, Strict())
