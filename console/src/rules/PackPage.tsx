/** One rule pack: its rules as a table, and the test bench beside them. */
import "./rules.css";
import { useState, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import type { Dict, PackDetail, Trial } from "../api/types";
import { Badge, Empty, Failed, Skeleton } from "../components";
import { useFrame } from "../shell/chrome";
import { setSearch, useParam } from "../shell/router";
import { may, useSession } from "../shell/session";
import { Rich } from "../words/rich";
import { Bench } from "./Bench";
import { packPath, RULES_PAGE } from "./requests";
import { RuleTable } from "./RuleTable";
import { useRulesWords } from "./speech";

export default function PackPage({ id }: { id: string }): ReactNode {
  const { t } = useRulesWords();
  const { me } = useSession();
  useFrame([{ text: t.nav.manage, to: "/ops" }, { text: t.rules.title, to: RULES_PAGE }, { text: id, mono: true }]);
  return may(me, "registry.read") ? <Pack id={id} /> : <Empty page title={t.error.forbidden("registry.read")} />;
}

function Pack({ id }: { id: string }): ReactNode {
  const { t } = useRulesWords();
  const [version] = useParam("version");
  const answer = useGet<PackDetail>(packPath(id, version));
  const pack = useLast(answer.data);
  const [trial, setTrial] = useState<Trial | null>(null);
  const [draft, setDraft] = useState<Dict | null>(null);
  if (answer.error && !answer.data) return <Failed page error={answer.error} retry={answer.reload} />;
  if (!pack) return <div className="pad"><Skeleton h={48} w="50%" /><Skeleton h={260} n={2} /></div>;
  const matched = trial ? new Set(trial.matched.map((rule) => rule.id)) : null;
  return (
    <div className="packs">
      <header className="pack-head">
        <div className="grow">
          <h1>{pack.name}</h1>
          <p><Rich text={t.rules.headline(pack.in_force)} /> <span className="dim mono">{pack.id}</span></p>
          {pack.summary && <p className="dim">{pack.summary}</p>}
        </div>
        <Versions pack={pack} />
      </header>
      <div className="pack-body">
        <RuleTable body={draft ?? pack.body} matched={matched} />
        <Bench key={`${pack.id} ${pack.version}`} pack={pack} outdated={!answer.data} onTrial={setTrial} onDraft={setDraft} />
      </div>
    </div>
  );
}

function Versions({ pack }: { pack: PackDetail }): ReactNode {
  const { t } = useRulesWords();
  const shown = pack.versions.find((version) => version.version === pack.version);
  return (
    <div className="pack-version">
      <label><span className="label">{t.rules.version}</span>
        <select className="input" value={pack.version} onChange={(event) => setSearch({ version: event.target.value })}>
          {pack.versions.map((version) => <option key={version.version} value={version.version}>{version.version || "–"} · {t.rules.status[version.status] ?? version.status}{version.in_force ? ` · ${t.rules.inForce}` : ""}</option>)}
        </select>
      </label>
      {shown?.in_force ? <Badge tone="done">{t.rules.inForce}</Badge> : <Badge tone="idle">{t.rules.status[shown?.status ?? ""] ?? shown?.status ?? ""}</Badge>}
    </div>
  );
}
