/** A histogram of the last 24 hours; dragging over it sets the time filter. */
import { X } from "lucide-react";
import { useState, type PointerEvent, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Home } from "../api/types";
import { Button } from "../components";
import { setSearch } from "../shell/router";
import { useWords } from "../words";

const HOUR = 3_600_000;
const HEIGHT = 30;

export function Brush({ search }: { search: URLSearchParams }): ReactNode {
  const { t, f } = useWords();
  const { data } = useGet<Home>("/home?scope=mine"); // the sidebar has it already
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const hours = data?.hours ?? [];
  const most = Math.max(1, ...hours.map((hour) => hour.done + hour.held + hour.failed));
  const since = Date.parse(search.get("since") ?? "");
  const until = Date.parse(search.get("until") ?? "");
  const chosen = !Number.isNaN(since) || !Number.isNaN(until);
  const inside = (i: number, at: string) => drag ? i >= Math.min(...drag) && i <= Math.max(...drag)
    : !chosen || (!(Date.parse(at) < since) && !(Date.parse(at) >= until));
  const hit = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(hours.length - 1, Math.floor(((event.clientX - box.left) / box.width) * hours.length)));
  };
  const done = () => {
    if (!drag) return;
    const [from, to] = [hours[Math.min(...drag)], hours[Math.max(...drag)]];
    setDrag(null);
    if (from && to) setSearch({ last: null, since: new Date(from.at).toISOString(), until: new Date(Date.parse(to.at) + HOUR).toISOString() });
  };
  return (
    <div className="brush">
      <span className="dim brush-end">{hours[0] && f.clock(hours[0].at)}</span>
      <div className="brush-bars" role="img" aria-label={t.runs.brush} title={t.runs.brush}
        onPointerDown={(event) => { event.currentTarget.setPointerCapture(event.pointerId); const i = hit(event); setDrag([i, i]); }}
        onPointerMove={(event) => drag && setDrag([drag[0], hit(event)])} onPointerUp={done} onPointerCancel={() => setDrag(null)}>
        {hours.map((hour, i) => (
          <span key={hour.at} className={inside(i, hour.at) ? "" : "brush-out"} title={`${f.clock(hour.at)} · ${t.home.done} ${hour.done} · ${t.home.held} ${hour.held} · ${t.home.failedWord} ${hour.failed}`}>
            {(["failed", "held", "done"] as const).map((kind) => hour[kind] > 0 && <i key={kind} className={`hour-${kind}`} style={{ height: Math.max(2, (hour[kind] / most) * HEIGHT) }} />)}
          </span>
        ))}
      </div>
      <span className="dim brush-end">{t.run.now}</span>
      {chosen && <Button look="quiet" icon={X} onClick={() => setSearch({ since: null, until: null })}>{t.runs.wholeDay}</Button>}
    </div>
  );
}
