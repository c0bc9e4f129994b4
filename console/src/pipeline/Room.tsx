/** The screens of pipelines: all executions, one of them, usage per tenant. */
import "./pipeline.css";
import type { ReactNode } from "react";
import { Empty } from "../components";
import RunPage from "../run/RunPage";
import { may, seesWholeTenant, useSession } from "../shell/session";
import { useWords } from "../words";
import { ExecutionsPage } from "./ExecutionsPage";
import { OwnExecution } from "./OwnExecution";
import { UsagePage } from "./UsagePage";

export default function Room({ parts: [id] }: { parts: string[] }): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  if (!may(me, "pipeline.read")) return <Empty page title={t.error.forbidden("pipeline.read")} />;
  if (id === undefined || (id === "usage" && !seesWholeTenant(me))) return <ExecutionsPage />;
  if (!seesWholeTenant(me)) return <OwnExecution key={id} id={id} />;
  if (id === "usage") return <UsagePage />;
  return <RunPage key={id} id={id} />;
}
