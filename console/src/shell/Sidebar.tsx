/** The navigation: a sidebar, a rail on canvas screens, a bottom bar on a phone. */
import { ArchiveX, Ellipsis, FileBraces, FlaskConical, Gauge, House, Inbox, Rocket, Waypoints, type LucideIcon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Home, Item, Page } from "../api/types";
import { Face } from "../components";
import { DEPLOYMENTS_PAGE } from "../deploy/requests";
import { stuckCount } from "../home/stuckCount";
import { ROOMS } from "../languages";
import { useCauseCount } from "../letters/messageCauses";
import { RULES_PAGE } from "../rules/requests";
import { people } from "../words/why";
import { useWords } from "../words";
import { Mark } from "./Mark";
import { Link, usePath } from "./router";
import { may, useSession } from "./session";
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
  const { me } = useSession();
  const { data: inbox } = useGet<Page<Item>>(may(me, "inbox.read") ? "/inbox?mine=true&limit=50" : null);
  const { data: home } = useGet<Home>(may(me, "run.read") ? "/home?scope=mine" : null);
  const waiting = inbox?.total ?? inbox?.items.length;
  const stuck = home && home.headline.stuck > 0 ? stuckCount(home.headline, f) : undefined;
  const places: (Place & { permission: string })[] = [
    { permission: "run.read", to: "/", text: t.nav.home, icon: House },
    { permission: "inbox.read", to: "/inbox", text: t.nav.inbox, icon: Inbox, count: waiting ? f.number(waiting) : undefined },
    { permission: "run.read", to: "/runs", text: t.nav.runs, icon: Waypoints, count: stuck, means: stuck && t.nav.stuckN(stuck) },
    { permission: "definition.read", to: "/definitions", text: t.nav.definitions, icon: FileBraces },
  ];
  return places.filter(({ permission }) => may(me, permission));
}

interface Group {
  text: string;
  places: Place[];
}

/** By work, and what operates all of it: as far as I may enter. */
function useGroups(): Group[] {
  const { t, f } = useWords();
  const { me } = useSession();
  const causes = useCauseCount();
  const count = causes ? f.number(causes) : undefined;
  const rooms = ROOMS.filter((room) => may(me, room.permission)).map((room) => ({ to: `/${room.path}`, text: room.text(t), icon: room.icon }));
  const manage: Place[] = [
    ...(may(me, "deploy.read") ? [{ to: DEPLOYMENTS_PAGE, text: t.nav.deployments, icon: Rocket }] : []),
    ...(may(me, "registry.read") ? [{ to: RULES_PAGE, text: t.nav.rules, icon: FlaskConical }] : []),
    ...(may(me, "ops.read") ? [{ to: "/ops/dead-letters", text: t.nav.letters, icon: ArchiveX, count, means: count && t.nav.causesN(count) }, { to: "/ops", text: t.nav.ops, icon: Gauge }] : []),
  ];
  return [{ text: t.nav.byWork, places: rooms }, { text: t.nav.manage, places: manage }].filter((group) => group.places.length > 0);
}

const here = (path: string, to: string): boolean => (to === "/" || to === "/ops" ? path === to : path.startsWith(to));

export function Sidebar({ rail }: { rail: boolean }): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  const path = usePath();
  const places = usePlaces();
  const groups = useGroups();
  const [menu, setMenu] = useState<Element | null>(null);
  return (
    <nav className={`side ${rail ? "side-rail" : ""}`} aria-label={t.nav.main}>
      <Link to="/" className="side-brand" aria-label={`Penstock, ${t.nav.home}`}>
        <Mark />
        {!rail && <span>Penstock</span>}
      </Link>
      <Places places={places} path={path} rail={rail} />
      {groups.map((group) => (
        <div key={group.text} role="group" aria-label={group.text}>
          {rail ? <hr className="side-line" /> : <p className="side-head" aria-hidden>{group.text}</p>}
          <Places places={group.places} path={path} rail={rail} />
        </div>
      ))}
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

function Places({ places, path, rail }: { places: Place[]; path: string; rail: boolean }): ReactNode {
  return (
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
