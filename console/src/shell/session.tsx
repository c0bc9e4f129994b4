/** The session: who is signed in. In development it begins as the first administrator. */
import { KeyRound } from "lucide-react";
import { createContext, useCallback, useContext, useEffect, useState, type FormEvent, type ReactNode } from "react";
import { forgetAll } from "../api/cache";
import { ApiError, call, post } from "../api/client";
import type { DevUser, Me, Page, SessionAsked } from "../api/types";
import { Button, Failed, Segment } from "../components";
import { firstLocale, WordsProvider, useWords } from "../words";
import { errorText } from "../words/errorText";
import { setNames } from "../words/why";

interface Session {
  me: Me;
  /** All registered people, as far as I may read them. */
  users: DevUser[];
  /** In development I can be any of them. */
  demo: boolean;
  become: (user: string) => Promise<void>;
  leave: () => Promise<void>;
}

const Context = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error("the session is asked for outside of its provider");
  return session;
}

export const may = (me: Me, permission: string): boolean => me.permissions.includes(permission) || me.permissions.includes("*");

/** Who belongs to one organisation of the tenant is told no sums over all of it. */
export const seesWholeTenant = (me: Me): boolean => me.organization_id === null;

type Entered = { me: Me; users: DevUser[]; demo: boolean } | { signIn: true } | { error: unknown };

async function enter(): Promise<Entered> {
  try {
    const me = await call<Me>("/me");
    const demo = me.profile === "dev" ? await devUsers() : [];
    return { me, users: demo.length ? demo : await registered(me), demo: demo.length > 0 };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) return { error };
  }
  const users = await devUsers();
  const first = users.find((user) => user.roles.includes("admin")) ?? users[0];
  if (!first) return { signIn: true };
  try {
    await post("/dev/session", { user: first.id });
    return { me: await call<Me>("/me"), users, demo: true };
  } catch (error) {
    return { error };
  }
}

async function devUsers(): Promise<DevUser[]> {
  return call<{ items: DevUser[] }>("/dev/users").then((page) => page.items, () => []);
}

async function registered(me: Me): Promise<DevUser[]> {
  if (!may(me, "registry.read")) return [];
  const page = await call<Page<Registered>>("/users?limit=200").catch(() => null);
  return (page?.items ?? []).filter(({ body }) => body.active !== false).map(({ id, body }) => ({ id, name: body.name || id, roles: body.roles ?? [], groups: body.groups ?? [] }));
}

interface Registered {
  id: string;
  body: { name?: string; roles?: string[]; groups?: string[]; active?: boolean };
}

export function SessionProvider({ children }: { children: ReactNode }): ReactNode {
  const [entered, setEntered] = useState<Entered | null>(null);
  const load = useCallback(() => enter().then((next) => {
    if ("users" in next) setNames(next.users);
    setEntered(next);
  }), []);
  useEffect(() => void load(), [load]);
  if (entered === null) return <div className="booting" aria-busy="true" />;
  if ("error" in entered) return <WordsProvider me={null}><main><Failed page error={entered.error} retry={() => void load()} /></main></WordsProvider>;
  if ("signIn" in entered) return <WordsProvider me={null}><SignIn done={() => void load()} /></WordsProvider>;
  const become = async (user: string) => {
    await post("/dev/session", { user });
    forgetAll(true);
    await load();
  };
  const leave = async () => {
    await call("/session", { method: "DELETE" });
    location.assign("/");
  };
  return (
    <Context.Provider value={{ me: entered.me, users: entered.users, demo: entered.demo, become, leave }}>
      <WordsProvider me={entered.me}>{children}</WordsProvider>
    </Context.Provider>
  );
}

function SignIn({ done }: { done: () => void }): ReactNode {
  const { t } = useWords();
  const [kind, setKind] = useState<keyof SessionAsked>("key");
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const change = (typed: string) => {
    setText(typed);
    // a pasted credential shows its kind
    if (typed.startsWith("ps_")) setKind("key");
    else if (/^eyJ[\w-]+\.[\w-]+\./.test(typed)) setKind("token");
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await post("/session", { [kind]: text.trim() } satisfies SessionAsked);
      done();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <main className="signin" lang={firstLocale()}>
      <form className="card" onSubmit={(event) => void submit(event)}>
        <h1>{t.error.signIn}</h1>
        <p className="dim">{t.error.signInDo}</p>
        <Segment label={t.error.signInWith} value={kind} onChange={setKind} options={[{ id: "key", text: t.error.key }, { id: "token", text: t.error.token }]} />
        <label className="label" htmlFor="credential">{t.error[kind]}</label>
        <input id="credential" className="input mono" type="password" autoComplete="current-password" value={text} onChange={(e) => change(e.target.value)} />
        {error !== null && <p className="bad" role="alert">{errorText(error, t)}</p>}
        <Button look="primary" type="submit" icon={KeyRound} disabled={!text.trim()}>{t.error.signInButton}</Button>
      </form>
    </main>
  );
}
