/** Dead letters of all languages, by cause: look at a sample, try one again, then all of a cause. */
import "./letters.css";
import { Clock3, Download, Search } from "lucide-react";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import type { FailedCauses } from "../api/types";
import { Button, Card, Empty, Failed, Skeleton } from "../components";
import { languageOf } from "../languages";
import { BatchStrip } from "../runs/Batches";
import { download } from "../runs/csv";
import { useFrame } from "../shell/chrome";
import { useKeys } from "../shell/keys";
import { setSearch, useParam } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useNow, useWords } from "../words";
import { Rich } from "../words/rich";
import { Bulk } from "./Bulk";
import { CauseRow } from "./CauseRow";
import { ofRuns, type LetterCause } from "./causes";
import { useMessageCauses } from "./messageCauses";
import { rememberTried, triedBefore } from "./tried";

const ORDERS = ["many", "new"] as const;

export default function LettersPage(): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  useFrame([{ text: t.nav.manage, to: "/ops" }, { text: t.nav.letters }]);
  return may(me, "ops.read") ? <Letters /> : <Empty page title={t.error.forbidden("ops.read")} />;
}

function Letters(): ReactNode {
  const { t, f } = useWords();
  const l = t.letters;
  const { me } = useSession();
  const now = useNow(60_000);
  const answer = useGet<FailedCauses>("/dead-letters");
  const data = useLast(answer.data);
  const messages = useMessageCauses();
  const [kind, setKind] = useParam("kind");
  const [text, setText] = useParam("q");
  const [order, setOrder] = useParam("order");
  const [open, setOpen] = useParam("cause");
  const box = useRef<HTMLInputElement>(null);
  const [tried, setTried] = useState<ReadonlySet<string>>(triedBefore);
  const onTried = (id: string) => setTried((before) => { const all = new Set([...before, id]); rememberTried(all); return all; });
  const all = useMemo(() => [...(data ? ofRuns(data) : []), ...messages], [data, messages]);
  const shown = all
    .filter((cause) => (!kind || cause.language === kind) && (!text || `${cause.message} ${cause.code} ${cause.where.map(({ name }) => name).join(" ")}`.toLowerCase().includes(text.toLowerCase())))
    .sort((a, b) => (order === "new" ? b.lastAt.localeCompare(a.lastAt) : b.count - a.count));
  const picked = shown.find((cause) => cause.id === open) ?? null;
  const move = (by: number) => {
    const at = shown.findIndex((cause) => cause.id === open);
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next) setOpen(next.id);
  };
  useKeys({ "/": () => box.current?.focus(), j: () => move(1), k: () => move(-1), Escape: () => setOpen(null) });
  if (!data) return answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={48} w="50%" /><Skeleton h={52} n={5} /></div>;
  const total = data.total + messages.reduce((sum, cause) => sum + cause.count, 0);
  const most = [...all].sort((a, b) => b.count - a.count)[0];
  const languages = [...new Set(all.map((cause) => cause.language))];
  return (
    <div className="letters">
      <div className="home-head">
        <div className="grow">
          <h1>{total === 0 ? l.none : <Rich text={l.headline(f.number(total), f.number(all.length))} />}</h1>
          <p className="dim">{total === 0 ? l.noneDo : most && all.length > 1 ? l.most(f.number((100 * most.count) / total), most.message || most.code) : l.about}</p>
        </div>
        <span className="home-clock"><Clock3 size={14} aria-hidden />{f.dayTime(now)} <span className="dim">{f.zoneName()}</span></span>
        <Button icon={Download} disabled={all.length === 0} onClick={() => download(csvOf(all), "dead-letters.csv")}>{t.runs.csv}</Button>
      </div>
      <BatchStrip steer={may(me, "run.steer")} />
      {all.length > 0 && (
        <div className={`letters-grid ${picked ? "letters-two" : ""}`}>
          <Card className="letters-list" label={l.causes}>
            <div className="letters-filters">
              <label className="letters-find"><Search size={15} aria-hidden /><span className="sr">{l.find}</span><input ref={box} type="search" value={text ?? ""} placeholder={l.find} onChange={(event) => setText(event.target.value || null)} /><kbd className="kbd">/</kbd></label>
              <div className="letters-kinds" role="group" aria-label={t.runs.language}>
                <button type="button" className="chip" aria-pressed={!kind} onClick={() => setKind(null)}>{t.common.all} <b>{f.number(all.length)}</b></button>
                {languages.length > 1 && languages.map((name) => <button key={name} type="button" className="chip" aria-pressed={kind === name} onClick={() => setKind(kind === name ? null : name)}>{t.language[name] ?? name} <b>{f.number(all.filter((cause) => cause.language === name).length)}</b></button>)}
              </div>
              <select className="input" aria-label={t.runs.sort} value={order === "new" ? "new" : "many"} onChange={(event) => setOrder(event.target.value === "new" ? "new" : null)}>{ORDERS.map((each) => <option key={each} value={each}>{l.orders[each]}</option>)}</select>
            </div>
            <div className="letters-head" aria-hidden><span>{l.columns.cause}</span><span>{l.columns.where}</span><span>{l.columns.when}</span><span className="num">{l.columns.count}</span><span /></div>
            <ul>{shown.map((cause) => <CauseRow key={cause.id} cause={cause} axis={data} total={total} open={cause.id === open} icon={languageOf(cause.language).icon} onOpen={() => setOpen(cause.id === open ? null : cause.id)} onTried={() => onTried(cause.id)} />)}</ul>
            {shown.length === 0 && <Empty title={l.noneMatch}><Button onClick={() => setSearch({ q: null, kind: null })}>{t.runs.clear}</Button></Empty>}
            <p className="letters-foot dim">{l.keptDays(data.kept_days)}<span className="letters-keys"><kbd className="kbd">J</kbd><kbd className="kbd">K</kbd> {t.inbox.keys.move}</span></p>
          </Card>
          {picked && <Bulk key={picked.id} cause={picked} tried={tried.has(picked.id)} keptDays={data.kept_days} onClose={() => setOpen(null)} />}
        </div>
      )}
    </div>
  );
}

function csvOf(causes: LetterCause[]): string {
  const cell = (value: string | number): string => { const text = /^[=+\-@\t\r]/.test(String(value)) ? `'${value}` : String(value); return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
  const lines = causes.map((cause) => [cause.language, cause.where.map(({ name }) => name).join(" "), cause.code, cause.message, cause.count, cause.firstAt, cause.lastAt].map(cell).join(","));
  return `\ufeff${["language", "where", "code", "message", "count", "first", "last"].join(",")}\r\n${lines.map((line) => `${line}\r\n`).join("")}`;
}
