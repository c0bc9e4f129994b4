"""What agents' programs write, byte by byte: the seed's lines, the real programs' lines, garbage, floods."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from penstock.executors.parts.agent_streams import SHAPES, StreamEvent, StreamParser, Transcript, read_events


def jsonl(*lines: Any) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def parsed(shape: str, data: bytes, size: int = 0) -> tuple[StreamParser, list[StreamEvent]]:
    parser = StreamParser(SHAPES[shape])
    events: list[StreamEvent] = []
    for at in range(0, len(data), size or max(1, len(data))):
        events += parser.feed(data[at : at + (size or len(data))])
    return parser, events + parser.close()


SEED = jsonl(
    {"type": "system", "subtype": "init", "session_id": "s1", "model": "m"},
    {"type": "message", "content": "I begin"},
    {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
    {"type": "progress", "percent": 40},
    {"type": "heartbeat"},
    {"type": "result", "result": "all done", "matched_criteria": ["it works"], "cost_usd": 0.5},
)


@pytest.mark.parametrize("shape", ["claude", "gemini", "codex", "shell"])
def test_the_seeds_lines_are_read_in_every_shape(shape: str) -> None:
    """T-10.2.1, T-10.2.2, T-10.2.3, T-10.2.4, T-10.2.5: each type becomes its event under the seed's name."""
    parser, events = parsed(shape, SEED)
    assert [(event.kind, event.name) for event in events] == [
        ("started", "claude:started"), ("message", "claude:stream"), ("tool", "claude:stream"),
        ("progress", "claude:stream"), ("result", "claude:complete"),
    ]  # fmt: skip
    assert events[0].data == {"session_id": "s1", "model": "m"}
    assert events[1].text == "I begin"
    assert events[2].data == {"tool": "Bash", "input": '{"command": "ls"}'}
    assert events[4].text == "all done"
    summary = parser.summary
    assert (summary.percent, summary.has_result, summary.result_is_error) == (40, True, False)
    assert (list(summary.claims), summary.cost_usd, summary.lines) == (["it works"], 0.5, 6)


def test_an_error_is_told_and_ends_the_attempt() -> None:
    """T-10.2.6, T-X.18: `error` is claude:error; `fatal` is kept."""
    parser, events = parsed("claude", jsonl({"type": "error", "error": {"message": "no quota"}}))
    assert [(event.kind, event.name, event.text) for event in events] == [("error", "claude:error", "no quota")]
    assert (parser.summary.has_error, parser.summary.fatal, parser.summary.error) == (True, False, "no quota")
    parser, _ = parsed("claude", jsonl({"type": "error", "message": "disk", "fatal": True}))
    assert parser.summary.fatal is True


CLAUDE = jsonl(
    {"type": "system", "subtype": "init", "cwd": "/x", "session_id": "c1", "tools": ["Bash"], "model": "claude-x",
     "mcp_servers": [], "permissionMode": "default"},
    {"type": "assistant", "message": {"id": "m1", "type": "message", "role": "assistant", "model": "claude-x",
     "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "Looking"}],
     "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}}, "session_id": "c1"},
    {"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file": "a.py"}}],
     "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 7}}, "session_id": "c1"},
    {"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "[x] not a claim", "is_error": True}]},
     "tool_use_result": {"stdout": "x" * 5000}},
    {"type": "stream_event", "event": {"type": "content_block_delta"}},
    {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}},
    {"type": "assistant", "message": {"id": "m2", "role": "assistant", "content": "- [x] tests pass",
     "usage": {"input_tokens": 20, "output_tokens": 3}}},
    {"type": "result", "subtype": "success", "is_error": False, "duration_ms": 12, "num_turns": 2, "result": "Done.",
     "session_id": "c1", "total_cost_usd": 0.0123, "modelUsage": {},
     "usage": {"input_tokens": 30, "cache_read_input_tokens": 90, "output_tokens": 12, "server_tool_use": {}}},
)  # fmt: skip


def test_claude_code() -> None:
    """T-X.12, T-X.23: assistant is message, tool use inside its content is tool_use; cost and tokens of the result."""
    parser, events = parsed("claude", CLAUDE)
    assert [event.kind for event in events] == [
        "started", "message", "tool", "tool", "system", "message", "result",
    ]  # fmt: skip
    assert events[1].text == "Looking"
    assert events[2].data == {"tool": "Edit", "input": '{"file": "a.py"}'}
    assert events[3].data == {"output": True, "is_error": True}
    summary = parser.summary
    assert (summary.tokens_in, summary.tokens_out, summary.cost_usd, summary.turns) == (120, 12, 0.0123, 2)
    assert (summary.result, summary.model, summary.cli_session) == ("Done.", "claude-x", "c1")
    assert list(summary.claims) == ["tests pass"], "what a tool has read is no claim of the agent's"
    assert summary.raw_lines == summary.unknown_lines == 0


def test_claude_tokens_are_known_before_the_result() -> None:
    """A budget needs no result: an answer that comes in several lines counts once."""
    parser = StreamParser(SHAPES["claude"])
    lines = CLAUDE.splitlines(keepends=True)
    parser.feed(b"".join(lines[:3]))
    assert (parser.summary.tokens_in, parser.summary.tokens_out) == (100, 7)
    parser.feed(lines[6])
    assert (parser.summary.tokens_in, parser.summary.tokens_out) == (120, 10)


@pytest.mark.parametrize("subtype", ["error_max_turns", "error_during_execution"])
def test_claude_results_that_are_errors(subtype: str) -> None:
    """T-X.13: a result that is an error is seen, and is none that counts."""
    line = {"type": "result", "subtype": subtype, "is_error": True, "num_turns": 9, "errors": ["too many turns"]}
    parser, events = parsed("claude", jsonl(line))
    assert (parser.summary.has_result, parser.summary.result_is_error) == (True, True)
    assert events[0].text == "too many turns"


def test_gemini_cli() -> None:
    """T-X.12: messages in pieces, tools, warnings that end nothing, stats."""
    parser, events = parsed("gemini", jsonl(
        {"type": "init", "timestamp": "2026-01-01T00:00:00Z", "session_id": "g1", "model": "gemini-x"},
        {"type": "message", "timestamp": "t", "role": "user", "content": "[x] the prompt"},
        {"type": "tool_use", "timestamp": "t", "tool_name": "read_file", "tool_id": "1", "parameters": {"p": 1}},
        {"type": "tool_result", "timestamp": "t", "tool_id": "1", "status": "error", "error": {"message": "no"}},
        {"type": "error", "timestamp": "t", "severity": "warning", "message": "loop detected"},
        {"type": "message", "timestamp": "t", "role": "assistant", "content": "All good\n[x] it ", "delta": True},
        {"type": "message", "timestamp": "t", "role": "assistant", "content": "works", "delta": True},
        {"type": "result", "timestamp": "t", "status": "success", "stats": {"total_tokens": 30, "input_tokens": 20,
         "output_tokens": 10, "cached": 3, "duration_ms": 5, "tool_calls": 1}},
    ))  # fmt: skip
    assert [event.kind for event in events] == [
        "started", "tool", "tool", "system", "message", "message", "result",
    ]  # fmt: skip
    summary = parser.summary
    assert summary.result == "All good\n[x] it works"
    assert list(summary.claims) == ["it works"]
    assert (summary.tokens_in, summary.tokens_out, summary.has_error) == (20, 10, False)
    parser, _ = parsed("gemini", jsonl({"type": "result", "status": "error", "error": {"message": "quota"}}))
    assert (parser.summary.result_is_error, parser.summary.result) == (True, "quota")


def test_codex() -> None:
    """T-X.12: items; a completed turn is the result, a failed one an error; connecting again is neither."""
    parser, events = parsed("codex", jsonl(
        {"type": "thread.started", "thread_id": "x1"}, {"type": "turn.started"},
        {"type": "item.started", "item": {"id": "1", "type": "command_execution", "command": "bash -lc ls",
         "aggregated_output": "", "exit_code": None, "status": "in_progress"}},
        {"type": "item.completed", "item": {"id": "1", "type": "command_execution", "command": "bash -lc ls",
         "aggregated_output": "a.py\n", "exit_code": 0, "status": "completed"}},
        {"type": "item.completed", "item": {"id": "2", "type": "reasoning", "text": "thinking"}},
        {"type": "item.completed", "item": {"id": "3", "type": "file_change", "status": "completed",
         "changes": [{"path": "a.py", "kind": "update"}]}},
        {"type": "error", "message": "Reconnecting... 1/5"},
        {"type": "item.completed", "item": {"id": "4", "type": "agent_message", "text": "Done\n[x] it works"}},
        {"type": "turn.completed", "usage": {"input_tokens": 50, "cached_input_tokens": 40, "output_tokens": 6}},
    ))  # fmt: skip
    assert [event.kind for event in events] == [
        "started", "tool", "tool", "system", "tool", "system", "message", "result",
    ]  # fmt: skip
    summary = parser.summary
    assert (summary.cli_session, summary.result, list(summary.claims)) == ("x1", "Done\n[x] it works", ["it works"])
    assert (summary.tokens_in, summary.tokens_out, summary.has_error) == (50, 6, False)
    parser, _ = parsed("codex", jsonl({"type": "turn.failed", "error": {"message": "usage limit"}}))
    assert (parser.summary.has_error, parser.summary.error, parser.summary.has_result) == (True, "usage limit", False)


def test_a_plain_shell() -> None:
    """T-X.13: lines are messages, `[x] …` counts; JSON lines of the seed do, too."""
    parser, events = parsed("shell", b"building\r\n  [x] it builds\n{not json\n" + SEED + b"* [X] last, no newline")
    assert [event.text for event in events[:3]] == ["building", "  [x] it builds", "{not json"]
    assert {event.kind for event in events[:3]} == {"message"}
    assert list(parser.summary.claims) == ["it builds", "it works", "last, no newline"]
    assert parser.summary.raw_lines == 0


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("data", [SEED, CLAUDE, '{"type":"message","content":"한국어 ✓"}\n'.encode() * 3])
def test_partial_chunks_change_nothing(data: bytes, size: int) -> None:
    """T-X.23: buffered to the newline, also in the middle of a character."""
    whole, pieces = parsed("claude", data), parsed("claude", data, size)
    assert pieces[1] == whole[1]
    assert pieces[0].summary.lines == whole[0].summary.lines


@pytest.mark.parametrize("line", [
    b"Traceback (most recent call last):", b"{", b"[1, 2]", b'"text"', b"null", b'{"no": "type"}', b'{"type": 7}',
    b'{"type": "message", "delta": "not a bool"}', b"\xff\xfe\x00\x01", b"{" * 5000, b'{"a":' * 100_000,
    b'{"type": "progress", "percent": "NaN"}', b'{"type":"message","content":"x"} trailing', b"\x00" * 100,
])  # fmt: skip
def test_a_bad_line_is_raw_and_kills_nothing(line: bytes) -> None:
    """T-10.2.1, T-X.23: counted, told as claude:stream of the kind raw; the next line is read."""
    parser, events = parsed("claude", line + b"\n" + jsonl({"type": "message", "content": "still here"}))
    assert [(event.kind, event.name) for event in events] == [("raw", "claude:stream"), ("message", "claude:stream")]
    assert (parser.summary.raw_lines, parser.summary.lines) == (1, 2)
    assert len(events[0].text) <= 2049


@pytest.mark.parametrize("value", [None, True, -5, 1e300, 250, [], {}, "text"])
def test_figures_that_are_none_do_no_harm(value: Any) -> None:
    parser, _ = parsed("claude", jsonl(
        {"type": "result", "total_cost_usd": value, "num_turns": value, "usage": {"input_tokens": value}},
        {"type": "result", "result": value, "usage": value, "stats": value, "error": value},
        {"type": "progress", "percent": 12, "usage": value, "cost_usd": value},
    ))  # fmt: skip
    assert parser.summary.percent == 12
    assert parser.summary.raw_lines == 0


def test_broken_utf8_inside_json_does_not_cost_the_line() -> None:
    """T-X.23: invalid UTF-8."""
    parser, events = parsed("claude", b'{"type":"message","content":"caf\xe9"}\n')
    assert [(event.kind, event.text) for event in events] == [("message", "caf�")]
    assert parser.summary.lines == 1


def test_an_unknown_type_is_ignored_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """T-X.23: unknown type ignored and logged."""
    with caplog.at_level(logging.INFO):
        parser, events = parsed("claude", jsonl(*[{"type": "telemetry", "n": n} for n in range(5)]))
    assert events == []
    assert parser.summary.unknown_types == {"telemetry": 5}
    assert [record.getMessage() for record in caplog.records if "telemetry" in record.getMessage()] == [
        "An agent writes lines of the type «telemetry», which is not known and left out."
    ]


def test_a_line_without_end_is_cut_and_counted() -> None:
    """T-X.23: memory does not grow with it, and what follows is read."""
    parser = StreamParser(SHAPES["claude"], line_bytes=1000)
    events: list[StreamEvent] = []
    for _ in range(50):
        events += parser.feed(b"x" * 100)
    assert sum(len(part) for part in parser._parts) <= 1000
    events += parser.feed(b"\n" + jsonl({"type": "message", "content": "after"}) + b"y" * 1001 + b"\n")
    assert [event.kind for event in events] == ["raw", "message", "raw"]
    assert events[0].data == {"cut": True, "bytes": 5000}
    assert events[2].data == {"cut": True, "bytes": 1001}
    assert (parser.summary.cut_lines, parser.summary.lines) == (2, 3)


def test_a_flood_is_read_to_its_end_and_only_its_end_is_kept() -> None:
    """T-X.23: 24 MB of messages; what is kept for `output_matches` is bounded."""
    block = jsonl({"type": "message", "content": "x" * 1000}) * 1000
    parser, count = StreamParser(SHAPES["claude"]), 0
    for _ in range(24):
        count += len(parser.feed(block))
    parser.feed(jsonl({"type": "message", "content": "the very end"}))
    assert count == 24_000
    assert len(parser.summary.said) <= 1024 * 1024
    assert parser.summary.said.endswith("the very end")


# -- the transcript ----------------------------------------------------------------------------------------------------


def test_the_transcript_can_be_read_from_anywhere(tmp_path: Path) -> None:
    """T-10.2.3: the execution log."""
    _, events = parsed("claude", SEED)
    transcript = Transcript(tmp_path)
    assert [number for number, _ in transcript.write(events[:3], 1000)] == [1, 2, 3]
    transcript.write(events[3:], 2000)
    transcript.close()
    lines = read_events(tmp_path)
    assert [(line.number, line.at, line.kind) for line in lines] == [
        (1, 1000, "started"), (2, 1000, "message"), (3, 1000, "tool"), (4, 2000, "progress"), (5, 2000, "result"),
    ]  # fmt: skip
    assert [line.number for line in read_events(tmp_path, after=1, limit=2)] == [2, 3]
    assert read_events(tmp_path / "none") == []


def test_a_long_transcript_is_read_near_its_end(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path)
    transcript.write([StreamEvent("message", f"{number} " + "x" * (number % 700)) for number in range(1, 2001)], 1)
    transcript.close()
    for after in (0, 1, 500, 999, 1000, 1234, 1999):
        found = read_events(tmp_path, after=after, limit=3)
        assert [line.number for line in found] == list(range(after + 1, min(after + 4, 2001)))
        assert found[0].text.startswith(f"{after + 1} ")
    assert read_events(tmp_path, after=2000) == read_events(tmp_path, after=10**9) == []


def test_the_transcript_goes_on_after_a_restart(tmp_path: Path) -> None:
    """T-X.24: an adopted session is read once more from its beginning; nothing stands in its transcript twice."""
    _, events = parsed("claude", SEED)
    first = Transcript(tmp_path)
    first.write(events[:3], 1000)
    first.close()
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b'{"number":4,"at":1')  # killed while it wrote
    again = Transcript(tmp_path)
    assert again.write(events[:2], 5000) == []
    assert [number for number, _ in again.write(events[2:], 5000)] == [4, 5]
    again.close()
    assert [(line.number, line.at) for line in read_events(tmp_path)] == [
        (1, 1000), (2, 1000), (3, 1000), (4, 5000), (5, 5000),
    ]  # fmt: skip


def test_the_transcript_is_capped_and_says_so(tmp_path: Path) -> None:
    """T-X.23: after the cap it says only how it ended, also after a restart."""
    messages = [StreamEvent("message", "x" * 500)] * 100
    transcript = Transcript(tmp_path, most_bytes=5000)
    transcript.write([*messages, StreamEvent("result", "end")], 1)
    transcript.close()
    lines = read_events(tmp_path)
    assert [line.kind for line in lines[-2:]] == ["system", "result"]
    assert lines[-2].data == {"cut": True}
    assert lines[-1].number == 101
    assert (tmp_path / "events.jsonl").stat().st_size < 6000
    again = Transcript(tmp_path, most_bytes=5000)
    assert len(again.write([*messages, StreamEvent("result", "end"), *messages], 2)) == 100
    again.close()
    assert len(read_events(tmp_path)) == len(lines)
