"""The report as one HTML page: it loads nothing, runs no scripts, and prints on A4."""

from __future__ import annotations

from html import escape

from penstock.executors.parts.reports.facts import Facts, Metric
from penstock.executors.parts.reports.svg import dumbbells, intervals

_RANK = {"unknown": 0, "normal": 1, "warning": 2, "critical": 3}
_STYLE = """
:root{--ink:#16202e;--soft:#5b6778;--line:#dde3ea;--paper:#fff;--ground:#f4f6f9;--blue:#2f6fed;--good:#1a7f4b;
--bad:#c2342d;--warn:#a8660b;--good-bg:#e7f5ee;--bad-bg:#fcebea;--warn-bg:#fdf3e1;--plain-bg:#eef1f5}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);line-height:1.55;font-size:15px;
font-family:"Penstock Sans KR","Pretendard","Apple SD Gothic Neo","Malgun Gothic","Noto Sans KR",system-ui,sans-serif}
main{max-width:860px;margin:32px auto;background:var(--paper);border:1px solid var(--line);border-radius:14px;
padding:40px 44px}
header p{margin:0;color:var(--soft)}h1{font-size:27px;line-height:1.3;margin:2px 0 6px}
h2{font-size:18px;margin:38px 0 4px}.note{color:var(--soft);margin:0 0 12px;font-size:13.5px}
.versions b{color:var(--ink)}.verdict{margin:26px 0 0;padding:20px 24px;border-radius:10px;border-left:6px solid}
.verdict strong{display:block;font-size:22px;margin-bottom:4px}.verdict p{margin:2px 0}
.good{background:var(--good-bg);border-color:var(--good)}.good strong{color:var(--good)}
.bad{background:var(--bad-bg);border-color:var(--bad)}.bad strong{color:var(--bad)}
.warn{background:var(--warn-bg);border-color:var(--warn)}.warn strong{color:var(--warn)}
.plain{background:var(--plain-bg);border-color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(3,1fr);gap:14px;margin:18px 0 0;padding:0;list-style:none}
.tiles li{border:1px solid var(--line);border-radius:10px;padding:16px 18px}
.tiles span{color:var(--soft);font-size:13.5px}.tiles b{display:block;font-size:32px;line-height:1.25;
font-variant-numeric:tabular-nums}.tiles .is-good b{color:var(--good)}.tiles .is-bad b{color:var(--bad)}
table{border-collapse:collapse;width:100%;font-size:14px}th,td{padding:8px 10px;text-align:left;
border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}th{color:var(--soft);font-weight:600}
td.n,th.n{text-align:right}td.code{font-family:ui-monospace,monospace;font-size:12.5px;color:var(--soft);
overflow-wrap:anywhere}.matrix{width:auto;border-collapse:separate;border-spacing:5px}
.matrix th,.matrix td{border:0;padding:0 12px}
.matrix td{width:116px;height:58px;text-align:center;border-radius:8px;background:#f4f6f9;font-size:20px}
.matrix td.same{background:#e6eaf0}.matrix td.up{background:#fdf3e1;color:var(--warn);font-weight:700}
.matrix td.down{background:#e5eefe;color:#1d4fb8;font-weight:700}
.matrix td.miss{background:var(--bad-bg);color:var(--bad);font-weight:700}
.matrix td.zero{color:#b6bfcb;font-weight:400;background:#f8f9fb}.matrix th.n{text-align:center}
.scroll{overflow-x:auto}svg{max-width:100%;height:auto;display:block}dl{display:grid;grid-template-columns:150px 1fr;
gap:6px 18px;margin:8px 0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}ul.notes{padding-left:20px}
.better{color:var(--good)}.worse{color:var(--bad)}
@media(max-width:640px){main{padding:24px 18px;margin:0;border:0;border-radius:0}.tiles{grid-template-columns:1fr}
dl{grid-template-columns:1fr}dd{margin-bottom:8px}.matrix td{width:72px;padding:0}}
@media print{body{background:#fff}main{border:0;margin:0;padding:0;max-width:none}section{break-inside:avoid}}
"""


def html_report(result: dict[str, object], language: str) -> str:
    facts = Facts(result, language)
    name, (before, after) = str(facts.subject["artifact"]["name"]), facts.versions
    title = f"{facts.word('title')}: {name}"
    parts = [_verdict(facts), _tiles(facts)]
    if facts.drawn:
        parts += [_matrix(facts), _probabilities(facts)]
    parts += [_metrics(facts), _judgments(facts, "new_misses", "misses"), _judgments(facts, "changes", "changes")]
    parts += [_method(facts), _notes(facts)]
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f"<header><p>{escape(facts.word('title'))} · {escape(facts.word(str(result['mode'])))}</p>"
        f"<h1>{escape(name)}</h1><p class='versions'><code>{escape(facts.subject['artifact']['id'])}</code> "
        f"<b>{escape(before)}</b> → <b>{escape(after)}</b></p></header>{''.join(parts)}</main></body></html>"
    )


def _verdict(facts: Facts) -> str:
    head, reason, sentence = map(escape, facts.verdict)
    return f'<div class="verdict {facts.tone}"><strong>{head}</strong><p>{reason}</p><p>{sentence}</p></div>'


def _tiles(facts: Facts) -> str:
    tiles = "".join(
        f'<li class="is-{tile.tone}"><span>{escape(tile.label)}</span><b>{escape(tile.value)}</b>'
        f"<span>{escape(tile.note)}</span></li>"
        for tile in facts.tiles()
    )
    return f'<ul class="tiles">{tiles}</ul>'


def _matrix(facts: Facts) -> str:
    matrix = facts.matrix()
    if matrix is None:
        return ""
    names, counts = matrix
    head = "".join(f'<th class="n" scope="col">{escape(facts.word(name))}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">{escape(facts.word(name))}</th>'
        + "".join(
            f'<td class="{_cell(name, other, counts[i][j])}">{counts[i][j]:,}</td>' for j, other in enumerate(names)
        )
        + "</tr>"
        for i, name in enumerate(names)
    )
    before, after = facts.versions
    corner = f"{escape(facts.word('before'))} {escape(before)} ↓ · {escape(facts.word('after'))} {escape(after)} →"
    table = f'<table class="matrix"><tr><td style="all:unset"></td>{head}</tr>{rows}</table>'
    note = f"{escape(facts.word('matrix_note'))} {corner}"
    return _section(facts, "matrix", f'<p class="note">{note}</p><div class="scroll">{table}</div>')


def _cell(before: str, after: str, count: int) -> str:
    if before == after:
        return "same"
    if not count:
        return "zero"
    if after == "normal":
        return "miss"
    return "up" if _RANK[after] > _RANK[before] else "down"


def _metrics(facts: Facts) -> str:
    metrics = facts.metrics()
    if not metrics:
        return ""
    shares = [metric for metric in metrics if metric.is_share and metric.simulated is not None]
    drawing = ""
    if facts.drawn and shares:
        drawing = f'<p class="note">{escape(facts.word("metrics_note"))}</p>{dumbbells(shares, facts)}'
    before, after = facts.versions
    head = "".join(
        f'<th class="n">{escape(text)}</th>'
        for text in (
            facts.word("baseline", version=before), facts.word("candidate", version=after), facts.word("difference")
        )
    )  # fmt: skip
    rows = "".join(_metric_row(metric) for metric in metrics)
    table = f"<table><tr><th>{escape(facts.word('metric'))}</th>{head}</tr>{rows}</table>"
    return _section(facts, "metrics", f'{drawing}<div class="scroll">{table}</div>')


def _metric_row(metric: Metric) -> str:
    tone = {True: " better", False: " worse"}.get(metric.better, "") if metric.is_share else ""  # type: ignore[arg-type]
    return (
        f"<tr><td>{escape(metric.label)}</td><td class='n'>{escape(metric.text(metric.baseline))}</td>"
        f"<td class='n'>{escape(metric.text(metric.simulated))}</td>"
        f"<td class='n{tone}'>{escape(metric.difference)}</td></tr>"
    )


def _probabilities(facts: Facts) -> str:
    shares = facts.probabilities()
    return _section(facts, "shares", intervals(shares)) if shares else ""


def _judgments(facts: Facts, name: str, title: str) -> str:
    rows, more = facts.judgments(name)
    if not rows:
        return _section(facts, title, f"<p>{escape(facts.word('no_misses'))}</p>") if title == "misses" else ""
    head = "".join(f"<th>{escape(text)}</th>" for text in facts.judgment_columns())
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=code' if i == 6 else ''}>{escape(text)}</td>" for i, text in enumerate(row))
        + "</tr>"
        for row in rows
    )
    rest = f'<p class="note">{escape(facts.word("more", count=f"{more:,}"))}</p>' if more else ""
    return _section(facts, title, f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>{rest}')


def _method(facts: Facts) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.method())
    return _section(facts, "method", f"<dl>{rows}</dl>")


def _notes(facts: Facts) -> str:
    notes = facts.notes()
    if not notes:
        return ""
    return _section(facts, "notes", f'<ul class="notes">{"".join(f"<li>{escape(text)}</li>" for text in notes)}</ul>')


def _section(facts: Facts, title: str, body: str) -> str:
    return f"<section><h2>{escape(facts.word(title))}</h2>{body}</section>"
