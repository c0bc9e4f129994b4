/** The navigation: a sidebar, a rail on canvas screens, a bottom bar on a phone. */
import { Ellipsis, FileBraces, House, Inbox, Waypoints, type LucideIcon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Home, Item, Page } from "../api/types";
import { Face } from "../components";
import { stuckCount } from "../home/stuckCount";
import { people } from "../words/why";
import { useWords } from "../words";
import { Mark } from "./Mark";
import { Link, usePath } from "./router";
import { useSession } from "./session";
import { UserMenu } from "./UserMenu";

interface Place {
  to: string;
  text: string;
  icon: LucideIcon;
  /** Only what asks for somebody is counted. */
  count?: string;
  /** What it counts, where the place's own name does not say it. */
  means?: string;
}

function usePlaces(): Place[] {
  const { t, f } = useWords();
  const { data: inbox } = useGet<Page<Item>>("/inbox?mine=true&limit=50");
  const { data: home } = useGet<Home>("/home?scope=mine");
  const waiting = inbox?.total ?? inbox?.items.length;
  const stuck = home && home.headline.stuck > 0 ? stuckCount(home.headline, f) : undefined;
  return [
    { to: "/", text: t.nav.home, icon: House },
    { to: "/inbox", text: t.nav.inbox, icon: Inbox, count: waiting ? f.number(waiting) : undefined },
    { to: "/runs", text: t.nav.runs, icon: Waypoints, count: stuck, means: stuck && t.nav.stuckN(stuck) },
    { to: "/definitions", text: t.nav.definitions, icon: FileBraces },
  ];
}

const here = (path: string, to: string): boolean => (to === "/" ? path === "/" : path.startsWith(to));

export function Sidebar({ rail }: { rail: boolean }): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  const path = usePath();
  const places = usePlaces();
  const [menu, setMenu] = useState<Element | null>(null);
  return (
    <nav className={`side ${rail ? "side-rail" : ""}`} aria-label={t.nav.main}>
      <Link to="/" className="side-brand" aria-label={`Penstock, ${t.nav.home}`}>
        <Mark />
        {!rail && <span>Penstock</span>}
      </Link>
      <ul>
        {places.map(({ to, text, icon: Icon, count, means }) => (
          <li key={to}>
            <Link to={to} className="side-item" aria-current={here(path, to) ? "page" : undefined} title={rail ? text : undefined}>
              <Icon size={16} strokeWidth={1.9} aria-hidden />
              <span className={rail ? "sr" : "grow"}>{text}</span>
              {count && <span className={means ? "side-asks side-stuck" : "side-asks"} aria-label={means} role={means ? "img" : undefined} title={means}>{count}</span>}
            </Link>
          </li>
        ))}
      </ul>
      <button type="button" className="side-user" aria-haspopup="dialog" title={rail ? me.name : undefined} onClick={(event) => setMenu(event.currentTarget)}>
        <Face name={me.name} size={28} />
        <span className={rail ? "sr" : "side-who"}>
          <b>{me.name}</b>
          <span>{people(me.roles.slice(0, 1), t)} · {me.tenant}</span>
        </span>
      </button>
      {menu && <UserMenu at={menu} onClose={() => setMenu(null)} />}
    </nav>
  );
}

export function BottomBar(): ReactNode {
  const { t } = useWords();
  const path = usePath();
  const places = usePlaces();
  const [menu, setMenu] = useState<Element | null>(null);
  return (
    <nav className="bottom" aria-label={t.nav.main}>
      {places.slice(0, 3).map(({ to, text, icon: Icon, count, means }) => (
        <Link key={to} to={to} aria-current={here(path, to) ? "page" : undefined}>
          <span className="bottom-icon"><Icon size={20} strokeWidth={1.9} aria-hidden />{count && <span className={means ? "side-asks side-stuck" : "side-asks"} aria-label={means} role={means ? "img" : undefined}>{count}</span>}</span>
          {text}
        </Link>
      ))}
      <button type="button" aria-haspopup="dialog" onClick={(event) => setMenu(event.currentTarget)}>
        <span className="bottom-icon"><Ellipsis size={20} strokeWidth={1.9} aria-hidden /></span>
        {t.nav.more}
      </button>
      {menu && <UserMenu at={menu} onClose={() => setMenu(null)} />}
    </nav>
  );
}
