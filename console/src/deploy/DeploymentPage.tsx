/** One rollout: the sentence, the moves, its stages, the metrics of both versions, and the simulation beside it. */
import "./deploy.css";
import { Clock3, Factory, Rocket, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { Badge, Empty, Failed, Skeleton } from "../components";
import { useFrame } from "../shell/chrome";
import { Link } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useNow } from "../words";
import { Rich } from "../words/rich";
import { environmentWord, headline, passedLimit } from "./headline";
import { AutomaticSteps } from "./AutomaticSteps";
import { Metrics } from "./Metrics";
import { Moves } from "./Moves";
import { deploymentPath, DEPLOYMENTS_PAGE } from "./requests";
import { isOpen, lineRange, standing, toneOf } from "./rollout";
import { SimulationPanel } from "./SimulationPanel";
import { useDeployWords } from "./speech";
import { Stages } from "./Stages";
import type { Deployment } from "./types";
import { useLiveDeployments } from "./useLiveDeployments";

export default function DeploymentPage({ id }: { id: string }): ReactNode {
  const { t } = useDeployWords();
  const { me } = useSession();
  useFrame([{ text: t.nav.manage, to: "/ops" }, { text: t.deployments.title, to: DEPLOYMENTS_PAGE }, { text: id, mono: true }]);
  return may(me, "deploy.read") ? <Rollout id={id} /> : <Empty page title={t.error.forbidden("deploy.read")} />;
}

function Rollout({ id }: { id: string }): ReactNode {
  const answer = useGet<Deployment>(deploymentPath(id));
  const deployment = useLast(answer.data);
  useLiveDeployments();
  if (!deployment) return answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={56} w="60%" /><Skeleton h={96} /><Skeleton h={420} /></div>;
  return (
    <div className={`deploy ${deployment.simulation_id ? "deploy-two" : ""}`}>
      <Head deployment={deployment} />
      <Stages deployment={deployment} />
      <div className="deploy-left">
        <Metrics deployment={deployment} at={answer.at} />
        <AutomaticSteps deployment={deployment} />
      </div>
      {deployment.simulation_id && <SimulationPanel id={deployment.simulation_id} />}
    </div>
  );
}

function Head({ deployment }: { deployment: Deployment }): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const now = useNow(60_000);
  const lines = deployment.scope.line_ids;
  const { verdict } = standing(deployment);
  const run = deployment.run_id ?? deployment.rollout_run_id;
  const reason = deployment.reason && !passedLimit(deployment.reason) ? deployment.reason.text : "";
  return (
    <header className="deploy-head">
      <div>
        <h1><Rich text={headline(deployment, t, f)} /></h1>
        <p className="deploy-about">
          <b className="mono">{deployment.artifact.id}</b>
          <b>{deployment.previous_version ? `${deployment.previous_version} → ` : ""}{deployment.version}</b>
          {deployment.status !== "in_progress" && <Badge tone={toneOf(deployment.status)} state={deployment.status}>{d.status[deployment.status] ?? deployment.status}</Badge>}
          <span><Factory size={14} aria-hidden />{environmentWord(deployment.environment, t)} {lines?.length ? lineRange(lines) : d.allLines}</span>
          <span><Rocket size={14} aria-hidden />{d.startedAt(f.when(deployment.started_at, now))}</span>
          {deployment.ended_at && <span><Clock3 size={14} aria-hidden />{d.endedAt(f.when(deployment.ended_at, now))}</span>}
          {run && <span>{deployment.run_id ? d.run : d.rollout} <Link to={`/runs/${encodeURIComponent(run)}`} className="mono">{run.slice(-8)}</Link></span>}
        </p>
        {reason && <p className="deploy-why dim">{reason}</p>}
        {isOpen(deployment.status) && (verdict === "few" || verdict === "unlimited") && <p className="deploy-why ink-held"><TriangleAlert size={14} aria-hidden />{verdict === "few" ? d.timeOnly : d.noLimits}</p>}
      </div>
      <Moves deployment={deployment} />
    </header>
  );
}
