/** The user menu: theme, locale, keys, signing out, and in development switching to another user. */
import { ArchiveX, Check, FileBraces, FlaskConical, Gauge, GitPullRequestArrow, Keyboard, Languages, LogOut, Rocket, SunMoon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Face } from "../components";
import { anchorOf, Dialog } from "../components/Dialog";
import { useNarrow } from "../components/useNarrow";
import { DEPLOYMENTS_PAGE } from "../deploy/requests";
import { ROOMS } from "../languages";
import { RULES_PAGE } from "../rules/requests";
import { keep, useWords } from "../words";
import { people } from "../words/why";
import { keysOn } from "./keys";
import { go } from "./router";
import { may, useSession } from "./session";
import { setTheme, useTheme } from "./theme";

export function UserMenu({ at, onClose }: { at: Element; onClose: () => void }): ReactNode {
  const { t, locale, setLocale } = useWords();
  const { me, users, demo, become, leave } = useSession();
  const theme = useTheme();
  const phone = useNarrow();
  const [keys, setKeys] = useState(keysOn);
  return (
    <Dialog label={t.nav.user} anchor={anchorOf(at)} look="popover" onClose={onClose}>
      <div className="menu-who">
        <Face name={me.name} size={36} />
        <div>
          <b>{me.name}</b>
          <p className="dim">{people(me.roles, t)} · {me.tenant}</p>
        </div>
      </div>
      <ul className="menu">
        {phone && <li><button type="button" onClick={() => { onClose(); go("/definitions"); }}><FileBraces size={16} aria-hidden />{t.nav.definitions}</button></li>}
        {phone && ROOMS.filter((room) => may(me, room.permission)).map((room) => <li key={room.path}><button type="button" onClick={() => { onClose(); go(`/${room.path}`); }}><room.icon size={16} aria-hidden />{room.text(t)}</button></li>)}
        {phone && may(me, "deploy.read") && <li><button type="button" onClick={() => { onClose(); go(DEPLOYMENTS_PAGE); }}><Rocket size={16} aria-hidden />{t.nav.deployments}</button></li>}
        {phone && may(me, "registry.read") && <li><button type="button" onClick={() => { onClose(); go(RULES_PAGE); }}><FlaskConical size={16} aria-hidden />{t.nav.rules}</button></li>}
        {phone && may(me, "ops.read") && <li><button type="button" onClick={() => { onClose(); go("/ops/dead-letters"); }}><ArchiveX size={16} aria-hidden />{t.nav.letters}</button></li>}
        {may(me, "registry.read") && <li><button type="button" onClick={() => { onClose(); go("/proposals"); }}><GitPullRequestArrow size={16} aria-hidden />{t.nav.proposals}</button></li>}
        {may(me, "ops.read") && <li><button type="button" onClick={() => { onClose(); go("/ops"); }}><Gauge size={16} aria-hidden />{t.nav.ops}</button></li>}
        <li><button type="button" onClick={() => setTheme(theme === "dark" ? "light" : "dark")}><SunMoon size={16} aria-hidden />{theme === "dark" ? t.nav.light : t.nav.dark}</button></li>
        <li><button type="button" onClick={() => setLocale(locale === "ko" ? "en" : "ko")} lang={locale === "ko" ? "en" : "ko"}><Languages size={16} aria-hidden />{t.nav.locale}</button></li>
        <li><button type="button" onClick={() => { keep("ps.keys", keys ? "off" : "on"); setKeys(!keys); }}><Keyboard size={16} aria-hidden />{keys ? t.nav.keysOff : t.nav.keysOn}</button></li>
        {!demo && <li><button type="button" onClick={() => void leave()}><LogOut size={16} aria-hidden />{t.nav.signOut}</button></li>}
      </ul>
      {demo && users.length > 1 && (
        <>
          <p className="menu-head">{t.nav.switchUser}</p>
          <ul className="menu menu-users">
            {users.map((user) => (
              <li key={user.id}>
                <button type="button" aria-current={user.id === me.user ? "true" : undefined} onClick={() => { onClose(); void become(user.id); }}>
                  <Face name={user.name} size={22} />
                  <span className="grow">{user.name} <span className="dim">{people(user.roles.slice(0, 2), t)}</span></span>
                  {user.id === me.user && <Check size={15} aria-hidden />}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      <p className="dim3 menu-foot">Penstock {me.version}</p>
    </Dialog>
  );
}
