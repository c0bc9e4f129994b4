"""Event logs that are wrong: each is refused with the place, or read with a finding, and never half of it."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.errors.korean import error_text, finding_text
from penstock.mining.activity_map import activity_map
from penstock.mining.event import Case, Event
from penstock.mining.event_logs import read_log
from penstock.mining.log_findings import RULES, LogFindings
from penstock.mining.log_options import LogOptions
from tests.mining.planted import Planted

LOGS = Path(__file__).parent / "logs"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<log xes.version="1.0">\n'
NAME = '<string key="concept:name" value="{}"/>'
EARLY = "2026-01-01T10:00:00Z"
TIME = '<date key="time:timestamp" value="{}"/>'


def event(name: str = "A", time: str = "2026-01-01T10:00:00Z", more: str = "") -> str:
    return f"<event>{NAME.format(name)}{TIME.format(time)}{more}</event>\n"


def trace(*events: str, id: str = "1") -> str:
    return f"<trace>{NAME.format(id)}\n{''.join(events)}</trace>\n"


def xes(*traces: str) -> bytes:
    return f"{HEAD}{''.join(traces)}</log>\n".encode()


def csv(*rows: str, header: str = "case,activity,timestamp") -> bytes:
    return "\n".join([header, *rows]).encode()


def refusal(content: bytes, options: LogOptions | None = None) -> PenstockError:
    with pytest.raises(PenstockError) as raised:
        list(read_log(io.BytesIO(content), "bad log", options))
    return raised.value


BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE log [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<log><trace><string key="concept:name" value="&b;"/></trace></log>"""
OUTSIDE = b"""<?xml version="1.0"?>
<!DOCTYPE log SYSTEM "file:///etc/passwd"><log/>"""
FEW = [f"{case},step,2026-01-01T10:00:00Z" for case in range(3)]

REFUSED: dict[str, tuple[bytes, str, str]] = {
    "empty file": (b"", "PS-422-EVENT_LOG_EMPTY", "empty"),
    "only spaces": (b" \n\n ", "PS-422-EVENT_LOG_EMPTY", "empty"),
    "log without traces": (xes(), "PS-422-EVENT_LOG_EMPTY", "no completed event"),
    "log without events": (xes(trace()), "PS-422-EVENT_LOG_EMPTY", "no completed event"),
    "header without rows": (csv(), "PS-422-EVENT_LOG_EMPTY", "header"),
    "an entity bomb": (BOMB, "PS-422-EVENT_LOG", "line 2: it has a DOCTYPE"),
    "an outside entity": (OUTSIDE, "PS-422-EVENT_LOG", "line 2: it has a DOCTYPE"),
    "another XML": (b"<definitions><process/></definitions>", "PS-415-EVENT_LOG", "<definitions>"),
    "another XML with a log inside": (b"<a><log/></a>", "PS-415-EVENT_LOG", "<a>"),
    "JSON": (b'{"traces": []}', "PS-415-EVENT_LOG", "JSON"),
    "a spreadsheet": (b"PK\x03\x04" + bytes(100), "PS-415-EVENT_LOG", "spreadsheet"),
    "a PDF": (b"%PDF-1.7\n", "PS-415-EVENT_LOG", "another kind"),
    "bytes": (bytes(range(256)) * 4, "PS-415-EVENT_LOG", "neither text nor XML"),
    "prose": (b"Dear all,\nplease find attached\n", "PS-422-EVENT_LOG_COLUMNS", "no column for case"),
    "XML cut off": (xes(trace(event()))[:-30], "PS-422-EVENT_LOG_TRUNCATED", "line 4, 1 event(s)"),
    "not well-formed": (xes(trace("<event><a></event>")), "PS-422-EVENT_LOG", "line 4: it is not well-formed XML"),
    "not UTF-8": (xes(trace(event("Pr\xfcfen"))).decode().encode("latin-1"), "PS-422-EVENT_LOG", "line 4"),
    "an unknown encoding": (b'<?xml version="1.0" encoding="x-none"?><log/>', "PS-422-EVENT_LOG", "encoding"),
    "an encoding of two bytes": (b'<?xml version="1.0" encoding="cp949"?><log/>', "PS-422-EVENT_LOG", "UTF-8"),
    "no case in XES": (
        xes(trace(event()), f"<trace>{event()}</trace>"), "PS-422-EVENT_LOG_CASE", "trace 2 (line 6)",
    ),
    "no activity in XES": (
        xes(trace(event(), f"<event>{TIME.format(EARLY)}</event>")), "PS-422-EVENT_LOG", "line 5, event 2",
    ),
    "no time in XES": (
        xes(trace(event(), f"<event>{NAME.format('B')}</event>", id="c9")), "PS-422-EVENT_LOG",
        "line 5, event 2 of case «c9»: it has no time:timestamp",
    ),
    "no time that can be read": (
        xes(trace(event(), event(time="yesterday"))), "PS-422-EVENT_LOG", "line 5, event 2 of case «1»: «yesterday»",
    ),
    "no such day": (xes(trace(event(time="2026-02-30T10:00:00Z"))), "PS-422-EVENT_LOG", "2026-02-30"),
    "mixed zones in XES": (
        xes(trace(event(), event(time="2026-01-01T10:00:00"))), "PS-422-EVENT_LOG_ZONES", "line 5, event 2",
    ),
    "deep markup": (xes("<a>" * 200 + "</a>" * 200), "PS-422-EVENT_LOG", "deeper than 100"),
    "deep attributes": (
        xes(trace(event(more=f'{"<container key=" + chr(34) + "k" + chr(34) + ">"}' * 200 + "</container>" * 200))),
        "PS-422-EVENT_LOG", "deeper than 100",
    ),
    "an endless tag": (
        HEAD.encode() + b'<string key="a" value="' + b"x" * 20_000_000, "PS-422-EVENT_LOG", "longer than",
    ),
    "10,000 activities in XES": (
        xes(*(trace(event(f"step {n}"), id=str(n)) for n in range(10_000))), "PS-413-EVENT_LOG", "2000 activities",
    ),
    "10,000 activities in CSV": (
        csv(*(f"1,step {n},2026-01-01" for n in range(10_000))), "PS-413-EVENT_LOG", "line 2002",
    ),
    "a novel as activity": (csv(f"1,{'x' * 501},2026-01-01"), "PS-413-EVENT_LOG", "line 2"),
    "no case in a row": (csv(*FEW, ",step,2026-01-01"), "PS-422-EVENT_LOG_CASE", "line 5"),
    "no activity in a row": (csv(*FEW, "1, ,2026-01-01"), "PS-422-EVENT_LOG", "line 5: the activity is empty"),
    "a short row": (csv(*FEW, "1,step"), "PS-422-EVENT_LOG", "line 5: the row has 2 field(s)"),
    "no time in a row": (csv(*FEW, "1,step,soon"), "PS-422-EVENT_LOG", "line 5: «soon»"),
    "mixed zones in rows": (csv(*FEW, "1,step,2026-01-01 10:00"), "PS-422-EVENT_LOG_ZONES", "line 5"),
    "wrong encoding of CSV": (csv(*FEW) + "\n3,접수,2026-01-01Z".encode("cp949"), "PS-422-EVENT_LOG", "line 5"),
    "an open quote": (csv(*FEW, '1,"step,2026-01-01T10:00:00Z'), "PS-422-EVENT_LOG", "no CSV there"),
    "a line without end": (csv("x" * 2_000_000), "PS-413-EVENT_LOG", "line 2"),
    "no case at all": (csv(*FEW, header="number,activity,timestamp"), "PS-422-EVENT_LOG_COLUMNS", "«number»"),
    "no time at all": (csv(*FEW, header="case,activity,when"), "PS-422-EVENT_LOG_COLUMNS", "no column for time"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(what: str) -> None:
    """P-8.5: the quality of the log is looked at first."""
    content, code, said = REFUSED[what]
    error = refusal(content)
    assert (error.code, 400 <= error.http < 500) == (code, True), error
    assert said in str(error) and error.hint
    korean, hint = error_text(error)
    assert korean != str(error) and hint != error.hint
    assert len(str(error)) < 500


@pytest.mark.parametrize("format", ["xes", "csv"])
def test_a_compressed_file_that_is_cut_off(format: str) -> None:
    """At any place: what came before it does not make it whole."""
    planted = Planted(3, cases=30)
    content = gzip.compress(planted.xes() if format == "xes" else planted.csv())
    for length in (15, len(content) // 2, len(content) - 9, len(content) - 1):
        error = refusal(content[:length])
        assert error.code == "PS-422-EVENT_LOG_TRUNCATED", length
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 0xFF
    assert refusal(bytes(damaged)).code in ("PS-422-EVENT_LOG", "PS-422-EVENT_LOG_TRUNCATED")


def test_a_bomb_of_compression_ends_at_the_limit() -> None:
    content = gzip.compress(b"<log>" + b" " * 50_000_000)
    error = refusal(content, LogOptions(max_bytes=10_000_000))
    assert (error.code, len(content) < 100_000) == ("PS-413-EVENT_LOG", True)


def test_too_many_events_are_refused() -> None:
    for content in (xes(trace(event(), event(), event())), csv(*FEW)):
        assert refusal(content, LogOptions(max_events=2)).code == "PS-413-EVENT_LOG"
        assert len(list(read_log(io.BytesIO(content), "log", LogOptions(max_events=3)))) > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (LogOptions(zone="Mars/Olympus"), "Mars/Olympus"),
        (LogOptions(zone="../../etc/passwd"), "passwd"),
        (LogOptions(encoding="no-such"), "no-such"),
        (LogOptions(columns={"case": "nothing"}), "«nothing»"),
        (LogOptions(columns={"colour": "case"}), "colour"),
    ],
)
def test_options_that_make_no_sense(options: LogOptions, said: str) -> None:
    error = refusal(csv(*FEW), options)
    assert said in str(error)


def test_a_classifier_that_the_log_has_not() -> None:
    error = refusal(xes(trace(event())), LogOptions(classifier="Nobody"))
    assert "«Nobody»" in str(error) and "it has none" in str(error)


def findings_of(content: bytes, options: LogOptions | None = None) -> tuple[list[Case], dict[str, tuple[str, int]]]:
    log = read_log(io.BytesIO(content), "odd log", options)
    cases = list(log)
    return cases, {finding.rule: (finding.message, finding.where.line) for finding in log.findings()}


LATER, EARLIER = "2026-01-01T12:00:00Z", "2026-01-01T09:00:00Z"
START = '<string key="lifecycle:transition" value="start"/>'
NOTED: dict[str, tuple[bytes, str, str, int]] = {
    "log_times_backwards": (
        xes(trace(event("B", LATER), event("A", EARLIER)), trace(event(), id="2")), "In 1 case(s)", "«1»", 3,
    ),
    "log_case_twice": (xes(trace(event()), trace(event()), trace(event())), "2 trace(s)", "«1»", 6),
    "log_case_empty": (xes(trace(id="none"), trace(event())), "1 case(s)", "«none»", 3),
    "log_event_outside": (xes(event(), trace(event())), "1 event(s)", "outside", 3),
    "log_never_completed": (xes(trace(event("B", more=START), event())), "1 activities", "«1»", 3),
    "log_not_done": (
        xes(trace(event("B", more='<string key="lifecycle:transition" value="withdraw"/>'), event())),
        "1 activities", "«1»", 3,
    ),
    "log_without_zone": (csv("1,A,2026-01-01 10:00"), "no zone", "UTC", 0),
    "log_dates_ambiguous": (csv("1,A,01/02/2026 10:00"), "01/02/2026", "day", 2),
    "log_duration_negative": (
        csv(f"1,A,{EARLIER},{LATER}", f"1,B,{LATER},{EARLIER}", header="case,activity,end,start"),
        "1 event(s) end before they start", "«1»", 2,
    ),
}  # fmt: skip


def test_every_finding_is_tried() -> None:
    assert set(NOTED) == set(RULES)


@pytest.mark.parametrize("rule", NOTED)
def test_what_is_odd_is_told_and_read(rule: str) -> None:
    """With how often, the first case and its line; in Korean, too."""
    content, count, said, line = NOTED[rule]
    cases, found = findings_of(content)
    assert cases and rule in found
    message, at = found[rule]
    assert count in message and said in message and at == line
    log = read_log(io.BytesIO(content), "odd log")
    list(log)
    for finding in log.findings():
        korean = finding_text(finding)
        assert korean.message != finding.message and any("가" <= letter <= "힣" for letter in korean.message)


def test_times_that_go_backwards_are_sorted() -> None:
    (case,), _ = findings_of(xes(trace(event("C", LATER), event("A", EARLIER), event("B", EARLIER))))
    assert [e.activity for e in case.events] == ["A", "B", "C"], "those of the same moment as they stand in the log"


def test_a_negative_duration_has_no_work() -> None:
    cases, _ = findings_of(NOTED["log_duration_negative"][0])
    assert [event.started is None for event in cases[0].events] == [True, False]
    assert {a.name: a.median_work_ms for a in activity_map(cases).activities} == {"A": None, "B": 3 * 3_600_000}


def test_mixed_zones_are_read_where_the_zone_is_said() -> None:
    content = xes(trace(event("A", "2026-01-01T10:00:00"), event("B", "2026-01-01T01:30:00Z")))
    (case,), found = findings_of(content, LogOptions(zone="Asia/Seoul"))
    assert [(e.activity, e.at) for e in case.events] == [("A", 1767229200000), ("B", 1767231000000)]
    assert found == {}


def test_nothing_of_a_log_opens_a_file_or_a_connection(tmp_path: Path) -> None:
    """An extension's address is never asked."""
    head = '<extension name="Concept" prefix="concept" uri="file:///no/such/concept.xesext"/>'
    (case,) = read_log(io.BytesIO(xes(head, trace(event()))), "log")
    assert case.id == "1" and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shape", [*(file.name for file in sorted(LOGS.glob("*.xes"))), "csv"])
def test_bytes_that_were_changed_are_read_or_refused(shape: str) -> None:
    """400 files with some bytes changed, left out or doubled: never another error than ours."""
    content = Planted(5, cases=3).csv() if shape == "csv" else (LOGS / shape).read_bytes()
    rng = random.Random(shape)
    changes: list[Callable[[bytearray, int], None]] = [
        lambda data, place: data.__setitem__(place, rng.randrange(256)),
        lambda data, place: data.__delitem__(slice(place, place + rng.randrange(40))),
        lambda data, place: data.__setitem__(slice(place, place), data[place : place + 60]),
        lambda data, place: data.__setitem__(slice(place, place), b"<event>"),
        lambda data, place: data.__setitem__(slice(place, place), b"\n,\"';"),
    ]
    refusals: list[PenstockError] = []
    for _ in range(400):
        data = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            rng.choice(changes)(data, rng.randrange(len(data)))
        try:
            activity_map(read_log(io.BytesIO(bytes(data)), "changed"))
        except PenstockError as error:
            refusals.append(error)
    assert len(refusals) > 20
    assert [error for error in refusals if not (error.hint and 400 <= error.http < 500)] == []


def test_findings_do_not_grow_with_the_log() -> None:
    findings = LogFindings()
    for number in range(10_000):
        findings.note("log_times_backwards", f"case {number}", number + 1)
    (finding,) = findings.listed()
    assert "10000 case(s)" in finding.message and "«case 0»" in finding.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PenstockError) as raised:
        list(read_log(tmp_path / "none.xes", "none.xes"))
    assert raised.value.code == "PS-422-EVENT_LOG"


def test_a_map_has_limits_too() -> None:
    """Cases need not come from a file: more activities, or flows between them, than anybody looks at are refused."""
    with pytest.raises(PenstockError, match=r"2000 activities.*case «2000»"):
        activity_map(Case(str(n), (Event(f"step {n}", n),)) for n in range(10_000))
    rng = random.Random(1)
    with pytest.raises(PenstockError, match="200000 flows"):
        activity_map(
            Case(str(n), tuple(Event(f"step {rng.randrange(1_500)}", at) for at in range(1_000))) for n in range(1_000)
        )


def test_a_case_has_no_end() -> None:
    """Refused while it is read: a case is held as a whole."""
    rows = csv(*(f"1,step,{1_795_082_400_000 + n}" for n in range(250_001)))
    error = refusal(rows)
    assert (error.code, "250000 events in one case" in str(error)) == ("PS-413-EVENT_LOG", True)
    begun = xes(trace(*[event()] * 250_001))[:-16]  # it is not even whole
    error = refusal(begun)
    assert (error.code, "line 250004" in str(error)) == ("PS-413-EVENT_LOG", True)


def test_people_beyond_what_is_counted_are_told() -> None:
    """Names of customers in the column of the resource do not fill the memory."""
    cases = (
        Case(str(n), (Event("A", n, None, f"customer {n}"), Event("B", n + 5, None, f"clerk {n}")))
        for n in range(50_200)
    )
    found = activity_map(cases)
    assert (len(found.handovers), found.handovers_left_out) == (50_000, 200)
    assert found.bottleneck is not None and found.bottleneck.people == 10_000


def test_nobody_hands_over_nothing() -> None:
    """P-7.3.6: «system» stands for nobody; an agent is somebody, but no person of a bottleneck."""
    events = (
        Event("A", 0, None, "kim"), Event("B", 10, None, "system"), Event("C", 30, None, "lee"),
        Event("D", 70, None, "bot", "AUTONOMOUS"), Event("D", 80, None, "choi", "MANUAL"),
    )  # fmt: skip
    found = activity_map([Case("1", events)])
    assert [(h.source, h.target, h.median_wait_ms) for h in found.handovers] == [
        ("bot", "choi", 10),
        ("lee", "bot", 40),
    ]
    assert found.bottleneck is not None
    assert (found.bottleneck.source, found.bottleneck.target, found.bottleneck.people) == ("C", "D", 1)
    assert found.bottleneck.arrivals_per_day == 24, "of less than an hour no more is made"


def test_a_case_of_a_map_may_have_no_events() -> None:
    found = activity_map([Case("1", ()), Case("2", (Event("A", 5),))])
    assert (found.cases, found.events, found.bottleneck) == (1, 1, None)
    assert activity_map([]).cases == 0 and activity_map([]).begin is None
