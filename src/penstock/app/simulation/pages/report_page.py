"""A simulation as a page that a manager reads: sentences and three numbers first, charts, then what was assumed.

The page is one file: its charts are SVG inside it, and nothing is fetched when it is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from penstock.app.simulation.pages.report_words import duration_text, words_of

if TYPE_CHECKING:
    from penstock.app.simulation.dry_run import DryRun
    from penstock.app.simulation.figures.percentiles import Bar
    from penstock.app.simulation.monte_carlo import MonteCarlo
    from penstock.app.simulation.subject import MissingReference

_STYLE = """
:root{--ink:#1b2733;--soft:#5b6875;--line:#d9e0e6;--blue:#2b6cb0;--pale:#cfe0f1;--amber:#b7791f;--red:#b83232;--page:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa7b3;--line:#36424d;--blue:#63a4e8;--pale:#274766;
--amber:#e0a84a;--red:#f08080;--page:#12181e}}
body{font:16px/1.55 "Penstock Sans KR","Noto Sans KR","Malgun Gothic",system-ui,sans-serif;color:var(--ink);
background:var(--page);max-width:62rem;margin:2rem auto;padding:0 1.2rem}
h1{font-size:1.6rem;margin:0 0 .2rem}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}
p{margin:.4rem 0}.soft{color:var(--soft)}.lead{font-size:1.15rem}
.numbers{display:flex;flex-wrap:wrap;gap:1rem;margin:1.2rem 0}.numbers div{border:1px solid var(--line);
border-radius:.5rem;padding:.7rem 1.1rem;min-width:8rem}.numbers b{display:block;font-size:1.7rem;line-height:1.2}
table{border-collapse:collapse;width:100%;font-size:.95rem}th,td{text-align:left;padding:.35rem .6rem;
border-bottom:1px solid var(--line);vertical-align:top}td.n,th.n{text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums}
svg{width:100%;height:auto;display:block}.way{line-height:2}.way span{border:1px solid var(--line);
border-radius:.4rem;padding:.1rem .45rem;white-space:nowrap}
.bar{background:var(--pale);height:.7rem;border-radius:.2rem;min-width:6rem;margin-top:.4rem}
.bar i{display:block;background:var(--blue);height:100%;border-radius:.2rem}.bad{color:var(--red)}
code{font-size:.88em;overflow-wrap:anywhere}
"""
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 900, 260, 56, 34


class SimulationData(Protocol):
    """What the page of a simulation shows; the report that has it makes the page."""

    name: str
    language: str
    version: int | None
    run: str | None
    status: str | None
    elapsed_ms: int
    simulated_at: int
    dry_run: DryRun | None
    monte_carlo: MonteCarlo | None
    missing: list[MissingReference]


class ReplayData(Protocol):
    """What the page of a replay shows. A difference has run, status, path_removed, path_added and result_changed."""

    name: str
    version: int
    against: int
    runs: int
    same: int
    different: int
    unknown: int
    skipped: int
    unanswered: list[str]
    not_comparable: list[str]

    @property
    def differences(self) -> Sequence[Any]: ...


def report_page(report: SimulationData, locale: str = "en", replay: ReplayData | None = None) -> str:
    """With a replay, what real runs would have done on it stands below."""
    return _Page(locale).simulation(report, replay)


def replay_page(report: ReplayData, locale: str = "en") -> str:
    return _Page(locale).replay(report)


class _Page:
    def __init__(self, locale: str) -> None:
        self.locale, self.words = "ko" if locale.startswith("ko") else "en", words_of(locale)

    def say(self, name: str, **values: Any) -> str:
        return escape(self.words[name].format(**values))

    def time(self, ms: float) -> str:
        return duration_text(ms, self.locale)

    # -- simulation ----------------------------------------------------------------------------------------------------

    def simulation(self, report: SimulationData, replay: ReplayData | None) -> str:
        forecast, dry = report.monte_carlo, report.dry_run
        at = datetime.fromtimestamp(report.simulated_at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
        runs, version = forecast.runs if forecast is not None else 0, report.version or "–"
        parts = [
            f'<p class="soft">{self.say("subtitle", language=report.language, version=version, runs=runs, at=at)}</p>'
        ]
        if report.status is not None:
            took = self.time(report.elapsed_ms)
            parts.append(f"<p>{self.say('rest', run=report.run, status=report.status, elapsed=took)}</p>")
        if forecast is not None:
            parts += self._forecast(forecast)
        if dry is not None:
            parts += self._dry_run(dry)
        if report.missing:
            rows = [[escape(each.node), escape(each.message), escape(each.hint)] for each in report.missing]
            parts.append(_table([self.say("node"), self.say("missing"), ""], rows, ()))
        if forecast is not None:
            parts += self._assumptions(forecast)
        if replay is not None:
            parts += [f"<h2>{escape(self._replay_title(replay))}</h2>", *self._replayed(replay)]
        parts.append(f'<p class="soft">{self.say("no_effect")}</p>')
        return self._whole(self.words["title"].format(name=report.name), parts)

    def _forecast(self, forecast: MonteCarlo) -> list[str]:
        took, due = forecast.duration_ms, forecast.due
        parts, numbers = [], []
        if due is not None:
            low, high = f"{due.low:.1%}", f"{due.high:.1%}"
            lead = self.say("headline_due", odds=f"{due.odds:.1%}", limit=self.time(due.limit_ms), low=low, high=high)
            parts.append(f'<p class="lead">{lead}</p>')
            numbers.append((f"{due.odds:.0%}", self.say("in_time")))
        if took is not None:
            lead = self.say("headline", p50=self.time(took.p50), p90=self.time(took.p90))
            parts.append(f'<p class="lead">{lead}</p>')
            numbers += [(self.time(took.p50), self.say("p50")), (self.time(took.p90), self.say("p90"))]
        completed = sum(each.share for each in forecast.outcomes if each.status == "COMPLETED")
        numbers.append((f"{completed:.0%}", self.say("completed")))
        boxes = "".join(f"<div><b>{escape(number)}</b>{word}</div>" for number, word in numbers)
        parts.append(f'<div class="numbers">{boxes}</div>')
        parts += [f"<h2>{self.say('durations')}</h2>", self._histogram(forecast)]
        parts += self._outcomes(forecast)
        parts += self._nodes(forecast)
        parts += self._loads(forecast)
        parts += self._paths(forecast)
        return parts

    def _histogram(self, forecast: MonteCarlo) -> str:
        """Every bar is equally wide on the page, whatever time it stands for: the axis says which."""
        bars, due = forecast.histogram, forecast.due
        if not bars:
            return ""
        most, wide = max(bar.count for bar in bars), (_WIDTH - _LEFT - 10) / len(bars)
        height, base = _HEIGHT - _BOTTOM - 14, _HEIGHT - _BOTTOM
        shapes = []
        for i, bar in enumerate(bars):
            tall = bar.count / most * height
            late = due is not None and bar.from_ms >= due.limit_ms
            share = f"{self.time(bar.from_ms)} – {self.time(bar.to_ms)}: {bar.count / forecast.runs:.1%}"
            shapes.append(
                f'<rect x="{_LEFT + i * wide:.1f}" y="{base - tall:.1f}" width="{wide - 1.5:.1f}" height="{tall:.1f}" '
                f'fill="var({"--amber" if late else "--blue"})"><title>{escape(share)}</title></rect>'
            )
        if due is not None:
            shapes.append(self._due_line(bars, due.limit_ms, wide, base))
        ticks = range(0, len(bars), max(len(bars) // 5, 1))
        shapes += [_label(_LEFT + i * wide, _HEIGHT - 12, "middle", self.time(bars[i].from_ms)) for i in ticks]
        shapes.append(_label(_LEFT - 6, 24, "end", f"{most / forecast.runs:.0%}"))
        shapes.append(f'<line x1="{_LEFT}" y1="{base}" x2="{_WIDTH - 10}" y2="{base}" stroke="var(--line)"/>')
        label = f"{self.words['durations']}: {self.words['share_of_runs']}"
        return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>'

    def _due_line(self, bars: list[Bar], limit: int, wide: float, base: int) -> str:
        """Within the bar that the due time lies in; before the first or behind the last one at the edge."""
        x = _LEFT + wide * sum(min(max((limit - b.from_ms) / max(b.to_ms - b.from_ms, 1), 0), 1) for b in bars)
        anchor = "end" if x > _WIDTH * 0.8 else "start"
        text = _label(
            x + (-6 if anchor == "end" else 6), 12, anchor, f"{self.words['due']} {self.time(limit)}", "--red"
        )
        line = f'<line x1="{x:.1f}" y1="2" x2="{x:.1f}" y2="{base}" stroke="var(--red)" stroke-width="2"'
        return f'{line} stroke-dasharray="6 4"/>{text}'

    def _outcomes(self, forecast: MonteCarlo) -> list[str]:
        if len(forecast.outcomes) < 2 and not forecast.failures:
            return []
        codes = ", ".join(f"{code} {count / forecast.runs:.1%}" for code, count in forecast.failures.items())
        rows = [[escape(each.status), _bar(each.share), f"{each.share:.1%}"] for each in forecast.outcomes]
        parts = [f"<h2>{self.say('outcomes')}</h2>", _table(["", "", self.say("share_of_runs")], rows, (2,))]
        return [*parts, f'<p class="soft">{escape(codes)}</p>'] if codes else parts

    def _nodes(self, forecast: MonteCarlo) -> list[str]:
        rows = []
        for node in sorted(forecast.nodes, key=lambda each: -each.time_share):
            if not node.time_share:
                continue
            source = self._source(node.source, node.samples)
            label = escape(node.label) + (
                "" if node.label == node.id else f' <code class="soft">{escape(node.id)}</code>'
            )
            rows.append(
                [label, _bar(node.time_share), f"{node.time_share:.1%}", f"{node.reached_share:.0%}",
                 self.time(node.duration_p50_ms), self.time(node.duration_p90_ms), source]
            )  # fmt: skip
        if not rows:
            return []
        names = ("node", "", "share", "reached", "middle", "p90_short", "source")
        heads = [self.say(name) if name else "" for name in names]
        note = f'<p class="soft">{self.say("time_note")}</p>'
        return [f"<h2>{self.say('time')}</h2>", note, _table(heads, rows, (2, 3, 4, 5))]

    def _source(self, source: str | None, samples: int) -> str:
        word = self.words.get("from_history" if source == "history" else source or "", "")
        return escape(f"{word} ({samples})" if source == "history" else word)

    def _loads(self, forecast: MonteCarlo) -> list[str]:
        if not forecast.roles:
            return []
        most = max(load.items_per_run for load in forecast.roles) or 1
        rows = [
            [escape(load.role) or self.say("nobody"), _bar(load.items_per_run / most), f"{load.items_per_run:.2f}",
             "–" if load.items_per_day is None else f"{load.items_per_day:.1f}", self.time(load.open_ms_p50),
             self.time(load.open_ms_p90)]
            for load in forecast.roles
        ]  # fmt: skip
        heads = [self.say(name) if name else "" for name in ("role", "", "items", "per_day", "open", "open90")]
        return [f"<h2>{self.say('loads')}</h2>", _table(heads, rows, (2, 3, 4, 5))]

    def _paths(self, forecast: MonteCarlo) -> list[str]:
        rows = []
        for path in forecast.paths[:5]:
            way = " → ".join(f"<span>{escape(label)}</span>" for label in path.labels[:40])
            rows.append([f"{path.share:.1%}", f'<div class="way">{way}</div>', self.time(path.duration_p50_ms)])
        heads = [self.say("share_of_runs"), self.say("paths"), self.say("middle")]
        return [f"<h2>{self.say('paths')}</h2>", _table(heads, rows, (0, 2))] if rows else []

    def _dry_run(self, dry: DryRun) -> list[str]:
        verdict = self.say("dry_ok") if not dry.unresolved else self.say("dry_bad", count=len(dry.unresolved))
        state = "" if not dry.unresolved else ' class="bad"'
        counted = self.say("expressions", count=len(dry.expressions), variations=dry.variations)
        parts = [f"<h2>{self.say('dry_run')}</h2>", f"<p{state}>{verdict}</p>", f"<p>{counted}</p>"]
        refused = [f"{self.say(kind)} {count}" for kind, count in dry.refused.items() if count]
        parts.append(f"<p>{self.say('refused')}: {', '.join(refused) or self.say('refused_none')}</p>")
        if dry.unreached:
            parts.append(f"<p>{self.say('unreached')}: {escape(', '.join(dry.unreached))}</p>")
        if dry.unresolved:
            rows = [
                [escape(each.node), f"<code>{escape(each.text)}</code>", escape(f"{each.code}: {each.message}")]
                for each in dry.unresolved
            ]
            parts.append(_table([self.say("node"), self.say("unresolved"), ""], rows, ()))
        return parts

    def _assumptions(self, forecast: MonteCarlo) -> list[str]:
        history = forecast.history.runs
        known = self.say("history", runs=history) if history else self.say("no_history")
        parts = [f"<h2>{self.say('assumptions')}</h2>", f"<p>{known} {self.say('scope')}</p>"]
        if not forecast.assumptions:
            return [*parts, f"<p>{self.say('assumed_none')}</p>"]
        rows = [[escape(str(row["label"])), self._assumption(row)] for row in forecast.assumptions]
        return [*parts, _table([self.say("node"), self.say("assumed")], rows, ())]

    def _assumption(self, row: Mapping[str, Any]) -> str:
        if row["what"] == "rollout":
            return self.say("rollout")
        middle = self.time(row["middle_ms"])
        if row["what"] == "effect":
            return self.say("effect", executor=row["executor"], middle=middle)
        text = self.say(row["what"], middle=middle)
        return text + self.say("approved", share=f"{row['approved_share']:.0%}") if "approved_share" in row else text

    # -- replay --------------------------------------------------------------------------------------------------------

    def replay(self, report: ReplayData) -> str:
        note = [f'<p class="soft">{self.say("no_effect")}</p>'] if report.runs else []
        return self._whole(self._replay_title(report), [*self._replayed(report), *note])

    def _replay_title(self, report: ReplayData) -> str:
        return self.words["replay_title"].format(name=report.name, version=report.version, against=report.against)

    def _replayed(self, report: ReplayData) -> list[str]:
        if not report.runs:
            return [f'<p class="lead">{self.say("replay_none", against=report.against)}</p>']
        lead = self.say("replay_headline", same=report.same, runs=report.runs)
        numbers = [(report.same, "same"), (report.different, "different"), (report.skipped, "skipped")]
        if report.unknown:
            numbers.insert(2, (report.unknown, "unknown"))
        boxes = "".join(f"<div><b>{number}</b>{self.say(word)}</div>" for number, word in numbers)
        parts = [f'<p class="lead">{lead}</p>', f'<div class="numbers">{boxes}</div>']
        for word, nodes in (("unanswered", report.unanswered), ("not_comparable", report.not_comparable)):
            if nodes:
                parts.append(f"<p>{self.say(word)}: {escape(', '.join(nodes))}</p>")
        rows = [
            [f"<code>{escape(each.run)}</code>", escape(f"{each.status['was']} → {each.status['now']}"),
             escape(", ".join(each.path_removed)), escape(", ".join(each.path_added)),
             escape(", ".join(each.result_changed))]
            for each in report.differences
        ]  # fmt: skip
        if rows:
            heads = ["", *(self.say(name) for name in ("status", "removed", "added", "result"))]
            parts += [f"<h2>{self.say('different')}</h2>", _table(heads, rows, ())]
        return parts

    def _whole(self, title: str, parts: Iterable[str]) -> str:
        head = (
            f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        )
        body = "\n".join(parts)
        return (
            f'<!doctype html>\n<html lang="{self.locale}"><head>{head}<style>{_STYLE}</style></head>\n'
            f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
        )


def _label(x: float, y: float, anchor: str, text: str, colour: str = "--soft") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="13" fill="var({colour})">{escape(text)}</text>'


def _bar(share: float) -> str:
    return f'<div class="bar"><i style="width:{min(max(share, 0.0), 1.0) * 100:.1f}%"></i></div>'


def _table(heads: list[str], rows: list[list[str]], numbers: tuple[int, ...]) -> str:
    """Cells are markup; `numbers` are the columns that stand to the right."""
    kinds = ["n" if i in numbers else "t" for i in range(len(heads))]
    head = "".join(f'<th class="{kind}">{text}</th>' for kind, text in zip(kinds, heads, strict=True))
    body = ""
    for row in rows:
        cells = "".join(f'<td class="{kind}">{cell}</td>' for kind, cell in zip(kinds, row, strict=True))
        body += f"<tr>{cells}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
