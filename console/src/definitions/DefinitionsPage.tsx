/** All definitions by language: the active and the newest version, open runs, the last change; and the way to a new one. */
import "../run/run.css";
import "./definitions.css";
import { FilePlus2, Hourglass, Search } from "lucide-react";
import { Suspense, useMemo, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Definition, Page } from "../api/types";
import { Ago, Empty, Failed, Skeleton, Tag } from "../components";
import { byLanguage, LANGUAGES } from "../languages";
import { useFrame } from "../shell/chrome";
import { useKeys } from "../shell/keys";
import { Link, useParam, useSearch } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { Editor } from "./Editor";
import { definitionPath } from "./requests";
import { StatusBadge } from "./StatusBadge";

const DRAFTS = LANGUAGES.flatMap((language) => language.drafts ?? []);

export default function DefinitionsPage(): ReactNode {
  const search = useSearch();
  return search.has("new") ? <Editor key={search.get("new")} from={search.get("new") || null} /> : <DefinitionList />;
}

function DefinitionList(): ReactNode {
  const { t, f } = useWords();
  const d = t.definitions;
  const { me } = useSession();
  useFrame([{ text: t.nav.definitions }]);
  const [q, setQ] = useParam("q");
  const [language, setLanguage] = useParam("language");
  const answer = useGet<Page<Definition>>("/definitions?limit=200");
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".defs-find input")?.focus() });
  const all = answer.data?.items;
  const tags = useTags(all);
  const languages = useMemo(() => [...new Set(all?.map((definition) => definition.language))].sort(byLanguage), [all]);
  const shown = (all ?? []).filter((definition) => (!language || definition.language === language) && (!q || `${definition.title} ${definition.name}`.toLowerCase().includes(q.toLowerCase())));
  const waiting = shown.filter((definition) => definition.status === "pending_approval");
  const tagOf = (definition: Definition) => { const tag = tags.get(definition.name); return tag && <Tag>{tag}</Tag>; };
  return (
    <div className="pad defs">
      <header className="defs-head">
        <h1 className="grow">{t.nav.definitions}</h1>
        <label className="defs-find"><Search size={15} aria-hidden /><input className="input" type="search" aria-label={d.find} placeholder={d.find} value={q ?? ""} onChange={(event) => setQ(event.target.value || null)} /></label>
        <select className="input defs-language" aria-label={t.runs.language} value={language ?? ""} onChange={(event) => setLanguage(event.target.value || null)}>
          <option value="">{t.runs.any}</option>
          {languages.map((name) => <option key={name} value={name}>{t.language[name] ?? name}</option>)}
        </select>
        {may(me, "definition.write") && <Suspense fallback={null}>{DRAFTS.map(({ path, Import }) => <Import key={path} />)}</Suspense>}
        {may(me, "definition.write") && <Link className="btn btn-primary" to="/definitions?new="><FilePlus2 size={15} aria-hidden />{d.newOne}</Link>}
      </header>
      <Suspense fallback={null}>{DRAFTS.map(({ path, List }) => <List key={path} />)}</Suspense>
      {!all ? (answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <Skeleton h={44} n={6} />)
        : shown.length === 0 ? <Empty title={all.length ? d.noneFound : d.none} text={all.length ? undefined : d.noneDo} />
        : <>
        {waiting.length > 0 && (
          <section className="card defs-waiting" aria-label={d.pendingN(waiting.length)}>
            <div className="card-head"><Hourglass size={16} aria-hidden /><h2>{d.pendingN(waiting.length)}</h2></div>
            <ul>{waiting.map((definition) => <li key={definition.name}><Link to={definitionPath(definition.name, definition.newest)}><span className="grow"><b>{definition.title}</b> <span className="dim mono">{definition.name}</span></span>{tagOf(definition)}<span className="dim"><Ago time={definition.updated_at} /></span></Link></li>)}</ul>
          </section>
        )}
        {languages.filter((name) => shown.some((definition) => definition.language === name)).map((name) => (
          <section key={name} className="card defs-group" aria-label={t.language[name] ?? name}>
            <div className="card-head"><h2>{t.language[name] ?? name}</h2><span className="dim">{f.number(shown.filter((definition) => definition.language === name).length)}</span></div>
            <table>
              <thead><tr><th scope="col">{d.columns.name}</th><th scope="col">{d.columns.version}</th><th scope="col">{d.columns.status}</th><th scope="col" className="num">{d.columns.open}</th><th scope="col" className="num">{d.columns.changed}</th></tr></thead>
              <tbody>
                {shown.filter((definition) => definition.language === name).map((definition) => (
                  <tr key={definition.name}>
                    <td><Link to={definitionPath(definition.name)}><b>{definition.title}</b><span className="dim mono">{definition.name}</span></Link>{tagOf(definition)}</td>
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

/** Words beside the names, from every language that has definitions and brings such words. */
function useTags(all: Definition[] | undefined): Map<string, string> {
  const { t } = useWords();
  // one hook per line of a table that never changes
  const tags = LANGUAGES.map(({ name, document }) => {
    const wanted = document?.tags && all?.some((definition) => definition.language === name) ? document.tags : null;
    const { data } = useGet<unknown>(wanted && wanted.path);
    return wanted && data !== undefined ? [...wanted.read(data, t)] : [];
  });
  return new Map(tags.flat());
}
