/** The drawing as a list: every pool with its steps along the flow and their to-dos, for phones and screen readers. */
import { Check, GitCommitHorizontal } from "lucide-react";
import type { ReactNode } from "react";
import { nodeIcon } from "../../net/icons";
import { placeOf, type DrawingFile, type FileElement } from "./drawingFile";
import { useDraftWords } from "./speech";
import type { Todo } from "./types";

interface Props {
  file: DrawingFile;
  todos: Todo[];
  selected: string | null;
  onTodo: (todo: Todo) => void;
  onElement: (id: string) => void;
}

export function StepList({ file, todos, selected, onTodo, onElement }: Props): ReactNode {
  const { d } = useDraftWords();
  const pools = [...file.elements.values()].filter(({ type, id }) => type === "participant" && !file.processes.some(({ pool }) => pool === id));
  const at = (place: string) => todos.filter((todo) => placeOf(file, todo) === place);
  const flowsOf = (element: FileElement) => [...file.flows.values()].filter((flow) => flow.source === element.id && at(flow.id).length > 0);
  const pick = (id: string) => { const own = at(id); const wanted = own.find(({ state }) => state === "open") ?? own[0]; if (wanted) onTodo(wanted); else onElement(id); };
  const nos = (id: string) => at(id).map((todo) => <span key={todo.key} className={`draft-no ${todo.state === "done" ? "tone-done draft-no-done" : "tone-held"}`}>{todo.state === "done" ? <Check size={12} strokeWidth={3} aria-hidden /> : todo.no}<span className="sr">{todo.state === "done" ? d.markDone(todo.no, "") : d.markOpen(todo.no, "")}</span></span>);
  return (
    <div className="net-list net-plain draft-list">
      {file.processes.map((process) => (
        <section key={process.id} aria-label={process.name}>
          <h3>{process.pool ? <button type="button" className="linklike" onClick={() => pick(process.pool)}>{process.name}</button> : process.name} {process.pool && nos(process.pool)}</h3>
          {process.elements.length === 0 && <p className="dim">{d.emptyPool}</p>}
          <ol>
            {[...file.elements.values()].filter((lane) => lane.type === "lane" && lane.process === process.id && at(lane.id).length > 0).map((lane) => <li key={lane.id}><Step element={lane} selected={selected === lane.id} onPick={() => pick(lane.id)}>{nos(lane.id)}</Step></li>)}
            {process.elements.map((element) => (
              <li key={element.id}>
                <Step element={element} selected={selected === element.id} onPick={() => pick(element.id)}>{nos(element.id)}</Step>
                {flowsOf(element).map((flow) => <button key={flow.id} type="button" className="net-step draft-flow-step" aria-pressed={selected === flow.id} onClick={() => pick(flow.id)}><GitCommitHorizontal size={16} aria-hidden /><span className="grow"><b>{flow.name || flow.id}</b><span className="dim">{d.elements["sequenceFlow"]}</span></span>{nos(flow.id)}</button>)}
              </li>
            ))}
          </ol>
        </section>
      ))}
      {pools.map((pool) => <section key={pool.id} aria-label={pool.name || pool.id}><h3><button type="button" className="linklike" onClick={() => pick(pool.id)}>{pool.name || pool.id}</button> {nos(pool.id)}</h3><p className="dim">{d.emptyPool}</p></section>)}
    </div>
  );
}

function Step({ element, selected, onPick, children }: { element: FileElement; selected: boolean; onPick: () => void; children: ReactNode }): ReactNode {
  const { d } = useDraftWords();
  const Icon = nodeIcon("process", { type: element.type, shape: shapeOf(element) });
  return <button type="button" className="net-step" data-node={element.id} aria-pressed={selected} onClick={onPick}><Icon size={16} strokeWidth={1.9} aria-hidden /><span className="grow"><b>{element.name || d.elements[element.type] || element.id}</b><span className="dim">{[d.elements[element.type] ?? element.type, element.lane].filter(Boolean).join(" · ")}</span></span>{children}</button>;
}

export const shapeOf = (element: Pick<FileElement, "type">): "start" | "end" | "wait" | "choose" | "work" | "task" => (element.type === "startEvent" ? "start" : element.type === "endEvent" ? "end" : element.type.endsWith("Event") ? "wait" : element.type.endsWith("Gateway") ? "choose" : element.type === "userTask" ? "work" : "task");
