"""When a mode is proposed: the tenant's settings `autonomy`, and what holds where they say nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from penstock.app.access.roles import config_of
from penstock.errors import BadInput

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

_Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class AutonomyRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`raise_at`: the share of drafts that nobody had to change, from which an agent may work alone, and below which
    one that does is to be supervised again. `draft_at`: from which one that only people's work was handed to may draft
    all of it; `draft_floor`: below which its drafts are of no use. `min_cases`: so many decided cases at least.
    `level`: how sure a bound is. `alarm_every`: at most once in so many cases it is said wrongly that an agent has
    become worse."""

    enabled: bool = True
    raise_at: _Share = 0.95
    draft_at: _Share = 0.80
    draft_floor: _Share = 0.50
    min_cases: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 30
    level: Annotated[float, msgspec.Meta(ge=0.5, le=0.9999)] = 0.95
    alarm_every: Annotated[float, msgspec.Meta(ge=20, le=1_000_000)] = 1000.0


def rules_of(door: Queries) -> AutonomyRules:
    """Raises BadInput for settings that cannot be used, with their place."""
    given: Any = config_of(door).get("autonomy")
    if given is None:
        return AutonomyRules()
    hint = 'penstock registry put config tenant \'{"autonomy": {"raise_at": 0.95, "min_cases": 30}}\''
    try:
        rules = msgspec.convert(given, AutonomyRules)
    except msgspec.ValidationError as error:
        raise BadInput(what="the tenant's setting «autonomy»", why=str(error), hint=hint) from error
    if rules.draft_floor >= rules.draft_at:
        why = "«draft_floor» has to be smaller than «draft_at»"
        raise BadInput(what="the tenant's setting «autonomy»", why=why, hint=hint)
    return rules
