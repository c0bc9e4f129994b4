/** Rule packs with the version in force; and beside them FEEL expressions by themselves. */
import "./rules.css";
import { lazy, Suspense, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import type { PackSummary, Page } from "../api/types";
import { Ago, Badge, Button, Card, Copyable, Empty, Failed, Segment, Skeleton, Tag } from "../components";
import { useFrame } from "../shell/chrome";
import { go, Link, useParam, useTypedParam } from "../shell/router";
import { may, useSession } from "../shell/session";
import { Rich } from "../words/rich";
import { packPage, PACKS } from "./requests";
import { useRulesWords } from "./speech";

const FeelPanel = lazy(() => import("./FeelPanel"));
const COMMAND = "penstock registry put rule_pack quality_rules rules.yaml";

export default function RulesPage(): ReactNode {
  const { t } = useRulesWords();
  const { me } = useSession();
  const [tab, setTab] = useParam("tab");
  useFrame([{ text: t.nav.manage, to: "/ops" }, { text: tab === "feel" ? t.rules.tabs.feel : t.rules.title }]);
  if (!may(me, "registry.read")) return <Empty page title={t.error.forbidden("registry.read")} />;
  const shown = tab === "feel" ? "feel" : "packs";
  return (
    <div className="packs">
      <Segment label={t.rules.tabsLabel} value={shown} options={[{ id: "packs", text: t.rules.tabs.packs }, { id: "feel", text: t.rules.tabs.feel }]} onChange={(next) => setTab(next === "feel" ? "feel" : null)} />
      {shown === "feel" ? <Suspense fallback={<Skeleton h={220} n={2} />}><FeelPanel /></Suspense> : <Packs />}
    </div>
  );
}

function Packs(): ReactNode {
  const { t, f } = useRulesWords();
  const d = t.rules.list;
  const answer = useGet<Page<PackSummary>>(PACKS);
  const all = useLast(answer.data)?.items;
  const [text, setText] = useTypedParam("q");
  if (!all) return answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <><Skeleton h={48} w="50%" /><Skeleton h={52} n={4} /></>;
  const wanted = text.trim().toLowerCase();
  const shown = all.filter((pack) => `${pack.id} ${pack.name}`.toLowerCase().includes(wanted));
  return (
    <>
      <div><h1>{all.length ? <Rich text={d.some(f.number(all.length))} /> : d.none}</h1><p className="dim">{d.about}</p></div>
      {all.length === 0 ? <Card><Empty title={d.none} text={d.noneDo}><Copyable text={COMMAND} /></Empty></Card> : (
        <Card className="rules-list" label={t.rules.title}>
          <div className="rules-find"><input className="input" type="search" value={text} placeholder={d.find} aria-label={d.find} onChange={(event) => setText(event.target.value)} /></div>
          {shown.length === 0 ? <Empty title={d.noneMatch}><Button onClick={() => setText("")}>{t.runs.clear}</Button></Empty> : (
            <table className="rules-table">
              <thead><tr><th>{d.columns.pack}</th><th>{d.columns.force}</th><th className="wide">{d.columns.versions}</th><th className="num">{d.columns.rules}</th><th className="num wide">{d.columns.tests}</th><th className="wide">{d.columns.changed}</th></tr></thead>
              <tbody>{shown.map((pack) => <Row key={pack.id} pack={pack} />)}</tbody>
            </table>
          )}
        </Card>
      )}
    </>
  );
}

function Row({ pack }: { pack: PackSummary }): ReactNode {
  const { t, f } = useRulesWords();
  const used = pack.versions.find((version) => version.in_force) ?? pack.versions[0];
  const to = packPage(pack.id);
  return (
    <tr onClick={(event) => { if (!(event.target as Element).closest("a, button") && !event.metaKey && !event.ctrlKey) go(to); }}>
      <td><Link className="rules-name" to={to}>{pack.name}</Link><span className="dim mono">{pack.id}</span></td>
      <td>{pack.in_force ? <Badge tone="done">{pack.in_force}</Badge> : <Badge tone="idle">{t.rules.list.noForce}</Badge>}</td>
      <td className="wide"><span className="rules-versions">{pack.versions.slice(0, 4).map((version) => <Tag key={version.version}>{version.version || "–"} · {t.rules.status[version.status] ?? version.status}</Tag>)}{pack.versions.length > 4 && <span className="dim">{t.common.more(pack.versions.length - 4)}</span>}</span></td>
      <td className="num">{used && f.number(used.rules)}</td>
      <td className="num wide">{used && f.number(used.tests)}</td>
      <td className="wide dim">{used && used.at !== "1970-01-01T00:00:00Z" && <Ago time={used.at} />}</td>
    </tr>
  );
}
