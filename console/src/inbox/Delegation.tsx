/** Moves of an item besides its decision: claim, release, delegate, escalate. */
import { ArrowUpFromLine, Ellipsis, Hand, HandHelping, UserPlus, Waypoints, type LucideIcon } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { put, stale } from "../api/cache";
import { newKey, post } from "../api/client";
import type { Item } from "../api/types";
import { Button, Face } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import { itemPartsOf } from "../languages";
import { go } from "../shell/router";
import { useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { people, person } from "../words/why";
import { itemPath } from "./itemPath";

interface Props {
  item: Item;
  disabled: boolean;
  phone: boolean;
  /** Further moves, where there is no room for buttons. */
  more?: { icon: LucideIcon; text: string; act: (from: Anchor | null) => void }[];
}

type MenuMove = "give" | "escalate";

export function ItemMenu({ item, disabled, phone, more = [] }: Props): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  const [menu, setMenu] = useState<Anchor | null>(null);
  const [asked, setAsked] = useState<{ what: MenuMove; anchor: Anchor | null } | null>(null);
  const claimedByMe = item.claimed_by === me.user;
  const send = async (verb: "claim" | "release", toastText: string) => {
    setMenu(null);
    try {
      put(itemPath(item), await post<Item>(`${itemPath(item)}/${verb}`));
      stale("/inbox?");
      toast(toastText);
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
  };
  const ask = (what: MenuMove) => { setMenu(null); setAsked({ what, anchor: menu }); };
  const lines: { icon: LucideIcon; text: string; shown: boolean; act: () => void }[] = [
    { icon: Waypoints, text: t.inbox.seeRun, shown: phone, act: () => go(`/runs/${item.run}?node=${encodeURIComponent(item.node)}`) },
    { icon: UserPlus, text: t.inbox.delegate, shown: phone && item.eligible && !disabled && (!item.work || item.moves.some((move) => move.verb === "delegate")), act: () => ask("give") },
    ...more.map((entry) => ({ ...entry, shown: !disabled, act: () => { setMenu(null); entry.act(menu); } })),
    { icon: Hand, text: t.inbox.claim, shown: item.eligible && !disabled && !item.claimed_by && !item.work, act: () => void send("claim", t.inbox.claimed) },
    { icon: HandHelping, text: t.inbox.release, shown: claimedByMe && !disabled, act: () => void send("release", t.inbox.released) },
    { icon: ArrowUpFromLine, text: t.inbox.escalate, shown: item.eligible && !disabled && item.kind === "approval", act: () => ask("escalate") },
  ];
  const shown = lines.filter((line) => line.shown);
  return (
    <>
      {shown.length > 0 && <Button look={phone ? "icon" : "quiet"} className="item-menu" aria-label={t.inbox.moreMoves} aria-haspopup="dialog" onClick={(event) => setMenu(anchorOf(event.currentTarget))}><Ellipsis size={phone ? 20 : 16} aria-hidden /></Button>}
      {menu && (
        <Dialog label={t.inbox.moreMoves} look="popover" anchor={menu} onClose={() => setMenu(null)}>
          <ul className="menu">{shown.map(({ icon: Icon, text, act }) => <li key={text}><button type="button" onClick={act}><Icon size={16} aria-hidden /><span className="grow">{text}</span></button></li>)}</ul>
        </Dialog>
      )}
      {asked?.what === "give" && <Give item={item} anchor={asked.anchor} onClose={() => setAsked(null)} />}
      {asked?.what === "escalate" && <Escalate item={item} anchor={asked.anchor} onClose={() => setAsked(null)} />}
    </>
  );
}

export function Delegate({ item, disabled }: { item: Item; disabled: boolean }): ReactNode {
  const { t } = useWords();
  const [at, setAt] = useState<Anchor | null>(null);
  if (!item.eligible) return null;
  return (
    <>
      <Button look="quiet" icon={UserPlus} disabled={disabled} aria-haspopup="dialog" onClick={(event) => setAt(anchorOf(event.currentTarget))}>{t.inbox.delegate}</Button>
      {at && <Give item={item} anchor={at} onClose={() => setAt(null)} />}
    </>
  );
}

/** Sends a move once; a refusal is shown in the dialog, which stays open. */
function useMove(item: Item, verb: string, toastText: string, onClose: () => void) {
  const parts = itemPartsOf(item);
  const { t } = useWords();
  const [key] = useState(newKey);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const send = async (body: Record<string, string | null>) => {
    setBusy(true);
    try {
      if (parts) await post(parts.path(item, verb), body, key);
      else put(itemPath(item), await post<Item>(`${itemPath(item)}/${verb}`, body, key));
      stale("/inbox", "/home");
      toast(toastText);
      onClose();
    } catch (problem) {
      setError(errorText(problem, t));
      setBusy(false);
    }
  };
  return { send, busy, error, setError };
}

interface AskProps {
  item: Item;
  anchor: Anchor | null;
  onClose: () => void;
}

/** Chooses a registered person or role; where the register may not be read, a name is typed. */
function Picker({ to, onPick }: { to: string; onPick: (to: string) => void }): ReactNode {
  const { t } = useWords();
  const { users, me } = useSession();
  const [find, setFind] = useState("");
  const others = users.filter((user) => user.id !== me.user);
  const roles = [...new Set(others.flatMap((user) => user.roles))];
  const all = [
    ...others.map((user) => ({ id: `user:${user.id}`, name: user.name, about: people(user.roles.slice(0, 2), t) })),
    ...roles.map((role) => ({ id: `role:${role}`, name: person(role, t), about: t.inbox.giveRole })),
  ];
  const matching = all.filter((candidate) => `${candidate.id} ${candidate.name} ${candidate.about}`.toLowerCase().includes(find.trim().toLowerCase()));
  if (all.length === 0) return <input data-first className="input mono" aria-label={t.inbox.delegateTo} placeholder={t.inbox.giveWho} value={to} onChange={(event) => onPick(event.target.value.trim())} />;
  return (
    <>
      <input data-first className="input" type="search" aria-label={t.inbox.giveFind} placeholder={t.inbox.giveFind} value={find} onChange={(event) => setFind(event.target.value)} />
      <div className="give" role="radiogroup" aria-label={t.inbox.delegateTo}>
        {matching.map((candidate) => (
          <label key={candidate.id} className={candidate.id === to ? "give-one give-on" : "give-one"}>
            <input type="radio" name="give" checked={candidate.id === to} onChange={() => onPick(candidate.id)} />
            <Face name={candidate.name} size={24} /><span className="grow">{candidate.name} <span className="dim">{candidate.about}</span></span>
          </label>
        ))}
        {matching.length === 0 && <p className="dim">{t.inbox.giveNobody}</p>}
      </div>
    </>
  );
}

function Give({ item, anchor, onClose }: AskProps): ReactNode {
  const { t } = useWords();
  const { send, busy, error, setError } = useMove(item, "delegate", t.inbox.delegated, onClose);
  return <Passing title={t.inbox.giveTitle} text={t.inbox.giveText} verb={t.inbox.giveDo} icon={UserPlus} picks danger={false} anchor={anchor} busy={busy} error={error} setError={setError} onClose={onClose} send={send} />;
}

function Escalate({ item, anchor, onClose }: AskProps): ReactNode {
  const { t } = useWords();
  const { send, busy, error, setError } = useMove(item, "escalate", t.inbox.escalateDone, onClose);
  const named = !!item.due_then?.to; // the document says who is above
  return <Passing title={t.inbox.escalateTitle} text={named ? t.inbox.escalateText : t.inbox.escalateWho} verb={t.inbox.escalate} icon={ArrowUpFromLine} picks={!named} danger anchor={anchor} busy={busy} error={error} setError={setError} onClose={onClose} send={send} />;
}

interface PassingProps {
  title: string;
  text: string;
  verb: string;
  icon: LucideIcon;
  picks: boolean;
  danger: boolean;
  anchor: Anchor | null;
  busy: boolean;
  error: string | null;
  setError: (error: string | null) => void;
  onClose: () => void;
  send: (body: Record<string, string | null>) => Promise<void>;
}

function Passing({ title, text, verb, icon, picks, danger, anchor, busy, error, setError, onClose, send }: PassingProps): ReactNode {
  const { t } = useWords();
  const [to, setTo] = useState("");
  const [note, setNote] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (picks && !to) setError(t.inbox.givePick);
    else void send({ ...(to ? { to } : {}), comment: note.trim() || null });
  };
  return (
    <Dialog label={title} look="popover" anchor={anchor} onClose={onClose}>
      <form className="move-form" onSubmit={submit}>
        <h2>{title}</h2>
        <p className="dim">{text}</p>
        {picks && <Picker to={to} onPick={(next) => { setError(null); setTo(next); }} />}
        <label><span className="label">{t.inbox.note}<span className="dim">{t.common.optional}</span></span><textarea className="input" rows={2} value={note} onChange={(event) => setNote(event.target.value)} /></label>
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot"><Button data-first={!picks || undefined} onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look={danger ? "danger" : "primary"} icon={icon} disabled={busy}>{verb}</Button></div>
      </form>
    </Dialog>
  );
}
