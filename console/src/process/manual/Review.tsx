/** A manual and the process that was read from it, side by side: what is selected on one side lights up on the other. */
import { FileText, List, Sheet, ShieldX, Text, TriangleAlert, Workflow } from "lucide-react";
import { lazy, Suspense, useMemo, useState, type ReactNode } from "react";
import { textOf } from "../../api/json";
import { Segment } from "../../components";
import { useNarrow } from "../../components/useNarrow";
import { useKeys } from "../../shell/keys";
import { setSearch, useParam, useSearch } from "../../shell/router";
import { readFile } from "../draft/drawingFile";
import { decisionTables } from "./dmn";
import { DecisionTables } from "./DecisionTables";
import { DroppedList } from "./DroppedList";
import { ElementList } from "./ElementList";
import { Evidence } from "./Evidence";
import { linksOf, litElements, litSentences, neighbour, type Selection } from "./links";
import { ManualText } from "./ManualText";
import { inReadingOrder } from "./order";
import { findingsOf, ReadFindings } from "./ReadFindings";
import { useManualWords } from "./speech";
import { SureBar, type Standing } from "./SureBar";
import { isDoubtful, keyOf, type ManualRead, type ReadElement, type Sentence } from "./types";

const ManualDrawing = lazy(() => import("./ManualDrawing"));

interface Props {
  read: ManualRead;
  /** The file that was read; null when it is not known any more. */
  file: string | null;
  standing: Standing;
  badge: ReactNode;
  actions: ReactNode;
  feedback?: string | null;
  version?: number;
}

export const titleOf = (read: ManualRead): string => textOf(read.definition["process_definition_name"]) || read.id;

type View = "drawing" | "list" | "tables" | "dropped" | "findings" | "text";

export function Review({ read, file, standing, badge, actions, feedback, version }: Props): ReactNode {
  const { f, m } = useManualWords();
  const phone = useNarrow();
  const search = useSearch();
  const [wanted, setView] = useParam("view");
  const [broken, setBroken] = useState(false);
  const links = useMemo(() => linksOf(read), [read]);
  const drawing = useMemo(() => readFile(read.bpmn), [read.bpmn]);
  const tables = useMemo(() => decisionTables(read.dmn ?? ""), [read.dmn]);
  const ordered = useMemo(() => inReadingOrder(read, drawing), [read, drawing]);
  const doubtful = useMemo(() => ordered.filter(isDoubtful), [ordered]);
  const selection: Selection = { element: links.elements.get(search.get("node") ?? "") ?? null, sentence: links.sentences.get(search.get("sentence") ?? "") ?? null };
  const lit = useMemo(() => litElements(selection, links), [selection.element, selection.sentence, links]);
  const litTexts = useMemo(() => litSentences(selection), [selection.element, selection.sentence]);
  const pickElement = (element: ReadElement | null) => setSearch({ node: element && keyOf(element), sentence: null });
  const pickSentence = (sentence: Sentence | null) => setSearch({ sentence: sentence && sentence.id, node: null });
  const step = (list: ReadElement[], by: 1 | -1) => {
    const at = list.findIndex((element) => element === selection.element);
    const next = neighbour(list, at, by);
    if (next) pickElement(next);
  };
  useKeys({ j: () => step(ordered, 1), k: () => step(ordered, -1), n: () => step(doubtful, 1), Escape: () => setSearch({ node: null, sentence: null }) });
  const findings = findingsOf(read);
  /** On a phone the text is a view of its own. */
  const seeSentence = (sentence: Sentence) => { if (phone) setSearch({ view: "text", sentence: sentence.id, node: null }); else pickSentence(sentence); };
  const views = [
    ...(phone || broken || !read.bpmn ? [] : [{ id: "drawing" as const, text: m.drawing, icon: Workflow }]), { id: "list" as const, text: m.list, icon: List },
    ...(tables.length > 0 ? [{ id: "tables" as const, text: m.tables(tables.length), icon: Sheet }] : []),
    ...(read.dropped.length > 0 ? [{ id: "dropped" as const, text: m.dropped(read.dropped.length), icon: ShieldX }] : []),
    ...(findings.length > 0 ? [{ id: "findings" as const, text: m.findings(findings.length), icon: TriangleAlert }] : []),
    ...(phone ? [{ id: "text" as const, text: m.text, icon: Text }] : []),
  ];
  const view: View = views.find(({ id }) => id === wanted)?.id ?? views[0]?.id ?? "list";
  const show = (next: View) => setView(next === views[0]?.id ? null : next);
  const text = <ManualText text={read.text} links={links} selection={selection} lit={litTexts} onPick={pickSentence} />;
  return (
    <div className="draft manual">
      <header className="draft-head manual-head">
        <div className="draft-title">
          <h1>{titleOf(read)} {badge}</h1>
          <p className="draft-about">
            {file !== null && <span><FileText size={14} aria-hidden />{file}</span>}
            <span className="mono">{read.id}{version !== undefined && ` · v${version}`}</span>
            <span>{countsOf(read, links.pages, m, (n) => f.number(n))}</span>
            {read.source !== "rules" && <span>{m.byModel(read.source)}</span>}
          </p>
          {feedback && <p className="ink-failed">{feedback}</p>}
        </div>
        <div className="draft-acts">{actions}</div>
      </header>
      <SureBar read={read} standing={standing} doubtful={doubtful.length} onNext={() => step(doubtful, 1)} />
      <div className="manual-body">
        {!phone && <section className="manual-left" aria-label={m.manual}>{text}</section>}
        <section className="manual-right" aria-label={m.drawing}>
          <div className="manual-tools">
            <Segment<View> label={m.looks} value={view} onChange={show} options={views} />
            {broken && <span className="dim small" role="status">{m.noDrawing}</span>}
          </div>
          <div className="manual-view">
            {view === "drawing" ? <Suspense fallback={null}><ManualDrawing xml={read.bpmn} file={drawing} elements={read.elements} lit={lit} selected={selection.element} onPick={pickElement} onFail={() => setBroken(true)} /></Suspense>
              : view === "tables" ? <DecisionTables tables={tables} elements={read.elements} lit={lit} onPick={pickElement} />
              : view === "dropped" ? <DroppedList dropped={read.dropped} />
              : view === "findings" ? <ReadFindings findings={findings} text={read.text} links={links} onSentence={seeSentence} />
              : view === "text" ? text
              : <ElementList read={read} file={drawing} links={links} lit={lit} selected={selection.element} onElement={pickElement} onSentence={seeSentence} />}
          </div>
          {!(phone && view === "list") && <Evidence file={drawing} links={links} selection={selection} onElement={(element) => { if (phone) setSearch({ view: null, node: keyOf(element), sentence: null }); else pickElement(element); }} onSentence={seeSentence} />}
        </section>
      </div>
    </div>
  );
}

function countsOf(read: ManualRead, pages: { page: number }[], m: ReturnType<typeof useManualWords>["m"], number: (n: number) => string): string {
  const paged = new Set(pages.map(({ page }) => page)).size;
  return [paged > 1 && m.pages(number(paged)), m.sentences(number(read.sentences.length)), read.chunks.length > 1 && m.chunks(number(read.chunks.length)), m.elements(number(read.elements.length)), m.droppedN(number(read.dropped.length))].filter(Boolean).join(" · ");
}
