/** One to-do: its sentence, one proposal with its effect, and how else it can be answered. */
import { ArrowRight, Check, CircleX, Lightbulb, PencilLine } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import type { Dict } from "../../api/types";
import { Button } from "../../components";
import { AskSomeone } from "./AskSomeone";
import type { DrawingFile } from "./drawingFile";
import { VendorWords } from "./ElementCard";
import { askedBy, askOf, choicesOf, effectText, proposalText, titleOf, type Sentence } from "./sentences";
import { useDraftWords } from "./speech";
import { asksTime, TimerValue } from "./TimerValue";
import type { Todo } from "./types";
import type { DraftWork } from "./work";
import { WrittenAnswer } from "./WrittenAnswer";

/** How a to-do is being answered, besides by its proposal. */
export type Way = "write" | "ask" | null;

interface Props {
  work: DraftWork;
  todo: Todo;
  file: DrawingFile;
  selected: boolean;
  way: Way;
  may: boolean;
  onWay: (way: Way) => void;
  onSelect: () => void;
  /** It was answered. */
  onDone: () => void;
}

export const Say = ({ sentence }: { sentence: Sentence }): ReactNode => <span lang={sentence.foreign ? "en" : undefined}>{sentence.text}</span>;

export function TodoCard({ work, todo, file, selected, way, may, onWay, onSelect, onDone }: Props): ReactNode {
  const { t, f, d } = useDraftWords();
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => { if (selected) card.current?.scrollIntoView({ block: "nearest" }); }, [selected]);
  const proposal = todo.proposals[0];
  const element = file.elements.get(todo.element);
  const timed = asksTime(todo.form);
  const writable = Object.keys(todo.form.properties ?? {}).some((name) => name !== "changes"); // what is drawn is changed in the drawing
  const names = Object.keys(todo.form.properties ?? {}).join() === "who" && todo.form.properties?.["who"]?.type === "string";
  const disabled = !may || work.busy;
  const finished = (done: boolean) => { if (done) onDone(); return done; };
  const take = (n: number) => void work.take(todo, n).then(finished);
  const write = (answer: Dict) => work.write(todo, answer).then(finished);
  const refused = work.refused?.key === todo.key ? work.refused.text : null;
  return (
    <li ref={card} id={`todo-${todo.no}`} className={`todo ${selected ? "todo-on" : ""}`} data-todo={todo.no} data-kind={todo.kind}>
      <div className="todo-top">
        <span className="draft-no tone-held" aria-hidden>{todo.no}</span>
        <button type="button" className="todo-title" aria-expanded={selected} onClick={onSelect}><span className="sr">{d.todoN(todo.no)}: </span><Say sentence={titleOf(todo, t)} /></button>
        {!todo.required && <span className="tag">{d.optional}</span>}
        {!proposal && writable && <span className="dim small todo-none">{d.noProposal}</span>}
        {proposal && !selected && <Button disabled={disabled} onClick={() => take(0)} aria-label={`${d.takeShort}: ${titleOf(todo, t).text}`}>{d.takeShort}</Button>}
      </div>
      {proposal && (selected ? <Proposal todo={todo} file={file} /> : <p className="todo-line"><Lightbulb size={14} aria-hidden /><Say sentence={proposalText(proposal, file, t, f)} /></p>)}
      {!proposal && !writable && <p className="todo-line dim">{todo.hint ? <span lang="en">{todo.hint}</span> : d.fileOnly}</p>}
      {!proposal && timed && way !== "write" && <TimerValue work={work} todo={todo} file={file} disabled={disabled} onSend={write} />}
      {todo.proposals.slice(1).map((other, i) => <p key={i} className="todo-line todo-other"><span>{d.or}</span> <button type="button" className="linklike" disabled={disabled} onClick={() => take(i + 1)}><Say sentence={proposalText(other, file, t, f)} /></button></p>)}
      {selected && way === null && (
        <div className="todo-acts">
          {proposal && <Button look="primary" icon={Check} data-first disabled={disabled} title={`${d.take} (a)`} onClick={() => take(0)}>{d.take}</Button>}
          {writable && !(timed && !proposal) && <Button icon={proposal ? undefined : PencilLine} disabled={disabled} onClick={() => onWay("write")}>{todo.kind === "gateway_conditions" ? d.writeConditions : d.write}</Button>}
          {writable && timed && !proposal && <Button look="quiet" disabled={disabled} onClick={() => onWay("write")}>{d.otherValue}</Button>}
          {proposal && askOf(proposal.answer) && <Button look="quiet" disabled={disabled} onClick={() => onWay("ask")}>{d.askOther}</Button>}
        </div>
      )}
      {selected && way === "write" && names && <AskSomeone who="" previous={false} label={d.whoDoes} act={d.whoDoesDo} disabled={disabled} onSend={(who) => void write({ who })} onCancel={() => onWay(null)} />}
      {selected && way === "write" && !names && <WrittenAnswer work={work} todo={todo} file={file} disabled={disabled} onSend={write} onCancel={() => onWay(null)} />}
      {selected && way === "ask" && proposal && <AskSomeone who={askOf(proposal.answer)?.who ?? ""} previous label={d.askWho} act={d.askDo} disabled={disabled} onSend={(who) => void write(askedBy(proposal.answer, who))} onCancel={() => onWay(null)} />}
      {selected && element && element.vendor.length > 0 && <VendorWords element={element} />}
      {refused && <p className="bad" role="alert"><CircleX size={13} aria-hidden />{refused}</p>}
    </li>
  );
}

function Proposal({ todo, file }: { todo: Todo; file: DrawingFile }): ReactNode {
  const { t, f } = useDraftWords();
  const proposal = todo.proposals[0];
  if (!proposal) return null;
  const effect = effectText(todo, proposal, file, t);
  const choices = choicesOf(proposal.answer, file);
  return (
    <div className="todo-proposal">
      <p className="todo-line"><Lightbulb size={15} aria-hidden /><b><Say sentence={proposalText(proposal, file, t, f)} /></b></p>
      {effect && <p className="dim small">{effect}</p>}
      {choices.length > 0 && <ul className="todo-choices">{choices.map(({ flow, label, next }) => <li key={flow}><span className="todo-choice">{label}</span><ArrowRight size={14} aria-hidden /><span>{next}</span></li>)}</ul>}
    </div>
  );
}
