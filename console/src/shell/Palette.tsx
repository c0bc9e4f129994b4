/** Ctrl K: finds runs and commands; arrows and Enter are enough. */
import { ArrowRight, FileBraces, Search, SunMoon, Waypoints, type LucideIcon } from "lucide-react";
import { useEffect, useState, type KeyboardEvent, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { query } from "../api/client";
import type { Definition, Page, RunSummary } from "../api/types";
import { Badge } from "../components";
import { Dialog } from "../components/Dialog";
import { DEPLOYMENTS_PAGE } from "../deploy/requests";
import { ROOMS } from "../languages";
import { RULES_PAGE } from "../rules/requests";
import { useWords } from "../words";
import { go } from "./router";
import { may, useSession } from "./session";
import { setTheme, theme } from "./theme";

interface Choice {
  id: string;
  text: ReactNode;
  plain: string;
  icon: LucideIcon;
  end?: ReactNode;
  run: () => void;
}

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }): ReactNode {
  const { t, locale, setLocale, runWord } = useWords();
  const { me } = useSession();
  const [text, setText] = useState("");
  const [searched, setSearched] = useState("");
  const [at, setAt] = useState(0);
  useEffect(() => {
    const timer = window.setTimeout(() => setSearched(text.trim()), 150);
    return () => window.clearTimeout(timer);
  }, [text]);
  const { data } = useGet<Page<RunSummary>>(`/runs${query({ q: searched, limit: 8 })}`);
  const matching = useLast(data)?.items ?? [];
  const commands: Choice[] = [
    ...([["/", t.nav.home], ["/inbox", t.nav.inbox], ["/runs", t.nav.runs], ["/definitions", t.nav.definitions], ["/proposals", t.nav.proposals], ["/ops", t.nav.ops], ["/ops/dead-letters", t.nav.letters], [DEPLOYMENTS_PAGE, t.nav.deployments], [RULES_PAGE, t.nav.rules], ...ROOMS.map((room): [string, string] => [`/${room.path}`, room.text(t)])] as [string, string][]).map(([to, name]) => (
      { id: to, text: t.palette.goTo(name), plain: t.palette.goTo(name), icon: ArrowRight, run: () => go(to) })),
    { id: "theme", text: theme() === "dark" ? t.nav.light : t.nav.dark, plain: `${t.nav.light} ${t.nav.dark}`, icon: SunMoon, run: () => setTheme(theme() === "dark" ? "light" : "dark") },
    { id: "locale", text: t.nav.locale, plain: t.nav.locale, icon: ArrowRight, run: () => setLocale(locale === "ko" ? "en" : "ko") },
    { id: "keys", text: t.nav.keys, plain: t.nav.keys, icon: ArrowRight, run: onHelp },
  ].filter((command) => !text || command.plain.toLowerCase().includes(text.toLowerCase()));
  const runs: Choice[] = matching.map((run) => ({
    id: run.id, icon: Waypoints, plain: run.title,
    text: <>{run.title} <span className="dim mono">{run.key ?? run.id.slice(0, 9)}</span></>,
    end: <Badge tone={run.tone} state={run.state}>{runWord(run)}</Badge>,
    run: () => go(`/runs/${run.id}`),
  }));
  const { data: page } = useGet<Page<Definition>>(searched && may(me, "definition.read") ? "/definitions?limit=200" : null);
  const definitions: Choice[] = (searched ? (page?.items ?? []) : []).filter((definition) => `${definition.title} ${definition.name}`.toLowerCase().includes(searched.toLowerCase())).slice(0, 5).map((definition) => ({
    id: `definition ${definition.name}`.replaceAll(" ", "-"), icon: FileBraces, plain: definition.title, text: <>{definition.title} <span className="dim mono">{definition.name}</span></>, run: () => go(`/definitions/${encodeURIComponent(definition.name)}`),
  }));
  const all = text ? [...runs, ...definitions, ...commands] : [...commands, ...runs];
  const pick = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    choice.run();
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(at + 1, all.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Enter") pick(all[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label={t.palette.title} look="palette" onClose={onClose}>
      <div className="palette-in">
        <Search size={17} aria-hidden />
        <input autoFocus value={text} placeholder={t.palette.hint} aria-label={t.palette.hint} role="combobox" aria-expanded="true" aria-controls="palette-list"
          aria-activedescendant={all[at] ? `palette-${all[at].id}` : undefined} onChange={(event) => { setText(event.target.value); setAt(0); }} onKeyDown={key} />
        <kbd className="kbd">Esc</kbd>
      </div>
      <ul id="palette-list" className="palette-list" role="listbox" aria-label={t.palette.title}>
        {all.map((choice, i) => (
          <li key={choice.id} id={`palette-${choice.id}`} role="option" aria-selected={i === at} onMouseMove={() => setAt(i)} onClick={() => pick(choice)}>
            <choice.icon size={15} aria-hidden />
            <span className="grow cut">{choice.text}</span>
            {choice.end}
          </li>
        ))}
        {all.length === 0 && <li role="option" aria-selected="false" className="dim">{t.palette.nothing}</li>}
      </ul>
    </Dialog>
  );
}
