"""A pasted curl command is read as the call that curl would make."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentloop import Client
from agentloop.cli.curl_line import CurlCall, read_curl
from agentloop.cli.shell_words import Variable, filled, plain
from agentloop.errors import ConfigError
from agentloop.http.curl import as_curl

FORM = ("Content-Type", ("application/x-www-form-urlencoded",))
ANY = ("Accept", ("*/*",))


def headers(call: CurlCall) -> dict[str, str]:
    return {name: plain(value) for name, value in call.headers}


def test_a_line_from_a_vendors_documents():
    call = read_curl("""curl https://api.example.com/v1/chat/completions \\
      -H "Content-Type: application/json" \\
      -H "Authorization: Bearer $API_KEY" \\
      -d '{"model": "m", "messages": []}'
    """)
    assert (call.method, plain(call.url)) == ("POST", "https://api.example.com/v1/chat/completions")
    assert call.body == ('{"model": "m", "messages": []}',)
    assert call.header("authorization") == ("Bearer ", Variable("API_KEY"))


def test_a_line_from_a_browser():
    call = read_curl("""curl 'https://chat.example.com/api' -X 'POST' -H 'accept: text/event-stream' \\
      -b 'session=abc; theme=dark' -A 'Mozilla/5.0' -e 'https://chat.example.com/' \\
      --data-raw $'{"text":"it\\'s \\u0021"}' --compressed""")
    assert call.body == ('{"text":"it\'s !"}',)
    assert headers(call)["Cookie"] == "session=abc; theme=dark"
    assert headers(call)["User-Agent"] == "Mozilla/5.0"
    assert headers(call)["Referer"] == "https://chat.example.com/"


@pytest.mark.parametrize(
    ("line", "method"),
    [
        ("curl http://h", "GET"),
        ("curl -d a http://h", "POST"),
        ("curl -XPUT -d a http://h", "PUT"),
        ("curl --request DELETE http://h", "DELETE"),
        ("$ curl http://h", "GET"),
    ],
)
def test_the_method(line: str, method: str):
    assert read_curl(line).method == method


@pytest.mark.parametrize("line", ["curl --url h/v1", "curl h/v1", "curl -sSNi h/v1", "curl -s -f --no-buffer 'h/v1'"])
def test_the_url_may_lack_its_scheme(line: str):
    assert plain(read_curl(line).url) == "http://h/v1"


def test_data_is_a_form_unless_a_header_says_otherwise():
    assert read_curl("curl h -d a=1 -d b=2").headers == [FORM, ANY]
    assert plain(read_curl("curl h -d a=1 -d b=2").body or ()) == "a=1&b=2"


def test_json_names_itself_and_is_not_joined_with_ampersands():
    call = read_curl("""curl h --json '{"a":' --json '1}'""")
    assert plain(call.body or ()) == '{"a":1}'
    assert headers(call) == {"Content-Type": "application/json", "Accept": "application/json"}


def test_headers_may_be_empty_or_taken_out():
    assert read_curl("curl h -d x -H 'X-A;' -H 'Content-Type:'").headers == [("X-A", ("",)), ANY]


def test_a_login_and_a_bound():
    call = read_curl("curl h -u me:$PASSWORD -m 2.5 -L")
    assert (call.login, call.seconds, call.follow) == (("me:", Variable("PASSWORD")), 2.5, True)


def test_a_login_in_the_url_is_a_login():
    call = read_curl("curl https://me:p%40ss@h/v1")
    assert (call.login, call.url) == (("me:p@ss",), ("https://h/v1",))


def test_a_login_without_a_password_is_refused():
    with pytest.raises(ConfigError, match="USER:PASSWORD"):
        read_curl("curl h -u me")


def test_compressed_asks_for_what_can_be_undone():
    call = read_curl("curl h --compressed -H 'accept-encoding: gzip, deflate, lzma'")
    assert headers(call)["Accept-Encoding"] == "gzip, deflate"
    assert call.notes == ["not asked for, since it cannot be undone here: lzma"]
    assert "gzip" in headers(read_curl("curl h --compressed"))["Accept-Encoding"]


@pytest.mark.parametrize("before", ["", "cat <<'E' | ", "head -c 5 <<'E' | "])
def test_a_body_may_stand_in_a_here_document(before: str):
    line = f"{before}curl h --data-binary @-{'' if before else chr(60) * 2 + 'E'}\na\nb!\nE\n"
    assert plain(read_curl(line).body or ()) == ("a\nb!" + "\n")[: 5 if "head" in before else None]


def test_the_data_option_takes_line_breaks_out_of_what_it_reads():
    assert plain(read_curl("curl h -d @- <<E\na\nb\nE\n").body or ()) == "ab"


@given(st.text(), st.booleans())
def test_what_we_print_is_read_back(prompt: str, stream: bool):
    request = Client("https://api.deepseek.com", model="m", api_key="sk-0123456789").build_request(
        prompt, stream=stream
    )
    call = read_curl(as_curl(request))
    read = {name.lower(): filled(value, {"DEEPSEEK_API_KEY": "sk-0123456789"}) for name, value in call.headers}
    assert call.method == "POST"
    assert plain(call.url) == str(request.url)
    assert plain(call.body or ()).encode() == request.content
    assert read == {k: v for k, v in request.headers.items() if k not in ("host", "content-length")}


def test_what_follows_is_left_out_and_said():
    assert read_curl("curl h | jq .choices").notes == ["left out, since it is no part of the call: jq .choices"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("curl h -F a=b", "-F"),
        ("curl h --form a=b", "--form"),
        ("curl h -sZ", "-Z"),
        ("curl h --proxy p", "--proxy"),
        ("curl -X", "-X has no value"),
        ("curl", "no URL"),
        ("curl -s", "no URL"),
        ("curl a b", "two URLs: a and b"),
        ("curl ftp://h", "ftp is neither"),
        ("curl h -b cookies.txt", "cookies.txt names a file"),
        ("curl h -H nonsense", "NAME: VALUE"),
        ("curl h -m soon", "no number"),
        ("curl h -d @-", "paste the here-document"),
        ("wget h", "no curl command"),
        ("", "no curl command"),
        ("echo hi | curl h -d @-", "before curl cannot be read: echo hi"),
        ("rm -rf x; curl h", "before curl cannot be read: rm -rf x"),
    ],
)
def test_what_is_not_understood_is_named(line: str, what: str):
    with pytest.raises(ConfigError, match=what):
        read_curl(line)


@pytest.mark.parametrize("line", ["curl {} h", "rm {}; curl h", "echo {} | curl h"])
def test_messages_hold_no_keys(line: str):
    with pytest.raises(ConfigError) as caught:
        read_curl(line.format("http://x?key=sk-secret-0123456789"))
    assert "0123456789" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("curl h -d @body.json", "--allow-read"),
        ("curl h --json @body.json", "--allow-read"),
        ("curl h --data-binary @body.json", "--allow-read"),
        ("curl h -H @headers.txt", "--allow-read"),
        ("curl h -k", "--allow-insecure"),
        ("curl h -sko out", "--allow-insecure"),
        ("curl h -o out", "--allow-write"),
    ],
)
def test_what_needs_consent_names_its_flag(line: str, flag: str):
    with pytest.raises(ConfigError, match=flag):
        read_curl(line)


def test_with_consent_files_are_read(tmp_path: Path):
    (tmp_path / "body").write_text("a\nb\n")
    (tmp_path / "headers").write_text("X-A: 1\nX-B: 2\n")
    consent = frozenset[str](["read"])
    call = read_curl(f"curl h --data-binary @{tmp_path}/body -H @{tmp_path}/headers", consent)
    assert plain(call.body or ()) == "a\nb\n"
    assert (headers(call)["X-A"], headers(call)["X-B"]) == ("1", "2")


def test_data_raw_does_not_read_files():
    assert plain(read_curl("curl h --data-raw @body.json").body or ()) == "@body.json"


def test_a_file_that_is_missing_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"nothing\.json: cannot be read"):
        read_curl(f"curl h -d @{tmp_path}/nothing.json", frozenset(["read"]))
