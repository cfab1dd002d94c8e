"""Error bodies of every known shape become one kind of error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop.errors import (
    AuthError,
    ContextOverflow,
    QuotaExceeded,
    RateLimited,
    RequestRejected,
    ServerError,
    StatusError,
)
from agentloop.wire.errors import status_error

SHAPES: list[tuple[Any, str, str | None, str | None]] = [
    ({"error": {"message": "m", "type": "t", "param": None, "code": "c"}}, "m", "c", "t"),
    ({"error": {"message": "m", "code": 400}}, "m", "400", None),
    ({"error": "m"}, "m", None, None),
    ({"message": "m"}, "m", None, None),
    ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, "m", "400", "BadRequestError"),
    ({"detail": "m"}, "m", None, None),
    ({"detail": [{"loc": ["body", "model"], "msg": "Field required"}]}, "body.model: Field required", None, None),
    ([{"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}}], "m", "400", "INVALID_ARGUMENT"),
    ({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}}, "m", None, "invalid_request_error"),
    ({"type": "error", "code": "c", "message": "m", "param": None}, "m", "c", None),
    ({"error": {"message": "m", "metadata": {"raw": "upstream words"}}}, "m [upstream: upstream words]", None, None),
    ("plain words", "plain words", None, None),
    ("", "the server sent no message", None, None),
    ("{", "{", None, None),
    ("<html><head><title>404</title><style>p {}</style></head><body>nginx</body></html>", "404 nginx", None, None),
]


@pytest.mark.parametrize(("body", "message", "code", "kind"), SHAPES)
def test_message_code_and_type_are_found_in_every_shape(
    body: Any, message: str, code: str | None, kind: str | None
) -> None:
    raw = body if isinstance(body, str) else json.dumps(body)
    found = status_error(raw.encode(), status=400, provider="p", model="m")
    assert isinstance(found, RequestRejected)
    assert message in found.message
    assert (found.code, found.type, found.status, found.provider) == (code, kind, 400, "p")
    assert found.body == raw


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, RequestRejected, False),
        (401, AuthError, False),
        (402, QuotaExceeded, False),
        (403, AuthError, False),
        (404, RequestRejected, False),
        (405, RequestRejected, False),
        (408, ServerError, True),
        (409, ServerError, True),
        (413, RequestRejected, False),
        (422, RequestRejected, False),
        (429, RateLimited, True),
        (500, ServerError, True),
        (501, ServerError, True),
        (529, ServerError, True),
    ],
)
def test_the_class_follows_the_status(status: int, kind: type[StatusError], retryable: bool) -> None:
    found = status_error({"error": {"message": "m"}}, status=status)
    assert type(found) is kind
    assert found.retryable is retryable


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"code": 429, "message": "m"}, RateLimited, 429),
        ({"code": "502", "message": "m"}, ServerError, 502),
        ({"type": "overloaded_error", "message": "m"}, ServerError, 529),
        ({"code": "insufficient_system_resource", "message": "m"}, ServerError, 503),
        ({"code": "rate_limit_exceeded", "message": "m"}, RateLimited, 429),
        ({"code": "invalid_api_key", "message": "m"}, AuthError, 401),
        ({"code": "invalid_image_url", "message": "m"}, RequestRejected, 400),
        ({"code": "insufficient_quota", "message": "m"}, QuotaExceeded, 429),
        ({"message": "something broke"}, ServerError, 200),
    ],
)
def test_inside_a_200_the_class_follows_the_code(error: dict[str, Any], kind: type[StatusError], status: int) -> None:
    found = status_error({"error": error}, status=200)
    assert type(found) is kind
    assert found.status == status


@pytest.mark.parametrize(
    ("status", "code", "wish", "retryable"),
    [
        (500, None, "false", False),
        (400, "server_error", "false", False),
        (400, "rate_limit_exceeded", None, True),
        (503, "invalid_api_key", None, False),
        (429, "insufficient_quota", None, False),
    ],
)
def test_retryable_goes_by_header_then_code_then_status(
    status: int, code: str | None, wish: str | None, retryable: bool
) -> None:
    headers = {"X-Should-Retry": wish} if wish else {}
    assert (
        status_error({"error": {"message": "m", "code": code}}, status=status, headers=headers).retryable is retryable
    )


# One row per wording: the message, the limit it names, the tokens it names.
OVERFLOWS = [
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", 8192, 9000),
    (
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (66000 in",
        65536,
        70000,
    ),
    (
        "This endpoint's maximum context length is 128000 tokens. However, you requested about 200000 tokens",
        128000,
        200000,
    ),
    ("This model's maximum context length is 4096 tokens.", 4096, None),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
    ("request (9030 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 9030),
    ("the request exceeds the available context size. try increasing the context size", None, None),
    ("prompt is too long: 208310 tokens > 200000 maximum", 200000, 208310),
    ("The prompt is too long: 9000, model maximum context length: 8192", 8192, 9000),
    ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease", 200000, 188240),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).", 1048575, 1200000),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        32768,
        40000,
    ),
    ("This model's maximum prompt length is 131072 but the request contains 150000 tokens.", 131072, 150000),
    ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
    ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000),
    ("the input length exceeds the context length", None, None),
    (
        "Trying to keep the first 5000 tokens. However, the model is loaded with context length of only 4096 tokens",
        4096,
        None,
    ),
    ("`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4076 `inputs` tokens and 100", 4097, 4076),
    ("Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)", 8192, 9000),
    ("invalid params, context window exceeds limit (2013)", None, None),
    ("Input is too long for requested model.", None, None),
    ("litellm.ContextWindowExceededError: litellm.BadRequestError: too much", None, None),
    ("Please reduce the length of the messages or completion.", None, None),
]


@pytest.mark.parametrize(("message", "limit", "used"), OVERFLOWS)
def test_a_prompt_that_is_too_long_is_recognised_by_its_wording(
    message: str, limit: int | None, used: int | None
) -> None:
    found = status_error({"error": {"message": message, "code": 400}}, status=400)
    assert type(found) is ContextOverflow
    assert (found.limit, found.prompt_tokens, found.retryable) == (limit, used, False)


@pytest.mark.parametrize(
    "code",
    ["context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded", "prompt_too_long"],
)
def test_a_prompt_that_is_too_long_is_recognised_by_its_code(code: str) -> None:
    assert type(status_error({"error": {"message": "no", "code": code}}, status=400)) is ContextOverflow


def test_numbers_beside_the_words_count_where_the_words_name_none() -> None:
    body = {
        "error": {"type": "exceed_context_size_error", "message": "too long", "n_prompt_tokens": 9030, "n_ctx": 4096}
    }
    error = status_error(body, status=400)
    assert isinstance(error, ContextOverflow)
    assert (error.limit, error.prompt_tokens) == (4096, 9030)


def test_a_type_names_the_overflow_too() -> None:
    body = {"error": {"code": 400, "message": "no", "type": "exceed_context_size_error"}}
    assert type(status_error(body, status=400)) is ContextOverflow


def test_too_large_a_body_is_no_overflow_of_the_context() -> None:
    assert type(status_error("Request Entity Too Large", status=413)) is RequestRejected


def test_the_words_of_an_empty_account_with_a_wait_are_a_rate_limit() -> None:
    body = {"error": {"code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED"}}
    assert type(status_error(body, status=429, headers={"Retry-After": "31"})) is RateLimited
    assert type(status_error(body, status=429)) is QuotaExceeded


def test_ids_and_limits_are_kept_and_account_headers_are_not() -> None:
    headers = {
        "X-Request-Id": "req-1",
        "x-ratelimit-remaining-tokens": "9",
        "openai-processing-ms": "12",
        "openai-organization": "org-1",
        "set-cookie": "a=b",
    }
    found = status_error({"error": "m"}, status=429, headers=headers)
    assert found.request_id == "req-1"
    assert sorted(found.headers) == ["openai-processing-ms", "x-ratelimit-remaining-tokens", "x-request-id"]


@pytest.mark.parametrize("read", [lambda body: body, lambda body: json.dumps(body).encode()])
def test_the_request_id_of_the_body_serves_when_no_header_has_one(read: Callable[[Any], Any]) -> None:
    body = {"error": {"message": "m"}, "request_id": "req_1"}
    assert status_error(read(body), status=400).request_id == "req_1"


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "API key"), (404, "base URL"), (402, "credit"), (429, "at a time"), (400, "build_request")],
)
def test_the_message_says_what_to_do(status: int, hint: str) -> None:
    assert hint in str(status_error({"error": "m"}, status=status))


def test_a_huge_body_is_cut() -> None:
    found = status_error("x" * 1_000_000, status=500)
    assert len(found.body) == 4000
    assert len(found.message) < 500


@given(
    st.binary()
    | st.text()
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["error", "message", "code", "type", "detail", "metadata"]), inner)
        ),
    ),
    st.integers(200, 599),
)
def test_any_body_makes_an_error_that_prints(body: Any, status: int) -> None:
    assert str(status_error(body, status=status))
