"""The pytest plugin, one behaviour at a time, in projects that exist for one test."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

ASK = """
    import httpx, pytest

    def ask(cassette, question="hi"):
        with httpx.Client(transport=cassette.transport) as client:
            return client.post("http://api.test/chat", json={"q": question}).json()
"""
ANSWER = {"request": {"url": "http://api.test/chat", "body": {"q": "hi"}}, "response": {"body": {"a": "hello"}}}


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with one cassette, x.json, beside the test module."""
    pytester.makefile(".json", x=json.dumps({"exchanges": [ANSWER]}))
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    return pytester


def run(project: pytest.Pytester, test: str, *arguments: str) -> pytest.RunResult:
    project.makepyfile(test_it=ASK + test)
    return project.runpytest("-p", "no:cacheprovider", *arguments)


def test_the_marker_names_a_file_beside_the_module(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.cassette("x.json")
    def test_it(cassette):
        assert ask(cassette) == {"a": "hello"}
""",
    )
    result.assert_outcomes(passed=1)


def test_the_marker_takes_rules(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.cassette("x.json", ignore=["$.q"])
    def test_it(cassette):
        assert ask(cassette, "other") == {"a": "hello"}
""",
    )
    result.assert_outcomes(passed=1)


def test_by_default_the_file_is_named_after_the_test(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    class TestThis:
        @pytest.mark.parametrize("n", [1])
        def test_it(self, cassette, n): ...
""",
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*cassettes/test_it/TestThis.test_it-1.json: there is no such cassette; record it first",
            "To record it: pytest --agentloop-record=once 'test_it.py::TestThis::test_it?1?'",
        ]
    )
    result.stdout.no_fnmatch_line("*another exception*")


def test_a_mismatch_ends_in_the_line_of_the_test(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.cassette("x.json")
    def test_it(cassette):
        ask(cassette, "bye")
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['E *recorded: "hi"', 'E *sent: *"bye"', "E *--agentloop-record=all*"])
    result.stdout.no_fnmatch_line("*site-packages*")


def test_an_unused_exchange_is_a_failure_of_the_test(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.cassette("x.json")
    def test_it(cassette): ...
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *1 of 1 exchanges of *x.json were never asked for:", "E *POST http://api.test/chat"]
    )


def test_an_unused_exchange_does_not_hide_a_failure(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.cassette("x.json")
    def test_it(cassette):
        assert 1 == 2
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *assert 1 == 2"])


def test_a_mismatch_that_was_swallowed_is_reported(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.cassette("x.json")
    def test_it(cassette):
        try:
            ask(cassette, "bye")
        except Exception:
            pass
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["a mismatch was raised, and something caught it:", '*sent: *"bye"'])


def test_the_network_is_blocked_with_a_hint(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.cassette("x.json")
    def test_it():
        httpx.get("http://elsewhere.test/", trust_env=False)
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *a connection to elsewhere.test was refused. This test plays *x.json. To record it:*"]
    )


def test_other_tests_are_left_alone(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    import socket

    def test_it():
        assert socket.getaddrinfo("192.0.2.1", 80)  # a blocked test may not even ask
""",
    )
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(("mode", "written"), [("once", True), ("new", True), ("all", True), ("none", False)])
def test_a_mode_that_records_writes_the_file(project: pytest.Pytester, mode: str, written: bool) -> None:
    result = run(
        project,
        """
    def test_it(cassette):
        import httpx
        inner = httpx.MockTransport(lambda _: httpx.Response(200, json={"a": "new"}))
        client = httpx.Client(transport=inner)
        with cassette.attached(client):
            assert client.get("http://api.test/").json() == {"a": "new"}
""",
        f"--agentloop-record={mode}",
    )
    assert result.ret == (0 if written else 1)
    assert (project.path / "cassettes/test_it/test_it.json").exists() is written


def test_a_failed_test_writes_nothing(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    def test_it(cassette):
        client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200)))
        with cassette.attached(client):
            client.get("http://api.test/")
        assert 1 == 2
""",
        "--agentloop-record=all",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*cassettes/test_it/test_it.json was not written, since the test did not pass"])
    assert not (project.path / "cassettes").exists()


def test_two_tests_cannot_record_one_file(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.cassette("shared.json")
    @pytest.mark.parametrize("n", [1, 2])
    def test_it(cassette, n):
        client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200)))
        with cassette.attached(client):
            client.get(f"http://api.test/{n}")
""",
        "--agentloop-record=all",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*shared.json was recorded by test_it.py::test_it?1? in this run: give each test*"])


def test_an_async_test_is_checked_too(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.anyio
    @pytest.mark.cassette("x.json")
    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    async def test_it(cassette, anyio_backend):
        async with httpx.AsyncClient(transport=cassette.transport) as client:
            await client.post("http://api.test/chat", json={"q": "bye"})
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *$.q", 'E *sent: *"bye"'])


def test_a_mistake_in_the_marker_is_named(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    @pytest.mark.cassette("x.json", ignroe=["body"])
    def test_it(cassette): ...
""",
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*write @pytest.mark.cassette('x.json', ignore=(...), secrets=(...))*"])


def test_a_unittest_case_is_refused(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
    import unittest

    class TestIt(unittest.TestCase):
        @pytest.mark.cassette("x.json")
        def test_it(self): ...
""",
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*cassettes do not work in unittest.TestCase; use agentloop.testing.record*"])


def test_the_option_and_the_marker_are_described(project: pytest.Pytester) -> None:
    result = project.runpytest("--help")
    result.stdout.fnmatch_lines(["*--agentloop-record={none,once,new,all}*"])
    result = project.runpytest("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.cassette(path=None,*"])


def test_the_plugin_imports_next_to_nothing() -> None:
    program = "import sys, pytest; import agentloop.testing.pytest_plugin; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=20)
    loaded = {name for name in run.stdout.split() if name.startswith(("agentloop", "httpx", "anyio", "orjson"))}
    assert loaded == {"agentloop", "agentloop.testing", "agentloop.testing.pytest_plugin"}
