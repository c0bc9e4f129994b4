"""Commands that are killed (-9) while they submit, and the driver that others leave their work to (P-A.19)."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from penstock.store.address import driver_of, place
from tests.api.serving import until
from tests.api.sites import STORES
from tests.cli.shell import Zygote
from tests.conformance.process.cli.desk import DONE, KIM, WAITS, Desk, Desked, desk
from tests.conformance.process.make import process, task

CHAIN = process([task("A"), task("B")], ["A>B"])


def _whole(case: Desked, *, answered: bool) -> None:
    """Either A is open still, or B is there, once; and it goes on to its end."""
    states = [(one["activity_id"], one["status"]) for one in case.look()["workitems"]]
    assert states in ([("A", "TODO")], [("A", "DONE"), ("B", "TODO")]), states
    if answered:
        assert len(states) == 2, "what was told is there"
    if len(states) == 1:
        assert case.hands_in("A") == ["B"]
    assert case.hands_in("B", code=DONE) == []


@pytest.mark.parametrize("store", STORES)
def test_a_submit_is_killed(store: str, tmp_path: Path, zygotes: list[Zygote]) -> None:
    """P-A.19, P-X.11, P-X.12: wherever it dies, an item is still open or the next one exists once."""
    with desk(store, tmp_path, zygotes[0]) as office:
        definition = office.defined(CHAIN)
        case = office.begins(definition)
        began = time.monotonic()
        office.alone("items", "submit", f"{case.id}/A", "--by", KIM, code=WAITS)
        took = time.monotonic() - began
        for share in (0.5, 0.75, 0.9, 1.0):
            case = office.begins(definition)
            process = office.beside("items", "submit", f"{case.id}/A", "--by", KIM, "--json")
            time.sleep(took * share)
            process.kill()
            process.communicate()
            _whole(case, answered=process.returncode == WAITS)
        assert office("verify")["violations"] == []


@pytest.mark.parametrize("store", STORES)
def test_the_driver_is_killed(store: str, tmp_path: Path, zygotes: list[Zygote]) -> None:
    """P-A.19, P-X.12: commands leave their work to `penstock work`; when it is killed, they do it themselves."""
    with desk(store, tmp_path, zygotes[0]) as office:
        definition = office.defined(CHAIN)
        for after in (0, 1, 2):
            driver = office.beside("work")
            try:
                until(lambda: driver_of(place(office.server.store)), lambda found: found is not None)
                cases = [office.begins(definition) for _ in range(4)]
                _submitted(office, cases, zygotes[1], after, driver.kill)
            finally:
                driver.kill()
                driver.communicate()
            for case in cases:
                _whole(case, answered=True)
        assert office("verify")["violations"] == []


def _submitted(office: Desk, cases: list[Desked], zygote: Zygote, after: int, kill: object) -> None:
    """Each is submitted; when so many are done, the driver is killed while the next is under way."""
    ready = threading.Event()

    def killer() -> None:
        ready.wait(60)
        assert callable(kill)
        kill()

    thread = threading.Thread(target=killer)
    thread.start()
    for n, case in enumerate(cases):
        if n == after:
            ready.set()
        told = office("items", "submit", f"{case.id}/A", "--by", KIM, code=WAITS, zygote=zygote)
        assert told["next_nodes"] == ["B"]
    thread.join(60)
