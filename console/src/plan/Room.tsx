/** The screens of plans: all projects, and one with its board, graph, timeline and reports. */
import "../run/run.css";
import "./plan.css";
import type { ReactNode } from "react";
import { Empty } from "../components";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { ProjectPage } from "./ProjectPage";
import { ProjectsPage } from "./ProjectsPage";

export default function Room({ parts: [project] }: { parts: string[] }): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  if (!may(me, "plan.read")) return <Empty page title={t.error.forbidden("plan.read")} />;
  return project === undefined ? <ProjectsPage /> : <ProjectPage key={project} id={project} />;
}
