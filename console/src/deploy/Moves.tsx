/** What people may do with a rollout, each with its right below it, and the question that is asked before. */
import { Check, ChevronsUp, Lock, Pause, Play, Undo2, type LucideIcon } from "lucide-react";
import { useRef, useState, type FormEvent, type ReactNode } from "react";
import { stale } from "../api/cache";
import { ApiError, newKey } from "../api/client";
import { useLiveness } from "../api/live";
import { Button } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import { errorText } from "../words/errorText";
import { Rich } from "../words/rich";
import { environmentWord } from "./headline";
import { percentText } from "./numbers";
import { DEPLOYMENTS, moveDeployment } from "./requests";
import { lineRange, pairOf, stageNow } from "./rollout";
import { useDeployWords } from "./speech";
import type { Deployment, DeploymentMove } from "./types";

const ICON: Record<DeploymentMove, LucideIcon> = { pause: Pause, resume: Play, promote: ChevronsUp, rollback: Undo2 };
const ORDER: DeploymentMove[] = ["pause", "resume", "promote", "rollback"];

export function Moves({ deployment }: { deployment: Deployment }): ReactNode {
  const { t } = useDeployWords();
  const d = t.deployments;
  const offline = useLiveness() === "offline";
  const [asked, setAsked] = useState<{ move: DeploymentMove; anchor: Anchor | null } | null>(null);
  const words = useMoveWords(deployment);
  const moves = ORDER.flatMap((name) => deployment.moves.filter(({ move }) => move === name));
  const askFor = async (move: DeploymentMove, permission: string) => {
    await navigator.clipboard?.writeText(d.askText(`${deployment.artifact.id}: ${words[move]}`, permission, location.href)).catch(() => undefined);
    toast(d.asked);
  };
  return (
    <div className="deploy-moves">
      {moves.map(({ move, permission, allowed }) => (
        <div key={move} className="deploy-move">
          <Button icon={ICON[move]} look={move === "rollback" ? "danger" : "plain"} disabled={!allowed || offline} onClick={(event) => setAsked({ move, anchor: anchorOf(event.currentTarget) })}>{words[move]}</Button>
          {allowed
            ? <span className="deploy-right"><Check size={14} className="ink-done" aria-hidden /><code>{permission}</code></span>
            : <span className="deploy-right"><Lock size={13} className="ink-held" aria-hidden /><code className="ink-held">{permission}</code> {d.mayNot} <button type="button" className="link" onClick={() => void askFor(move, permission)}>{d.askFor}</button></span>}
        </div>
      ))}
      {asked && (asked.move === "rollback" ? <AskRollback deployment={deployment} onClose={() => setAsked(null)} /> : <AskMove deployment={deployment} move={asked.move} anchor={asked.anchor} onClose={() => setAsked(null)} />)}
    </div>
  );
}

/** What the next stage is called: its percent, or its lines; null when there is none. */
function nextStage({ stages }: Deployment, words: ReturnType<typeof useDeployWords>): string | null {
  const next = stages[stageNow(stages) + 1];
  return !next ? null : next.lines?.length ? lineRange(next.lines) : percentText(next.percent, words.f);
}

function useMoveWords(deployment: Deployment): Record<DeploymentMove, string> {
  const words = useDeployWords();
  const { move } = words.t.deployments;
  const next = nextStage(deployment, words);
  return { pause: move.pause, resume: move.resume, promote: next ? move.promote(next) : move.finish, rollback: move.rollback(deployment.to_version ?? deployment.previous_version) };
}

/** Sends a move once, also when its answer was lost and it is asked again. */
function useSend(deployment: Deployment, move: DeploymentMove, onClose: () => void): { sending: boolean; problem: unknown; send: (reason?: string) => Promise<void> } {
  const { t } = useDeployWords();
  const key = useRef(newKey());
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const send = async (reason?: string) => {
    setSending(true);
    setProblem(null);
    try {
      await moveDeployment(deployment.deployment_id, move, reason ? { reason } : {}, key.current);
      toast(t.deployments.didMove[move]);
      onClose();
    } catch (error) {
      if (error instanceof ApiError) key.current = newKey();
      setProblem(error);
      setSending(false);
    }
    stale(DEPLOYMENTS);
  };
  return { sending, problem, send };
}

function AskMove({ deployment, move, anchor, onClose }: { deployment: Deployment; move: Exclude<DeploymentMove, "rollback">; anchor: Anchor | null; onClose: () => void }): ReactNode {
  const words = useDeployWords();
  const { t, f } = words;
  const d = t.deployments;
  const { sending, problem, send } = useSend(deployment, move, onClose);
  const next = nextStage(deployment, words) ?? percentText(100, f);
  const label = move === "promote" ? d.askMove.promote(next) : d.askMove[move];
  const effects = move === "promote" ? d.effect.promote(next) : d.effect[move](percentText(deployment.percent, f));
  const verbs = useMoveWords(deployment);
  return (
    <Dialog label={label} anchor={anchor} look="popover" onClose={onClose}>
      <h2>{label}</h2>
      <p className="dim"><b className="mono">{deployment.artifact.id}</b> {deployment.version}</p>
      <ul className="deploy-effects">{effects.map((text) => <li key={text}>{text}</li>)}</ul>
      {problem !== null && <p className="bad" role="alert">{errorText(problem, t)}</p>}
      <div className="dialog-foot">
        <Button data-first onClick={onClose}>{t.run.keep}</Button>
        <Button look="primary" icon={ICON[move]} disabled={sending} onClick={() => void send()}>{verbs[move]}</Button>
      </div>
    </Dialog>
  );
}

/** Production changes at once, so the version that it goes back to is typed. */
function AskRollback({ deployment, onClose }: { deployment: Deployment; onClose: () => void }): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const { sending, problem, send } = useSend(deployment, "rollback", onClose);
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const to = deployment.to_version ?? deployment.previous_version;
  const lines = deployment.scope.line_ids;
  const { after } = pairOf(deployment.versions_since_start);
  const scope = `${environmentWord(deployment.environment, t)} ${lines?.length ? lineRange(lines) : d.allLines}`;
  const wanted = to ?? deployment.artifact.id;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed.trim() === wanted) void send(reason.trim());
  };
  return (
    <Dialog label={d.askMove.rollback(to)} onClose={onClose}>
      <form className="deploy-ask" onSubmit={submit}>
        <h2>{d.askMove.rollback(to)}</h2>
        <p className="dim"><b className="mono">{deployment.artifact.id}</b> {deployment.version} → {to ?? NONE}</p>
        <ul className="deploy-effects">{d.rollbackEffects(to ?? NONE, f.number(after?.samples ?? 0), scope).map((text) => <li key={text}><Rich text={text} /></li>)}</ul>
        <label><span className="label">{d.rollbackReason} <span className="dim">{t.common.optional}</span></span><textarea className="input" rows={2} maxLength={2000} value={reason} onChange={(event) => setReason(event.target.value)} /></label>
        <label><span className="label">{d.typeVersion(wanted)}</span><input className="input mono" autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} /></label>
        {problem !== null && <p className="bad" role="alert">{errorText(problem, t)}</p>}
        <div className="dialog-foot">
          <Button data-first onClick={onClose}>{t.run.keep}</Button>
          <Button type="submit" look="danger" icon={Undo2} disabled={sending || typed.trim() !== wanted}>{d.move.rollback(to)}</Button>
        </div>
      </form>
    </Dialog>
  );
}

const NONE = "–";
