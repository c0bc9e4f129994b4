/** The filter bar; the address keeps all filters. */
import { ArrowDownUp, ListFilter, Search, X } from "lucide-react";
import { useEffect, useState, type ReactNode, type RefObject } from "react";
import { Button } from "../components";
import { byLanguage } from "../languages";
import { go, setSearch, useTypedParam } from "../shell/router";
import { useWords } from "../words";
import { hasFilters, SORTS, STATES } from "./runsQuery";

const MORE = ["name", "version", "node", "code", "var", "language", "since", "until", "parent"];

export function Filters({ search, inputRef, children }: { search: URLSearchParams; inputRef: RefObject<HTMLInputElement | null>; children: ReactNode }): ReactNode {
  const { t, f, languages, stateWord } = useWords();
  const r = t.runs;
  const [text, setText] = useTypedParam("q");
  const [open, setOpen] = useState(() => MORE.some((name) => search.get(name)));
  const picked = new Set((search.get("state") ?? "").split(",").filter(Boolean));
  const toggle = (state: string) => {
    if (picked.has(state)) picked.delete(state);
    else picked.add(state);
    setSearch({ state: [...picked].join(",") || null });
  };
  const own = search.get("since") || search.get("until");
  const moment = (name: "since" | "until") => (value: string) => setSearch({ [name]: value ? f.fromField(value) : null, last: null });
  const options = [...languages].sort(byLanguage);
  const field = (name: "since" | "until") => (search.get(name) && !Number.isNaN(Date.parse(search.get(name) ?? "")) ? f.field(search.get(name) ?? "") : "");
  return (
    <div className="filters" role="search">
      <label className="filter-text"><Search size={15} aria-hidden /><span className="sr">{r.filter}</span><input ref={inputRef} value={text} placeholder={r.filter} title={r.filterMore} maxLength={200} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()} /><kbd className="kbd">/</kbd></label>
      <div className="chips" role="group" aria-label={r.status}>
        {STATES.map((state) => <button key={state} type="button" className="chip" aria-pressed={picked.has(state)} onClick={() => toggle(state)}>{stateWord(state)}</button>)}
      </div>
      <select className="input filter-select" aria-label={r.time} value={own ? "own" : (search.get("last") ?? "")} onChange={(event) => setSearch({ last: event.target.value || null, since: null, until: null })}>
        <option value="">{r.last.all}</option><option value="h1">{r.last.h1}</option><option value="h24">{r.last.h24}</option><option value="d7">{r.last.d7}</option>
        {own && <option value="own">{r.last.own}</option>}
      </select>
      <label className="filter-sort"><ArrowDownUp size={14} aria-hidden /><span className="sr">{r.sort}</span>
        <select className="input filter-select" value={search.get("sort") ?? ""} onChange={(event) => setSearch({ sort: event.target.value || null })}>
          {(Object.keys(SORTS) as (keyof typeof SORTS)[]).map((order) => <option key={order} value={SORTS[order]}>{r.sorts[order]}</option>)}
        </select>
      </label>
      <Button icon={ListFilter} aria-expanded={open} onClick={() => setOpen(!open)}>{r.moreFilters}</Button>
      <Only search={search} />
      {hasFilters(search) && <Button look="quiet" icon={X} onClick={() => { setText(""); go("/runs"); }}>{r.clear}</Button>}
      <span className="grow" />
      {children}
      {open && (
        <div className="filters-more">
          {([["name", r.definition], ["version", r.version], ["node", r.node], ["code", r.code], ["var", r.variable]] as const).map(([name, label]) => <DeferredField key={name} name={name} label={label} value={search.get(name) ?? ""} />)}
          <label><span className="label">{r.language}</span><select className="input" value={search.get("language") ?? ""} onChange={(event) => setSearch({ language: event.target.value || null })}><option value="">{r.any}</option>{options.map((name) => <option key={name} value={name}>{t.language[name] ?? name}</option>)}</select></label>
          {(["since", "until"] as const).map((name) => <DeferredField key={name} name={name} label={`${r[name]} (${f.zoneName()})`} value={field(name)} type="datetime-local" set={moment(name)} />)}
        </div>
      )}
    </div>
  );
}

/** Filters that a link has set, each with a button that takes it away. */
function Only({ search }: { search: URLSearchParams }): ReactNode {
  const { t, f } = useWords();
  const when = (name: string): string | null => { const at = search.get(name); return at && !Number.isNaN(Date.parse(at)) ? f.dayTime(at) : null; };
  const [ended, failed, node] = [when("ended"), when("node_failed"), search.get("failed_node")];
  const only: [string, string | null][] = [
    ["ended", ended && t.runs.only.ended(ended)], ["node_failed", failed && t.runs.only.node_failed(failed)],
    ["letter", search.get("letter") ? t.runs.only.letter : null], ["failed_node", node && t.runs.only.failed_node(node)],
  ];
  return only.map(([name, text]) => text && <button key={name} type="button" className="chip chip-only" aria-label={t.runs.drop(text)} onClick={() => setSearch({ [name]: null })}>{text}<X size={13} aria-hidden /></button>);
}

interface DeferredFieldProps {
  name: string;
  label: string;
  value: string;
  type?: string;
  set?: (value: string) => void;
}

/** A filter that is applied when it is left or Enter is pressed. */
function DeferredField({ name, label, value, type = "text", set = (text) => setSearch({ [name]: text || null }) }: DeferredFieldProps): ReactNode {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const apply = () => text !== value && set(text.trim());
  const kind = name === "version" ? { inputMode: "numeric", pattern: "[0-9]*" } as const : {};
  return <label><span className="label">{label}</span><input className="input" type={type} value={text} maxLength={200} placeholder={name === "var" ? "judgment.decision=critical" : ""} {...kind} onChange={(event) => setText(name === "version" ? event.target.value.replace(/\D/g, "").slice(0, 9) : event.target.value)} onBlur={apply} onKeyDown={(event) => event.key === "Enter" && apply()} /></label>;
}
