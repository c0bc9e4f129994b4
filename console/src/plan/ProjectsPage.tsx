/** Projects: a sentence, then each with its status, its health, and how far it is. */
import { CircleQuestionMark, FolderX } from "lucide-react";
import type { ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { Ago, Badge, Card, Empty, Failed, Skeleton, Tag } from "../components";
import { useFrame } from "../shell/chrome";
import { go, Link } from "../shell/router";
import { useWords } from "../words";
import { Rich } from "../words/rich";
import { PROJECTS } from "./requests";
import { HEALTH_TONE, workflowStanding } from "./taskStanding";
import type { Items, Project } from "./types";

export function ProjectsPage(): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  useFrame([{ text: p.title }]);
  const answer = useGet<Items<Project>>(PROJECTS);
  const projects = useLast(answer.data)?.items;
  if (!projects) return answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={48} w="50%" /><Skeleton h={52} n={5} /></div>;
  const running = projects.filter((project) => project.status === "running").length;
  const review = projects.reduce((sum, project) => sum + project.review, 0);
  const headline = projects.length === 0 ? p.headlineNone : running + review > 0 ? p.headlineSome(f.number(running), f.number(review)) : p.headlineQuiet;
  return (
    <div className="plans">
      <div className="home-head"><div className="grow"><h1><Rich text={headline} /></h1><p className="dim">{p.about}</p></div></div>
      <Card className="plans-list" label={p.projects}>
        {projects.length === 0
          ? <Empty title={p.none} text={p.noneDo}><code>penstock plan init ./site && penstock plan run ./site</code></Empty>
          : (
            <table className="plans-table">
              <thead><tr><th>{p.columns.project}</th><th>{p.columns.status}</th><th>{p.columns.health}</th><th>{p.columns.tasks}</th><th className="num">{p.columns.review}</th><th className="wide">{p.columns.seen}</th></tr></thead>
              <tbody>{projects.map((project) => <ProjectRow key={project.id} project={project} />)}</tbody>
            </table>
          )}
      </Card>
    </div>
  );
}

function ProjectRow({ project }: { project: Project }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const { tone, state, word } = workflowStanding(project, t);
  const to = `/plans/${encodeURIComponent(project.id)}`;
  return (
    <tr onClick={(event) => { if (!(event.target as Element).closest("a, button") && !event.metaKey && !event.ctrlKey) go(to); }}>
      <td>
        <Link className="plans-name" to={to}>{project.title || project.name}</Link>
        <span className="plans-path mono dim cut" title={project.path}>{project.path}</span>
        {(project.missing || !project.enabled) && <span className="plans-tags">{project.missing && <Badge tone="failed" icon={FolderX}>{p.missing}</Badge>}{!project.enabled && <Tag>{p.disabled}</Tag>}</span>}
      </td>
      <td><Badge tone={tone} state={state}>{word}</Badge></td>
      <td><Badge tone={HEALTH_TONE[project.health] ?? "idle"} icon={project.health === "unknown" ? CircleQuestionMark : undefined}>{p.health[project.health] ?? project.health}{project.score !== null && ` ${f.number(project.score)}`}</Badge></td>
      <td><Counts counts={project.counts} /></td>
      <td className="num">{project.review ? <b className="ink-held">{f.number(project.review)}</b> : "–"}</td>
      <td className="wide dim">{project.lastSeenAt === null ? "–" : <Ago time={project.lastSeenAt} />}</td>
    </tr>
  );
}

const ORDER = [["completed", "done"], ["in_progress", "moving"], ["failed", "failed"], ["cancelled", "idle"], ["pending", "open"]] as const;

/** A bar of all tasks by status, with the words beside it. */
export function Counts({ counts }: { counts: Project["counts"] }): ReactNode {
  const { t, f } = useWords();
  const all = ORDER.reduce((sum, [status]) => sum + (counts[status] ?? 0), 0);
  const shown = ORDER.filter(([status]) => counts[status]);
  return (
    <span className="plan-counts">
      <span className="plan-counts-bar" aria-hidden>{shown.map(([status, look]) => <i key={status} className={`count-${look}`} style={{ flexGrow: counts[status] }} />)}</span>
      <span className="dim">{all === 0 ? t.plan.noTasks : shown.map(([status]) => `${t.plan.status[status] ?? status} ${f.number(counts[status] ?? 0)}`).join(" · ")}</span>
    </span>
  );
}
