/** Saved views: named filters, filters by the server for each person. */
import { Bookmark, BookmarkCheck, Trash2 } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { stale, useGet } from "../api/cache";
import { call } from "../api/client";
import type { StoredDraft, Page } from "../api/types";
import { Button } from "../components";
import { anchorOf, Dialog } from "../components/Dialog";
import { toast } from "../components/toast";
import { go, Link } from "../shell/router";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { FILTERS } from "./runsQuery";

const MINE = "/drafts?limit=200";
const KEY = "view.runs.";

interface View {
  name: string;
  search: string;
}

type Saved = View & { key: string; number: number };

/** The filters of an address in a fixed order, so that two views can be compared. */
export function savedSearch(search: URLSearchParams): string {
  const filters = new URLSearchParams();
  for (const name of [...FILTERS, "sort"]) if (search.get(name)) filters.set(name, search.get(name) ?? "");
  return filters.toString();
}

function useViews(): Saved[] {
  const { data } = useGet<Page<StoredDraft>>(MINE);
  return (data?.items ?? []).flatMap(({ key, number, body }) => {
    const { name, search } = (body ?? {}) as Partial<View>;
    return key.startsWith(KEY) && typeof name === "string" && typeof search === "string" ? [{ key, number, name, search }] : [];
  }).sort((a, b) => a.name.localeCompare(b.name));
}

export function Views({ search }: { search: URLSearchParams }): ReactNode {
  const { t } = useWords();
  const views = useViews();
  const [at, setAt] = useState<Element | null>(null);
  const here = savedSearch(search);
  const open = views.find((view) => view.search === here);
  return (
    <>
      <Button icon={open ? BookmarkCheck : Bookmark} aria-haspopup="dialog" onClick={(event) => setAt(event.currentTarget)}>{open?.name ?? t.runs.views.title}</Button>
      {at && <Menu at={at} views={views} here={here} onClose={() => setAt(null)} />}
    </>
  );
}

function Menu({ at, views, here, onClose }: { at: Element; views: Saved[]; here: string; onClose: () => void }): ReactNode {
  const { t } = useWords();
  const v = t.runs.views;
  const [name, setName] = useState("");
  const [error, setError] = useState<string | null>(null);
  const finish = async (request: Promise<unknown>, toastText: string) => {
    try {
      await request;
      stale(MINE);
      toast(toastText);
      return true;
    } catch (problem) {
      setError(errorText(problem, t));
      return false;
    }
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const called = name.trim();
    if (!called) return;
    const same = views.find((view) => view.name === called);
    const key = same?.key ?? `${KEY}${crypto.getRandomValues(new Uint32Array(2)).join("")}`;
    const body = { body: { name: called, search: here } satisfies View };
    if (await finish(call(`/drafts/${key}`, { method: "PUT", body, etag: same && `"${same.number}"` }), v.saved(called))) onClose();
  };
  const remove = (view: Saved) => void finish(call(`/drafts/${view.key}`, { method: "DELETE" }), v.removed(view.name));
  return (
    <Dialog label={v.title} anchor={anchorOf(at)} look="popover" onClose={onClose}>
      <h2>{v.title}</h2>
      {views.length === 0 ? <p className="dim">{v.none}</p> : (
        <ul className="views">
          <li><Link to="/runs" className="grow" aria-current={here === "" ? "true" : undefined} onClick={onClose}>{v.all}</Link></li>
          {views.map((view) => (
            <li key={view.key}>
              <Link to={`/runs?${view.search}`} className="grow cut" aria-current={view.search === here ? "true" : undefined} onClick={(event) => { event.preventDefault(); onClose(); go(`/runs?${view.search}`); }}>{view.name}</Link>
              <button type="button" className="btn btn-icon" aria-label={v.remove(view.name)} title={v.remove(view.name)} onClick={() => remove(view)}><Trash2 size={15} aria-hidden /></button>
            </li>
          ))}
        </ul>
      )}
      {here === "" ? <p className="dim">{v.plain}</p> : (
        <form className="view-save" onSubmit={(event) => void save(event)}>
          <label className="grow"><span className="label">{v.name}</span><input className="input" value={name} maxLength={60} autoFocus onChange={(event) => setName(event.target.value)} /></label>
          <Button type="submit" look="primary" disabled={!name.trim()}>{v.save}</Button>
        </form>
      )}
      {error && <p className="bad" role="alert">{error}</p>}
      <p className="dim3 menu-foot">{v.mine}</p>
    </Dialog>
  );
}
