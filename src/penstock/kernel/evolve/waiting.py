"""What a run waits for: timers, news, people."""

from __future__ import annotations

from penstock.kernel import fact as F
from penstock.kernel.state import Item, State, Timer, Wait

SEEN_CAP = 1024
CLOSED_CAP = 256


def _with(numbers: list[int] | None, no: int) -> list[int]:
    if numbers is None:
        return [no]
    numbers.append(no)
    return numbers


def _without(numbers: list[int], no: int) -> list[int] | None:
    """None when it was the last: most firings have no list at all."""
    numbers.remove(no)
    return numbers or None


def timer_set(st: State, f: F.Fact) -> None:
    _, no, due, why, firing, data = f
    st.timers[no] = Timer(due, why, firing, data)
    st.next_timer = no + 1
    owner = st.firings.get(firing)
    if owner is not None:
        owner.timers = _with(owner.timers, no)


def timer_gone(st: State, f: F.Fact) -> None:
    timer = st.timers.pop(f[1])
    owner = st.firings.get(timer.firing)
    if owner is not None and owner.timers is not None:
        owner.timers = _without(owner.timers, f[1])


def wait_opened(st: State, f: F.Fact) -> None:
    _, no, firing, trigger, name, wanted = f
    st.waits[no] = Wait(firing, trigger, name, wanted)
    st.next_wait = no + 1
    owner = st.firings[firing]
    owner.waits = _with(owner.waits, no)


def wait_gone(st: State, f: F.Fact) -> None:
    wait = st.waits.pop(f[1])
    owner = st.firings.get(wait.firing)
    if owner is not None and owner.waits is not None:
        owner.waits = _without(owner.waits, f[1])


def condition(st: State, f: F.Fact) -> None:
    _, no, trigger, holds = f
    firing = st.firings[no]
    firing.holds = _with(firing.holds, trigger) if holds else _without(firing.holds or [], trigger)


def signal_kept(st: State, f: F.Fact) -> None:
    st.signals[f[1]] = [f[2], f[3]]


def signal_used(st: State, f: F.Fact) -> None:
    st.signals.pop(f[1], None)


def seen(st: State, f: F.Fact) -> None:
    st.seen.append(f[1])
    if len(st.seen) > SEEN_CAP:
        del st.seen[0]


def work_opened(st: State, f: F.Fact) -> None:
    """Said again, the item goes to others, who begin from nothing; a draft that was handed in stays with it."""
    _, no, _node, _prompt, candidates, level = f[:6]
    mode = f[6] if len(f) > 6 else ""
    item = st.items.get(no)
    if item is None:
        st.closed_items.pop(no, None)
        st.items[no] = Item(level=level, candidates=candidates, mode=mode, version=st.n + 1)
    else:
        item.version = st.n + 1
        item.by, item.votes, item.level, item.candidates, item.mode = None, {}, level, candidates, mode


def work_moved(st: State, f: F.Fact) -> None:
    _, no, to, event, by, draft, votes, comment, mode, why = (*f, None, None, None)[:10]
    item = st.items.get(no)
    if item is None:
        if no in st.closed_items:
            st.closed_items[no] = to
        return
    item.status, item.version, item.why = to, st.n + 1, why if event == "block" else None
    if by is not None and event != "set_mode":
        item.by = by
    if draft is not None:
        item.draft = draft
    if votes is not None:
        item.votes = dict(votes)
    if comment is not None or event in ("reject", "rework"):
        item.comment = comment
    if mode is not None:
        item.mode = mode
    if event == "start" and by == "agent":
        item.tried = True


def close_item(st: State, no: int) -> Item:
    """The item goes with its firing; how it ended is remembered for those who come too late, the newest ones."""
    item = st.items.pop(no)
    st.closed_items[no] = item.status
    if len(st.closed_items) > CLOSED_CAP:
        del st.closed_items[next(iter(st.closed_items))]
    return item
