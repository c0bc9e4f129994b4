/** One element beside the drawing: what its language tells about it, and what waits there now. */
import { X } from "lucide-react";
import { Suspense, useEffect, useRef, type ReactNode } from "react";
import type { Dict, Graph, GraphNode } from "../api/types";
import { Ago, Badge, Button } from "../components";
import { Dialog } from "../components/Dialog";
import { useNarrow } from "../components/useNarrow";
import { languageOf } from "../languages";
import type { Waiting } from "../languages/contract";
import { nodeIcon } from "../net/icons";
import { useKeys } from "../shell/keys";
import { Link } from "../shell/router";
import { useWords } from "../words";
import { ElementDetails } from "./ElementDetails";

interface Props {
  /** Null while it is written and cannot be read. */
  document: Dict | null;
  graph: Graph;
  node: string;
  /** Of a definition that is released: what waits in its runs. */
  running: { name: string; waiting: Waiting } | null;
  onPick: (node: string | null) => void;
}

export function Inspector(props: Props): ReactNode {
  const { t } = useWords();
  const phone = useNarrow();
  const { graph, node, onPick } = props;
  const drawn = graph.nodes.find((candidate) => candidate.id === node);
  const ref = useRef<HTMLElement>(null);
  const close = () => {
    const back = document.querySelector<HTMLElement>(`[data-node="${CSS.escape(node)}"], .net-step[aria-pressed=true]`);
    onPick(null);
    back?.focus();
  };
  useKeys({ i: () => ref.current?.focus(), ...(drawn ? { Escape: close } : {}) });
  if (!drawn) return null;
  const body = <Body {...props} drawn={drawn} onClose={close} />;
  if (phone) return <Dialog label={t.inspect.title(drawn.label)} look="sheet" onClose={() => onPick(null)}>{body}</Dialog>;
  return <aside ref={ref} className="inspector" tabIndex={-1} aria-label={t.inspect.title(drawn.label)}>{body}</aside>;
}

function Body({ document, graph, node, running, onPick, drawn, onClose }: Props & { drawn: GraphNode; onClose: () => void }): ReactNode {
  const { t, typeWord } = useWords();
  const top = useRef<HTMLElement>(null);
  useEffect(() => { if (top.current?.parentElement) top.current.parentElement.scrollTop = 0; }, [node]);
  const Icon = nodeIcon(graph.language, drawn);
  const Details = languageOf(graph.language).document?.Element ?? ElementDetails;
  return (
    <>
      <header ref={top}>
        <div className="grow">
          <p className="dim panel-kind"><Icon size={14} aria-hidden />{typeWord(graph.language, drawn.type)} · <span className="mono">{node}</span></p>
          <h2>{drawn.label}</h2>
        </div>
        <Button look="icon" data-first aria-label={t.nav.close} title={`${t.nav.close} (Esc)`} onClick={onClose}><X size={17} aria-hidden /></Button>
      </header>
      {running && <Now name={running.name} language={graph.language} node={node} waiting={running.waiting} />}
      <Suspense fallback={null}><Details document={document} graph={graph} node={node} onPick={onPick} /></Suspense>
    </>
  );
}

/** What waits here now: how many, and the first of them. */
function Now({ name, language, node, waiting }: { name: string; language: string; node: string; waiting: Waiting }): ReactNode {
  const { t, f, nodeWord } = useWords();
  const n = t.inspect;
  const count = waiting.counts.get(node) ?? 0;
  const items = waiting.items.get(node) ?? [];
  return (
    <section className="inspect-now" aria-live="polite">
      <div className="panel-line"><h3>{n.now}</h3>{count > 0 ? <Link to={`/runs?name=${encodeURIComponent(name)}&node=${encodeURIComponent(node)}`}>{n.nowN(f.number(count), waiting.more)}</Link> : <span className="dim">{n.nowNone}</span>}</div>
      {items.length > 0 && (
        <ul className="inspect-items">
          {items.slice(0, 5).map((item) => <li key={item.id}><Link to={`/inbox/${encodeURIComponent(item.run)}/${encodeURIComponent(item.node)}`}><span className="grow"><span className={item.isId ? "mono" : undefined}>{item.who}</span> <span className="dim"><Ago time={item.since} /></span></span><Badge tone={item.tone}>{nodeWord(language, item.status, item.status)}</Badge></Link></li>)}
        </ul>
      )}
    </section>
  );
}
