/** The screens of pipelines: all executions, one of them, usage per tenant. */
import "./pipeline.css";
import type { ReactNode } from "react";
import { Empty } from "../components";
import RunPage from "../run/RunPage";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { ExecutionsPage } from "./ExecutionsPage";
import { UsagePage } from "./UsagePage";

export default function Room({ parts: [id] }: { parts: string[] }): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  if (!may(me, "pipeline.read")) return <Empty page title={t.error.forbidden("pipeline.read")} />;
  if (id === undefined) return <ExecutionsPage />;
  if (id === "usage") return <UsagePage />;
  return <RunPage key={id} id={id} />;
}
