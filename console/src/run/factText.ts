/** A fact as a sentence. */
import type { Fact } from "../api/types";
import type { Dictionary } from "../words/ko";

/** Facts that only move tokens: no news to people. */
const QUIET = new Set(["put", "phase", "seen", "dead", "absorbed", "rearmed", "forwarded", "forgot", "scope.forgotten", "locals", "timer.gone", "wait.gone", "result", "ledger.moved", "undo.at", "passed"]);

export const isNews = (fact: Fact): boolean => !QUIET.has(fact.fact) && !/\.(notify|context|check)$/.test(fact.node);

/** The author's node of a fact: nodes that the engine adds are named after it, as `judge.context` after `judge`. */
export function authorOf(fact: Fact, known: (node: string) => boolean): string {
  const name = fact.node || fact.edge.split(">").at(-1) || "";
  if (known(name)) return name;
  const parts = name.split(/[.:]/);
  while (parts.length > 1) {
    parts.pop();
    if (known(parts.join("."))) return parts.join(".");
  }
  return "";
}

export function factText(fact: Fact, label: (node: string) => string, t: Dictionary): string {
  const say = t.fact[fact.fact];
  const node = fact.node || fact.edge.split(">").at(-1) || "";
  const extra = extraOf(fact);
  const text = say ? say(node ? label(node) : "", fact.fact === "work.moved" ? (t.work.event[extra] ?? extra) : extra).trim() : fact.fact;
  return text || fact.fact;
}

function extraOf({ fact, data }: Fact): string {
  const failure = data["failure"];
  const code = failure && typeof failure === "object" && !Array.isArray(failure) ? String(failure["code"] ?? "") : "";
  const word = (name: string) => (typeof data[name] === "string" || typeof data[name] === "number" ? String(data[name]) : "");
  const keys = (name: string) => {
    const value = data[name];
    return value && typeof value === "object" ? (Array.isArray(value) ? value.map(String) : Object.keys(value)).join(", ") : word(name);
  };
  switch (fact) {
    case "effect.asked": case "effect.answered": return word("attempt");
    case "attempt.failed": return code;
    case "settled": case "passed": return code || word("port");
    case "named": return keys("names");
    case "sets": return keys("values");
    case "work.moved": return word("event") || word("to");
    case "run.moved": return word("to");
    case "incident": return word("code");
    case "ignored": return word("why");
    case "phase": return word("phase");
    default: return word("name");
  }
}
