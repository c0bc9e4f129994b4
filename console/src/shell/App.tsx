/** The frame: the screen of each address, and what stands around it. */
import { WifiOff } from "lucide-react";
import { Component, lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { startLive, useLiveness } from "../api/live";
import { startRefreshing } from "./refresh";
import { HomePage } from "../home/HomePage";
import { InboxPage } from "../inbox/InboxPage";
import { Button, Empty, Skeleton } from "../components";
import { Toasts } from "../components/toast";
import { ROOMS, roomOf } from "../languages";
import { RunsPage } from "../runs/RunsPage";
import { useWords } from "../words";
import { useFrame } from "./chrome";
import { Help } from "./Help";
import { useKeys } from "./keys";
import { Palette } from "./Palette";
import { go, Link, usePath } from "./router";
import { may, useSession } from "./session";
import { BottomBar, Sidebar } from "./Sidebar";
import { Topbar } from "./Topbar";

const RunPage = lazy(() => import("../run/RunPage"));
const OpsPage = lazy(() => import("../ops/OpsPage"));
const LettersPage = lazy(() => import("../letters/LettersPage"));
const DeploymentsPage = lazy(() => import("../deploy/DeploymentsPage"));
const DeploymentPage = lazy(() => import("../deploy/DeploymentPage"));
const SimulationPage = lazy(() => import("../deploy/SimulationPage"));
const RulesPage = lazy(() => import("../rules/RulesPage"));
const PackPage = lazy(() => import("../rules/PackPage"));
const ProposalsPage = lazy(() => import("../proposals/ProposalsPage"));
const DefinitionsPage = lazy(() => import("../definitions/DefinitionsPage"));
const DefinitionPage = lazy(() => import("../definitions/DefinitionPage"));
const DraftOrVersion = lazy(() => import("../definitions/DraftOrVersion"));

export function App(): ReactNode {
  const { t } = useWords();
  const path = usePath();
  const live = useLiveness();
  const { me } = useSession();
  const runs = may(me, "run.read");
  // who may see no runs begins in the first room that is theirs
  const first = runs ? undefined : ROOMS.find((room) => may(me, room.permission));
  const [open, setOpen] = useState<"find" | "help" | null>(null);
  useEffect(() => {
    startLive(runs);
    return startRefreshing();
  }, []);
  useKeys({
    "g h": () => go("/"), "g i": () => go("/inbox"), "g r": () => go("/runs"), "g d": () => go("/definitions"), "g o": () => go("/ops"), ...Object.fromEntries(ROOMS.map((room) => [`g ${room.key}`, () => go(`/${room.path}`)])), "?": () => setOpen("help"), "Ctrl K": () => setOpen("find"),
  });
  const parts = partsOf(path);
  const canvas = ((parts?.[0] === "runs" || parts?.[0] === "definitions") && parts.length > 1) || !!roomOf(parts?.[0])?.canvas((parts ?? []).slice(1));
  return (
    <div className={`app ${canvas ? "app-rail" : ""} ${parts?.[0] === "inbox" && parts.length > 1 ? "app-item" : ""}`}>
      <a className="skip" href="#main">{t.nav.skip}</a>
      <Sidebar rail={canvas} />
      <Topbar onFind={() => setOpen("find")} />
      {live === "offline" && <p className="offline" role="status"><WifiOff size={15} aria-hidden />{t.error.banner}</p>}
      <main id="main" tabIndex={-1}>
        <Guard path={path}>
          <Suspense fallback={<div className="pad"><Skeleton h={120} n={4} /></div>}>{first && parts?.length === 0 ? <first.Page parts={[]} /> : screenOf(parts)}</Suspense>
        </Guard>
      </main>
      <BottomBar />
      <Toasts />
      {open === "find" && <Palette onClose={() => setOpen(null)} onHelp={() => setOpen("help")} />}
      {open === "help" && <Help onClose={() => setOpen(null)} />}
    </div>
  );
}

/** The parts of a path; null when its escapes are wrong. */
function partsOf(path: string): string[] | null {
  try {
    return path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
}

function screenOf(parts: string[] | null): ReactNode {
  if (parts === null) return <Nowhere />;
  const [room, id, node, number] = parts;
  if (room === undefined) return <HomePage />;
  if (room === "inbox") return <InboxPage run={id ?? null} node={node ?? null} />;
  if (room === "runs" && id === undefined) return <RunsPage />;
  if (room === "runs" && id !== undefined) return <RunPage key={id} id={id} />;
  if (room === "ops" && id === undefined) return <OpsPage />;
  if (room === "ops" && id === "dead-letters" && node === undefined) return <LettersPage />;
  if (room === "ops" && id === "deployments" && number === undefined) return node === undefined ? <DeploymentsPage /> : <DeploymentPage key={node} id={node} />;
  if (room === "ops" && id === "simulations" && node !== undefined && number === undefined) return <SimulationPage key={node} id={node} />;
  if (room === "ops" && id === "rules" && number === undefined) return node === undefined ? <RulesPage /> : <PackPage key={node} id={node} />;
  if (room === "proposals" && id === undefined) return <ProposalsPage />;
  if (room === "definitions" && id === undefined) return <DefinitionsPage />;
  if (room === "definitions" && id !== undefined && (node === undefined || (node === "versions" && /^\d+$/.test(number ?? "")))) return <DefinitionPage key={id} name={id} version={number ? Number(number) : null} />;
  if (room === "definitions" && id !== undefined && node === "v" && /^\d+$/.test(number ?? "")) return <DraftOrVersion key={`${id} ${number}`} name={id} version={Number(number)} />;
  const own = roomOf(room);
  return own ? <own.Page parts={parts.slice(1)} /> : <Nowhere />;
}

export function Nowhere(): ReactNode {
  const { t } = useWords();
  useFrame([{ text: t.error.notFound }]);
  return <Empty page title={t.error.notFound} text={t.error.notFoundDo}><Link to="/" className="btn">{t.nav.home}</Link></Empty>;
}

/** An error boundary: a screen that fails leaves the frame intact. */
class Guard extends Component<{ children: ReactNode; path: string }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  override componentDidUpdate(before: { path: string }): void {
    if (before.path !== this.props.path && this.state.error) this.setState({ error: null });
  }
  override render(): ReactNode {
    return this.state.error ? <Broken error={this.state.error} again={() => this.setState({ error: null })} /> : this.props.children;
  }
}

function Broken({ error, again }: { error: Error; again: () => void }): ReactNode {
  const { t } = useWords();
  return (
    <Empty page title={t.error.screen} text={t.error.screenDo}>
      <code>{error.message}</code>
      <Button onClick={again}>{t.common.retry}</Button>
    </Empty>
  );
}
