/** The dependencies, drawn: a task stands right of all it waits for, and what waits for itself is marked and can be repaired. */
import { TriangleAlert } from "lucide-react";
import { useMemo, type KeyboardEvent, type ReactNode } from "react";
import { toneIcon, Empty } from "../components";
import { useWords } from "../words";
import { Deadlocks } from "./Deadlocks";
import { BOX, draw, type Edge, type Placed } from "./layers";
import type { Ask } from "./ProjectPage";
import { standing } from "./taskStanding";
import type { Deadlock, Project, Task } from "./types";

interface Props {
  project: Project;
  tasks: Task[];
  deadlocks: Deadlock[];
  picked: string | null;
  onAsk: Ask;
  onPick: (task: string) => void;
  onSync: () => void;
}

const PAD = 16;

export function DependencyGraph({ project, tasks, deadlocks, picked, onAsk, onPick, onSync }: Props): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const drawn = useMemo(() => draw(tasks), [tasks]);
  const places = useMemo(() => new Map(drawn.nodes.map((node) => [node.id, node])), [drawn]);
  const byId = useMemo(() => new Map(tasks.map((task) => [task.id, task])), [tasks]);
  const move = (event: KeyboardEvent, id: string) => {
    const forward = event.key === "ArrowRight" || event.key === "ArrowDown";
    if (!forward && event.key !== "ArrowLeft" && event.key !== "ArrowUp") return;
    const edge = drawn.edges.find((each) => (forward ? each.from === id : each.to === id));
    if (!edge) return;
    event.preventDefault();
    document.querySelector<HTMLElement>(`[data-graph="${CSS.escape(forward ? edge.to : edge.from)}"]`)?.focus();
  };
  if (tasks.length === 0) return <Empty title={p.graphNone} />;
  return (
    <div className="deps-page">
      <Deadlocks project={project} tasks={byId} deadlocks={deadlocks} onAsk={onAsk} onSync={onSync} />
      <ul className="deps-legend" aria-hidden>
        <li><i className="deps-key" />{p.legend.solid}</li><li><i className="deps-key deps-optional" />{p.legend.dashed}</li>
        {drawn.cyclic.size > 0 && <li><i className="deps-key deps-cyclic" />{p.legend.cycle}</li>}
        {drawn.edges.some((edge) => edge.removed) && <li><i className="deps-key deps-removed" />{p.legend.removed}</li>}
      </ul>
      <div className="deps-scroll" role="group" aria-label={p.graph} tabIndex={0}>
        <div className="deps" style={{ width: drawn.w + 2 * PAD, height: drawn.h + 2 * PAD }}>
          <svg width={drawn.w + 2 * PAD} height={drawn.h + 2 * PAD} aria-hidden>
            <defs>{["plain", "cyclic"].map((kind) => <marker key={kind} id={`deps-${kind}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" className={`deps-head-${kind}`} /></marker>)}</defs>
            {drawn.edges.map((edge) => <EdgeLine key={`${edge.from}>${edge.to}`} edge={edge} from={places.get(edge.from)} to={places.get(edge.to)} lit={picked !== null && (edge.from === picked || edge.to === picked)} />)}
          </svg>
          {drawn.nodes.map((node) => {
            const task = byId.get(node.id);
            return task && <Node key={node.id} node={node} task={task} cyclic={drawn.cyclic.has(node.id)} here={node.id === picked} onPick={onPick} onMove={move} />;
          })}
        </div>
      </div>
    </div>
  );
}

function Node({ node, task, cyclic, here, onPick, onMove }: { node: Placed; task: Task; cyclic: boolean; here: boolean; onPick: (task: string) => void; onMove: (event: KeyboardEvent, id: string) => void }): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const { tone, state, word, icon } = standing(task, t);
  const Icon = cyclic ? TriangleAlert : (icon ?? toneIcon(tone, state));
  const said = cyclic ? p.inCycle : word;
  return (
    <button type="button" className={`deps-node tone-${cyclic ? "failed" : tone} ${cyclic ? "deps-in-cycle" : ""}`} data-graph={task.id} aria-pressed={here} style={{ left: node.x + PAD, top: node.y + PAD, width: BOX.w, height: BOX.h }} onClick={() => onPick(task.id)} onKeyDown={(event) => onMove(event, task.id)}>
      <span className="mono dim3 cut">{task.id}</span>
      <b className="cut">{task.title}</b>
      <span className="deps-said"><Icon size={12} aria-hidden />{said}</span>
    </button>
  );
}

function EdgeLine({ edge, from, to, lit }: { edge: Edge; from: Placed | undefined; to: Placed | undefined; lit: boolean }): ReactNode {
  if (!from || !to) return null;
  const kind = edge.removed ? "deps-removed" : edge.cyclic ? "deps-cyclic" : edge.optional ? "deps-optional" : "";
  const back = to.x <= from.x;
  const [x1, y1] = [from.x + BOX.w + PAD, from.y + BOX.h / 2 + PAD];
  const [x2, y2] = [to.x + PAD, to.y + BOX.h / 2 + PAD];
  const bend = Math.max(24, Math.abs(x2 - x1) / 2);
  // what leads back goes below the boxes
  const low = Math.max(from.y, to.y) + BOX.h + BOX.gapY / 2 + PAD;
  const d = back ? `M${x1 - 40} ${y1 + BOX.h / 2}C${x1 - 40} ${low + 14} ${x2 + 40} ${low + 14} ${x2 + 40} ${y2 + BOX.h / 2}` : `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  return <path d={d} className={`deps-edge ${kind} ${lit ? "deps-lit" : ""}`} markerEnd={`url(#deps-${edge.cyclic ? "cyclic" : "plain"})`} />;
}
