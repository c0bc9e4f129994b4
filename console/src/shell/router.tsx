/** Every view is an address: path and query are the only place where navigation is kept. */
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent, type ReactNode } from "react";

const listeners = new Set<() => void>();
const notify = () => listeners.forEach((listener) => listener());
window.addEventListener("popstate", notify);

export function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (to === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  notify();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function usePath(): string {
  return useSyncExternalStore(subscribe, () => location.pathname);
}

export function useSearch(): URLSearchParams {
  const text = useSyncExternalStore(subscribe, () => location.search);
  return useMemo(() => new URLSearchParams(text), [text]);
}

/** Change parts of the query; null takes a part away. */
export function setSearch(parts: Record<string, string | null>, { replace = true }: { replace?: boolean } = {}): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(parts))
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  const text = next.toString();
  go(location.pathname + (text ? `?${text}` : ""), { replace });
}

/** One part of the query as state. */
export function useParam(name: string): [string | null, (value: string | null) => void] {
  const search = useSearch();
  const set = useCallback((value: string | null) => setSearch({ [name]: value }), [name]);
  return [search.get(name), set];
}

/** One part of the query that is typed: the address follows after a moment of rest, and the box follows the address. */
export function useTypedParam(name: string): [string, (text: string) => void] {
  const [value, set] = useParam(name);
  const wanted = value ?? "";
  const [text, setText] = useState(wanted);
  useEffect(() => setText((typed) => (typed.trim() === wanted ? typed : wanted)), [wanted]); // Back, a link, a saved view
  useEffect(() => {
    if (text.trim() === wanted) return;
    const timer = window.setTimeout(() => set(text.trim() || null), 250);
    return () => window.clearTimeout(timer);
  }, [text]); // only typing changes the address; a change of the address does not come back
  return [text, setText];
}

type LinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & { to: string; children?: ReactNode };

export function Link({ to, onClick, children, ...rest }: LinkProps): ReactNode {
  const click = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={to} onClick={click} {...rest}>
      {children}
    </a>
  );
}
