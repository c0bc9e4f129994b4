/** Files of an execution: the one that came in, then what each stage has made, in the order of the stages. */
import { ArrowDownToLine, ExternalLink, Paperclip } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Json, Run } from "../api/types";
import { Skeleton } from "../components";
import { nodeIcon } from "../net/icons";
import { useWords } from "../words";
import { OutputFields } from "./OutputFields";
import { kindOf, nameOf } from "./files";
import { Preview } from "./Preview";
import { executionPath, fileUrl } from "./requests";
import type { Execution, Stage } from "../api/types";

export function FilesSection({ run, node, onPick }: { run: Pick<Run, "id">; node: string | null; onPick: (node: string) => void }): ReactNode {
  const { t } = useWords();
  const p = t.pipeline;
  const { data: execution } = useGet<Execution>(executionPath(run.id));
  const row = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const card = row.current?.querySelector<HTMLElement>("[data-here=true]");
    // only this row scrolls: scrollIntoView would move the page too
    if (row.current && card) row.current.scrollTo({ left: card.offsetLeft - row.current.offsetLeft - 16, behavior: "smooth" });
  }, [node]);
  if (!execution) return <section className="files" aria-label={p.files}><div className="pad-small"><Skeleton h={120} /></div></section>;
  const made = execution.stages.filter((stage) => stage.status === "COMPLETED" && (stage.outputRef || hasContent(stage.output)));
  return (
    <section className="files" aria-label={p.files}>
      <div className="files-head"><h2>{p.files}</h2><span className="dim">{p.filesCount(execution.file ? 1 : 0, made.length)}</span></div>
      <ul className="files-row" ref={row}>
        {execution.file && <FileIn execution={execution} />}
        {made.map((stage) => <FileOut key={stage.stageCode} execution={execution} stage={stage} here={stage.stageCode === node} onPick={onPick} />)}
        {made.length === 0 && <li className="files-none dim">{execution.status === "PENDING" || execution.status === "RUNNING" ? p.filesSoon : p.filesNone}</li>}
      </ul>
    </section>
  );
}

const hasContent = (value: Json): boolean => value !== null && value !== undefined && JSON.stringify(value) !== "{}" && JSON.stringify(value) !== "[]";

function FileIn({ execution }: { execution: Execution }): ReactNode {
  const { t, f } = useWords();
  const file = execution.file as NonNullable<Execution["file"]>;
  const [shown, setShown] = useState("");
  const url = fileUrl(execution.executionId, null);
  return (
    <li className={`file-card file-${kindOf(file.mime, file.key)}`}>
      <div className="file-head"><b className="file-in">{t.pipeline.fileIn}</b><span className="cut grow" title={file.key}>{nameOf(file.key)}</span><span className="dim">{f.bytes(file.size)}</span></div>
      <Preview url={url} mime={file.mime} name={file.key} size={file.size} alt={t.pipeline.pictureOf(nameOf(file.key))} onShown={setShown} />
      <FileFoot text={shown || file.mime} url={url} name={nameOf(file.key)} />
    </li>
  );
}

function FileOut({ execution, stage, here, onPick }: { execution: Execution; stage: Stage; here: boolean; onPick: (node: string) => void }): ReactNode {
  const { t, f, typeWord } = useWords();
  const [shown, setShown] = useState("");
  const Icon = nodeIcon("pipeline", { type: stage.processorType, shape: "task" });
  const name = stage.outputRef ? nameOf(stage.outputRef) : `${stage.stageCode}.json`;
  const url = fileUrl(execution.executionId, stage.stageCode);
  return (
    <li className={`file-card file-${stage.outputRef ? kindOf(stage.mime, name) : "json"}`} data-here={here || undefined}>
      <button type="button" className="file-head" aria-pressed={here} onClick={() => onPick(stage.stageCode)}><Icon size={14} aria-hidden /><b className="cut grow">{stage.stageName}</b>{stage.extraction?.confidence != null && <span className="dim" title={t.pipeline.confidence}>{f.number(stage.extraction.confidence)}</span>}{stage.size !== null && stage.outputRef && <span className="dim">{f.bytes(stage.size)}</span>}</button>
      {stage.outputRef ? <Preview url={url} mime={stage.mime} name={name} size={stage.size} alt={t.pipeline.pictureOf(stage.stageName)} onShown={setShown} /> : <div className="preview preview-json"><OutputFields value={stage.output} /></div>}
      {stage.outputRef ? <FileFoot text={shown || sizeText(stage.output) || (stage.mime ?? "")} url={url} name={name} /> : <p className="file-foot dim"><Paperclip size={13} aria-hidden />{typeWord("pipeline", stage.processorType)}</p>}
    </li>
  );
}

/** Width and height of a picture, where the stage tells them. */
function sizeText(output: Json): string {
  if (typeof output !== "object" || output === null || Array.isArray(output)) return "";
  const { width, height } = output;
  return typeof width === "number" && typeof height === "number" ? `${width} × ${height}` : "";
}

function FileFoot({ text, url, name }: { text: string; url: string; name: string }): ReactNode {
  const { t } = useWords();
  return (
    <p className="file-foot">
      <span className="dim cut grow">{text}</span>
      <a href={url} target="_blank" rel="noopener noreferrer" aria-label={t.pipeline.openFile(name)}><ExternalLink size={14} aria-hidden /></a>
      <a href={`${url}?download=true`} download={name} aria-label={t.pipeline.saveFile(name)}><ArrowDownToLine size={14} aria-hidden /></a>
    </p>
  );
}
