/** Components of every screen: badge, button, segment, skeleton, empty and failed states, copy, time. */
import {
  Ban, Check, CircleDashed, Clock3, Copy, Hourglass, Play, RotateCw, TriangleAlert, Undo2, X, type LucideIcon,
} from "lucide-react";
import { useEffect, useState, type ButtonHTMLAttributes, type ReactNode } from "react";
import { ApiError, Offline } from "../api/client";
import type { Tone } from "../api/types";
import { useNow, useWords } from "../words";

export const ICON = { size: 16, strokeWidth: 1.9, "aria-hidden": true } as const;

export function toneIcon(tone: Tone, state?: string): LucideIcon {
  if (state === "RETRYING") return RotateCw;
  if (state === "CANCELLED") return Ban;
  if (state === "PENDING" || state === "QUEUED") return Clock3;
  switch (tone) {
    case "moving": return Play;
    case "held": return Hourglass;
    case "failed": return X;
    case "done": return Check;
    case "undone": return Undo2;
    default: return CircleDashed;
  }
}

export function Badge({ tone, state, children, icon }: { tone: Tone; state?: string; children: ReactNode; icon?: LucideIcon }): ReactNode {
  const Icon = icon ?? toneIcon(tone, state);
  return (
    <span className={`badge tone-${tone}`}>
      <Icon size={12} strokeWidth={2.2} aria-hidden />
      {children}
    </span>
  );
}

export const Tag = ({ children }: { children: ReactNode }): ReactNode => <span className="tag">{children}</span>;

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { look?: "plain" | "primary" | "danger" | "quiet" | "icon"; icon?: LucideIcon; hint?: string };

export function Button({ look = "plain", icon: Icon, hint, children, className = "", type = "button", ...rest }: ButtonProps): ReactNode {
  return (
    <button type={type} className={`btn btn-${look} ${className}`} {...rest}>
      {Icon && <Icon size={15} strokeWidth={1.9} aria-hidden />}
      {children}
      {hint && <kbd className="kbd kbd-in">{hint}</kbd>}
    </button>
  );
}

export function Segment<T extends string>({ label, value, options, onChange }: {
  label: string; value: T; options: { id: T; text: ReactNode; icon?: LucideIcon }[]; onChange: (value: T) => void;
}): ReactNode {
  return (
    <div className="segment" role="group" aria-label={label}>
      {options.map(({ id, text, icon: Icon }) => (
        <button key={id} type="button" aria-pressed={id === value} onClick={() => onChange(id)}>
          {Icon && <Icon size={14} strokeWidth={1.9} aria-hidden />}
          {text}
        </button>
      ))}
    </div>
  );
}

/** A grey placeholder of the final size, shown after 150 ms. */
export function Skeleton({ h, w = "100%", n = 1 }: { h: number; w?: string | number; n?: number }): ReactNode {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setShown(true), 150);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <div aria-hidden className="skeletons" style={{ visibility: shown ? "visible" : "hidden" }}>
      {Array.from({ length: n }, (_, i) => <div key={i} className="skeleton" style={{ height: h, width: w }} />)}
    </div>
  );
}

export function Empty({ title, text, children, page = false }: { title: string; text?: string; children?: ReactNode; page?: boolean }): ReactNode {
  const Title = page ? "h1" : "p";
  return (
    <div className="empty">
      <Title className="empty-title">{title}</Title>
      {text && <p>{text}</p>}
      {children && <div className="empty-acts">{children}</div>}
    </div>
  );
}

/** An error: what happened, what to do, code and trace id to copy, and a retry button. */
export function Failed({ error, retry, page = false }: { error: unknown; retry?: () => void; page?: boolean }): ReactNode {
  const { t } = useWords();
  const problem = error instanceof ApiError ? error.problem : null;
  const Title = page ? "h1" : "p";
  const title = error instanceof Offline ? t.error.offline
    : problem?.status === 404 ? t.error.notFound
    : problem?.status === 403 && typeof problem.reason === "string" ? t.error.forbidden(problem.reason)
    : t.error.failed;
  const text = error instanceof Offline ? t.error.offlineDo : problem?.status === 404 && !problem.hint ? t.error.notFoundDo : problem?.hint;
  return (
    <div className="failed-box" role="alert">
      <TriangleAlert size={20} aria-hidden />
      <div>
        <Title className="empty-title">{title}</Title>
        {problem?.detail && <p>{problem.detail}</p>}
        {text && <p className="dim">{text}</p>}
        {problem && (
          <p className="dim">
            {t.error.code} <Copyable text={problem.code} />
            {problem.trace_id && <> · {t.error.trace} <Copyable text={problem.trace_id} /></>}
          </p>
        )}
        {retry && <Button onClick={retry} icon={RotateCw}>{t.common.retry}</Button>}
      </div>
    </div>
  );
}

export function Copyable({ text, show }: { text: string; show?: string }): ReactNode {
  const { t } = useWords();
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => undefined);
    setDone(true);
    window.setTimeout(() => setDone(false), 1200);
  };
  return (
    <button type="button" className="copyable mono" onClick={(event) => { event.stopPropagation(); void copy(); }} title={text} aria-label={`${show ?? text} ${t.common.copy}`}>
      {show ?? text}
      {done ? <Check size={12} aria-hidden /> : <Copy size={12} aria-hidden />}
    </button>
  );
}

/** "22 min ago"; the pointer shows the exact time. */
export function Ago({ time }: { time: string }): ReactNode {
  const { f } = useWords();
  const now = useNow(10_000);
  return <time dateTime={time} title={f.title(time)}>{f.ago(time, now)}</time>;
}

export function Face({ name, size = 24 }: { name: string; size?: number }): ReactNode {
  const korean = /[가-힣]/.test(name);
  const text = korean ? name.slice(0, 1) : name.split(/[\s._-]+/).map((part) => part[0] ?? "").join("").slice(0, 2).toUpperCase();
  return <span className="face" style={{ width: size, height: size, fontSize: Math.max(11, size * 0.42) }} aria-hidden>{text}</span>;
}

export function Card({ children, className = "", label }: { children: ReactNode; className?: string; label?: string }): ReactNode {
  return <section className={`card ${className}`} aria-label={label}>{children}</section>;
}
