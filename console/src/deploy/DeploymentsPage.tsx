/** All deployments: a sentence, then each with how far it is out, what comes next, and why it stands still. */
import "./deploy.css";
import { Factory } from "lucide-react";
import type { ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { Ago, Badge, Button, Card, Copyable, Empty, Failed, Skeleton } from "../components";
import { useFrame } from "../shell/chrome";
import { go, Link, useParam } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useNow } from "../words";
import { Rich } from "../words/rich";
import { artifactWord, environmentWord, reasonText } from "./headline";
import { percentText } from "./numbers";
import { deploymentsPath, pageOf } from "./requests";
import { isOpen, lineRange, toneOf } from "./rollout";
import { useDeployWords } from "./speech";
import type { DeploymentShort, Items } from "./types";
import { useLiveDeployments } from "./useLiveDeployments";

const STATUSES = ["in_progress", "paused", "rolled_back", "succeeded", "failed"] as const;
const COMMAND = "penstock deploy begin rule_pack quality_rules_v2 --canary 10";

export default function DeploymentsPage(): ReactNode {
  const { t } = useDeployWords();
  const { me } = useSession();
  useFrame([{ text: t.nav.manage, to: "/ops" }, { text: t.deployments.title }]);
  return may(me, "deploy.read") ? <Deployments /> : <Empty page title={t.error.forbidden("deploy.read")} />;
}

function Deployments(): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const [status, setStatus] = useParam("status");
  const answer = useGet<Items<DeploymentShort>>(deploymentsPath(null));
  const all = useLast(answer.data)?.items;
  useLiveDeployments();
  if (!all) return answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={48} w="50%" /><Skeleton h={52} n={5} /></div>;
  const going = all.filter((each) => each.status === "in_progress").length;
  const stopped = all.filter((each) => each.status === "paused").length;
  const shown = all.filter((each) => !status || each.status === status);
  return (
    <div className="deploys">
      <div className="grow"><h1>{going + stopped > 0 ? <Rich text={d.list.some(f.number(going), f.number(stopped))} /> : d.list.quiet}</h1><p className="dim">{d.list.about}</p></div>
      {all.length === 0 ? <Card><Empty title={d.list.none} text={d.list.noneDo}><Copyable text={COMMAND} /></Empty></Card> : (
        <Card className="deploys-list" label={d.title}>
          <div className="deploys-filters" role="group" aria-label={d.list.filter}>
            <button type="button" className="chip" aria-pressed={!status} onClick={() => setStatus(null)}>{t.common.all} <b>{f.number(all.length)}</b></button>
            {STATUSES.map((name) => { const n = all.filter((each) => each.status === name).length; return (n > 0 || status === name) && <button key={name} type="button" className="chip" aria-pressed={status === name} onClick={() => setStatus(status === name ? null : name)}>{d.status[name]} <b>{f.number(n)}</b></button>; })}
          </div>
          {shown.length === 0 ? <Empty title={d.list.noneMatch}><Button onClick={() => setStatus(null)}>{t.runs.clear}</Button></Empty> : (
            <table className="deploys-table">
              <thead><tr><th>{d.list.columns.what}</th><th>{d.list.columns.status}</th><th>{d.list.columns.progress}</th><th className="wide">{d.list.columns.where}</th><th className="wide">{d.list.columns.next}</th><th className="wide">{d.list.columns.started}</th></tr></thead>
              <tbody>{shown.map((each) => <Row key={each.deployment_id} deployment={each} />)}</tbody>
            </table>
          )}
        </Card>
      )}
    </div>
  );
}

function Row({ deployment }: { deployment: DeploymentShort }): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const now = useNow(10_000);
  const to = pageOf(deployment.deployment_id);
  const lines = deployment.scope.line_ids;
  const tone = toneOf(deployment.status);
  return (
    <tr onClick={(event) => { if (!(event.target as Element).closest("a, button") && !event.metaKey && !event.ctrlKey) go(to); }}>
      <td><Link className="deploys-name mono" to={to}>{deployment.artifact.id}</Link><span className="dim">{artifactWord(deployment.artifact.type, t)} · {deployment.previous_version ? `${deployment.previous_version} → ` : ""}<b>{deployment.version}</b></span></td>
      <td><Badge tone={tone} state={deployment.status}>{d.status[deployment.status] ?? deployment.status}</Badge></td>
      <td><span className={`deploys-far tone-${tone}`}><span className="deploy-track" aria-hidden><i style={{ width: `${deployment.percent}%` }} /></span><b>{percentText(deployment.percent, f)}</b></span></td>
      <td className="wide"><span className="deploys-where"><Factory size={14} aria-hidden />{environmentWord(deployment.environment, t)} {lines?.length ? lineRange(lines) : d.allLines}</span></td>
      <td className="wide">{nextText(deployment, now, t, f)}</td>
      <td className="wide dim"><Ago time={deployment.started_at} /></td>
    </tr>
  );
}

function nextText(deployment: DeploymentShort, now: number, t: ReturnType<typeof useDeployWords>["t"], f: ReturnType<typeof useDeployWords>["f"]): ReactNode {
  const list = t.deployments.list;
  const reason = reasonText(deployment, t, f);
  if (reason) return <span className={deployment.status === "rolled_back" || deployment.status === "failed" ? "ink-failed" : "ink-held"}>{reason}</span>;
  if (!isOpen(deployment.status) || !deployment.next_at) return <span className="dim">{t.deployments.strategy[deployment.strategy] ?? deployment.strategy}</span>;
  const left = Date.parse(deployment.next_at) - now;
  if (left <= 0) return list.nextSoon;
  return deployment.percent >= 100 ? list.endsIn(f.duration(left, 1)) : list.nextAt(f.duration(left, 1));
}
