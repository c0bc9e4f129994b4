/** The screens of process mining: all processes with a history, the map of one, and a discovered model against it. */
import "../../net/net.css";
import "../../run/run.css";
import "./mining.css";
import "./mining-diff.css";
import { lazy, Suspense, type ReactNode } from "react";
import { Empty, Skeleton } from "../../components";
import { may, useSession } from "../../shell/session";
import { MapPage } from "./map/MapPage";
import { MiningPage } from "./MiningPage";
import { useMiningWords } from "./speech";

const DiffPage = lazy(() => import("./diff/DiffPage"));

export default function Room({ parts: [id, kind, model] }: { parts: string[] }): ReactNode {
  const { t } = useMiningWords();
  const { me } = useSession();
  if (!may(me, "definition.read")) return <Empty page title={t.error.forbidden("definition.read")} />;
  if (id === undefined) return <MiningPage />;
  if (kind === "diff" && model !== undefined) return <Suspense fallback={<div className="pad"><Skeleton h={120} n={4} /></div>}><DiffPage key={`${id} ${model}`} id={id} model={model} /></Suspense>;
  return <MapPage key={id} id={id} />;
}
