/** Who is asked, or does it, instead of the one who is proposed. */
import { useId, useState, type FormEvent, type ReactNode } from "react";
import { Button } from "../../components";
import { useSession } from "../../shell/session";
import { person } from "../../words/why";
import { useDraftWords } from "./speech";

const KINDS = ["previous", "initiator", "anyone", "role", "group", "user"] as const;
type Kind = (typeof KINDS)[number];
const NAMED: readonly Kind[] = ["role", "group", "user"];

export function AskSomeone({ who, previous, label, act, disabled, onSend, onCancel }: { who: string; /** There is a step before. */ previous: boolean; label: string; act: string; disabled: boolean; onSend: (who: string) => void; onCancel: () => void }): ReactNode {
  const { t, d } = useDraftWords();
  const { users } = useSession();
  const id = useId();
  const [kind, setKind] = useState<Kind>(who === "initiator" || !previous ? "role" : "initiator");
  const [name, setName] = useState("");
  const [empty, setEmpty] = useState(false);
  const named = NAMED.includes(kind);
  const known = kind === "user" ? users.map((user) => user.id) : [...new Set(users.flatMap((user) => (kind === "role" ? user.roles : user.groups)))].sort();
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (named && !name.trim()) setEmpty(true);
    else onSend(named ? `${kind}:${name.trim()}` : kind);
  };
  return (
    <form className="todo-form" onSubmit={send}>
      <label className="label" htmlFor={`${id}-kind`}>{label}</label>
      <select id={`${id}-kind`} className="input" autoFocus value={kind} onChange={(event) => { setKind(event.target.value as Kind); setName(""); setEmpty(false); }}>{KINDS.filter((each) => each !== who && (previous || each !== "previous")).map((each) => <option key={each} value={each}>{d.askKinds[each]}</option>)}</select>
      {named && (
        <>
          <label className="sr" htmlFor={`${id}-name`}>{d.askName[kind]}</label>
          <input id={`${id}-name`} className="input" list={`${id}-known`} placeholder={d.askName[kind]} aria-invalid={empty || undefined} value={name} onChange={(event) => { setName(event.target.value); setEmpty(false); }} />
          <datalist id={`${id}-known`}>{known.map((each) => <option key={each} value={each}>{person(each, t)}</option>)}</datalist>
          {empty && <p className="bad">{d.askNeeded}</p>}
        </>
      )}
      <div className="todo-acts"><Button type="submit" look="primary" disabled={disabled}>{act}</Button><Button look="quiet" onClick={onCancel}>{d.cancel}</Button></div>
    </form>
  );
}
