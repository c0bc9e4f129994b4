/** Every definition by its language: what is in force, what is on its way, what runs, when it changed; and the way to a new one. */
import "../run/run.css";
import "./definitions.css";
import { FilePlus2, Hourglass, Search } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Definition, Page, ProcessLine } from "../api/types";
import { Ago, Empty, Failed, Skeleton, Tag } from "../parts";
import { useFrame } from "../shell/chrome";
import { useKeys } from "../shell/keys";
import { Link, useParam, useSearch } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { Editor } from "./Editor";
import { definitionPath } from "./sending";
import { StatusBadge } from "./Status";

const ORDER = ["process", "decision", "diagram", "pipeline", "plan"];

export default function DefinitionsPage(): ReactNode {
  const search = useSearch();
  return search.has("new") ? <Editor key={search.get("new")} from={search.get("new") || null} /> : <Shelf />;
}

function Shelf(): ReactNode {
  const { t, f } = useWords();
  const d = t.definitions;
  const { me } = useSession();
  useFrame([{ text: t.nav.definitions }]);
  const [q, setQ] = useParam("q");
  const [language, setLanguage] = useParam("language");
  const answer = useGet<Page<Definition>>("/definitions?limit=200");
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".defs-find input")?.focus() });
  const all = answer.data?.items;
  const processes = useGet<Page<ProcessLine>>(all?.some((one) => one.language === "process") ? "/processes/definitions?limit=200" : null).data?.items;
  const typeOf = (name: string) => processes?.find((one) => one.id === name)?.type ?? "base";
  const languages = useMemo(() => [...new Set(all?.map((one) => one.language))].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)), [all]);
  const shown = (all ?? []).filter((one) => (!language || one.language === language) && (!q || `${one.title} ${one.name}`.toLowerCase().includes(q.toLowerCase())));
  const waiting = shown.filter((one) => one.status === "pending_approval");
  return (
    <div className="pad defs">
      <header className="defs-head">
        <h1 className="grow">{t.nav.definitions}</h1>
        <label className="defs-find"><Search size={15} aria-hidden /><input className="input" type="search" aria-label={d.find} placeholder={d.find} value={q ?? ""} onChange={(event) => setQ(event.target.value || null)} /></label>
        <select className="input defs-language" aria-label={t.runs.language} value={language ?? ""} onChange={(event) => setLanguage(event.target.value || null)}>
          <option value="">{t.runs.any}</option>
          {languages.map((one) => <option key={one} value={one}>{t.language[one] ?? one}</option>)}
        </select>
        {may(me, "definition.write") && <Link className="btn btn-primary" to="/definitions?new="><FilePlus2 size={15} aria-hidden />{d.newOne}</Link>}
      </header>
      {!all ? (answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <Skeleton h={44} n={6} />)
        : shown.length === 0 ? <Empty title={all.length ? d.noneFound : d.none} text={all.length ? undefined : d.noneDo} />
        : <>
        {waiting.length > 0 && (
          <section className="card defs-waiting" aria-label={d.pendingN(waiting.length)}>
            <div className="card-head"><Hourglass size={16} aria-hidden /><h2>{d.pendingN(waiting.length)}</h2></div>
            <ul>{waiting.map((one) => <li key={one.name}><Link to={definitionPath(one.name, one.newest)}><span className="grow"><b>{one.title}</b> <span className="dim mono">{one.name}</span></span>{typeOf(one.name) !== "base" && <Tag>{d.types[typeOf(one.name)]}</Tag>}<span className="dim"><Ago time={one.updated_at} /></span></Link></li>)}</ul>
          </section>
        )}
        {languages.filter((one) => shown.some((definition) => definition.language === one)).map((one) => (
          <section key={one} className="card defs-group" aria-label={t.language[one] ?? one}>
            <div className="card-head"><h2>{t.language[one] ?? one}</h2><span className="dim">{f.number(shown.filter((definition) => definition.language === one).length)}</span></div>
            <table>
              <thead><tr><th scope="col">{d.columns.name}</th><th scope="col">{d.columns.version}</th><th scope="col">{d.columns.status}</th><th scope="col" className="num">{d.columns.open}</th><th scope="col" className="num">{d.columns.changed}</th></tr></thead>
              <tbody>
                {shown.filter((definition) => definition.language === one).map((definition) => (
                  <tr key={definition.name}>
                    <td><Link to={definitionPath(definition.name)}><b>{definition.title}</b><span className="dim mono">{definition.name}</span></Link>{one === "process" && typeOf(definition.name) !== "base" && <Tag>{d.types[typeOf(definition.name)]}</Tag>}</td>
                    <td><span className="mono">v{definition.active ?? definition.newest}</span>{definition.active !== null && definition.newest > definition.active && <Tag>{d.newer(definition.newest)}</Tag>}</td>
                    <td><StatusBadge status={definition.status} /></td>
                    <td className="num">{definition.open_runs > 0 ? <Link to={`/runs?name=${encodeURIComponent(definition.name)}`}>{f.number(definition.open_runs)}</Link> : "0"}</td>
                    <td className="num"><Ago time={definition.updated_at} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        ))}
        </>}
    </div>
  );
}
