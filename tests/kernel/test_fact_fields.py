"""The journal outlives versions: facts keep their number, their name and their fields, which only grow at the end."""

from __future__ import annotations

from penstock.kernel import fact as F

#: what the journals of the first version hold, by number
WRITTEN = """
0 run.started: run tenant net seed trace parent input options tracks queued
1 put: edge scope epoch seq envelope path passed
2 fired: firing node scope epoch visit takes owed flags comp path
3 fired: firing node scope epoch visit edge seq flags
4 passed: firing node scope epoch visit takes via seq body port flags
5 effect.asked: firing attempt probe args
6 effect.answered: firing attempt probe status output failure
7 attempt.failed: firing attempt failure next_at
8 settled: firing status port node attempt started body content_type meta failure flags
9 named: names
10 sets: values named
11 result: name
12 dead: scope places
13 absorbed: scope edge epoch seqs why owed_key owed_visit
14 rearmed: scope key visit edges
15 forwarded: scope key node path passed
16 timer.set: timer due why firing data
17 timer.gone: timer why
18 wait.opened: wait firing trigger name filter
19 wait.gone: wait why
20 signal.kept: id name payload
21 signal.used: id wait
22 signal.expired: id
23 seen: id
24 work.opened: firing node prompt candidates level mode
25 work.moved: firing to event by draft votes comment mode why target meta
26 phase: firing phase attempt
27 scope.opened: scope parent firing key index vars required
28 scope.closed: scope status failure
29 scope.forgotten: scopes
30 swept: scope why firings tokens scopes status effects timers ids
31 ledger.added: firing node scope path output lineage id
32 ledger.moved: entry status output firing path
33 undo.planned: steps why then firing failure
34 undo.step: entry status
35 undo.at: at part
36 undo.ended: result
37 revived: firing base
38 run.reopened: how retries fresh
39 paused: on why
40 run.moved: to event failure
41 draining: how failure
42 incident: code node detail
43 ignored: command why what late
44 migrated: net was nodes edges names
45 forked: run origin at_fact trace
46 forgot: scope below
47 locals: scope values
"""


def test_facts_keep_their_numbers_names_and_fields() -> None:
    """K1, P-X.38: a journal that was written once is read by every later version as it was meant."""
    for line in WRITTEN.strip().splitlines():
        known, _, fields = line.partition(":")
        number, name = known.split()
        has, holds = F.FIELDS[int(number)]
        assert (has, holds[: len(fields.split())]) == (name, tuple(fields.split()))
