"""How large what is sent may be: settings of the house, with their starting values."""

from __future__ import annotations

import pytest

from penstock.api.headers import body_limit
from penstock.api.options import Options
from penstock.errors import BadInput
from penstock.host.blobs import REF, Blobs
from penstock.host.sizes import Sizes, sizes_of
from penstock.lang.files import LIMIT


def test_what_holds_unless_somebody_says_otherwise() -> None:
    assert sizes_of({}) == Sizes(body_bytes=1_048_576, document_bytes=5_242_880, inline_bytes=65_536)
    assert sizes_of({}).document_bytes == LIMIT, "no larger ones are read"


@pytest.mark.parametrize("value", [0, 10, True, "1", 2.5, 10**9])
def test_a_setting_that_is_none_is_refused_by_its_name(value: object) -> None:
    with pytest.raises(BadInput, match=r"sizes\.document_bytes"):
        sizes_of({"sizes.document_bytes": value})


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/api/v1/runs", 2000), ("/api/v1/runs/definitions", 2000), ("/api/runs:batch", 2000), ("/hooks/x", 2000),
        ("/api/v1/definitions/check", 6000), ("/api/definitions", 6000), ("/api/v1/diagrams:validate", 6000),
        ("/api/v1/processes/definitions/x", 6000), ("/api/v1/drafts/x", 6000), ("/api/v1/workflows/", 6000),
        ("/api/v1/processes/definitions:import-bpmn", 6000), ("/api/v1/processes/definitions/x:approve", 6000),
        ("/api/v1/processes/definitions/x/instances", 2000), ("/api/v1/diagrams/x/runs", 2000),
        ("/api/v1/workflows/x/trigger", 2000), ("/api/v1/processes/workitems/x:submit", 2000),
    ],
)  # fmt: skip
def test_a_body_with_a_document_may_be_larger(path: str, limit: int) -> None:
    assert body_limit(path, Options(body_limit=2000, document_limit=4000)) == limit


def test_a_large_value_is_kept_beside_its_row() -> None:
    blobs = Blobs(None, inline=4096)  # type: ignore[arg-type]
    small, large = {"text": "x" * 4000}, {"text": "x" * 4200}
    assert blobs.shelve("t", small) is small
    kept = blobs.shelve("t", large)
    assert set(kept) == {REF, "size"} and blobs.resolve("t", kept) == large
    assert Blobs(None).shelve("t", large) is large, "64 KiB by default"  # type: ignore[arg-type]
