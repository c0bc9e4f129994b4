/** Messages that could not be taken, for the room of dead letters. */
import { call, post, query } from "../api/client";
import type { DeadMessages, Redriven } from "../api/types";
import type { LetterParts } from "../languages/contract";

const PATH = "/pipelines/dlq";

export const letters: LetterParts = {
  path: `${PATH}?size=1`,
  permission: "pipeline.read",
  redrivePermission: "pipeline.retry",
  read: (answer) => {
    const { queue, causes } = answer as DeadMessages;
    return causes.map((cause) => ({ queue, code: cause.code, message: cause.why, count: cause.count, firstAt: cause.firstAt, lastAt: cause.lastAt, curable: cause.curable }));
  },
  sample: async (cause, most) => {
    const { items } = await call<DeadMessages>(`${PATH}${query({ code: cause.code, why: cause.message, size: most })}`);
    return items.map((message) => ({ id: message.id, name: keyOf(message.body) ?? message.id, detail: message.body.slice(0, 200), tries: "" }));
  },
  redrive: async (cause, ids, dryRun, key) => {
    if (dryRun) return { count: cause.count, refused: [] };
    const { sent, failed } = await post<Redriven>(`${PATH}:redrive`, ids ? { ids } : { code: cause.code, why: cause.message }, key);
    return { count: sent, refused: failed ? [{ why: "", count: failed }] : [] };
  },
};

/** The file that a message tells of, where it does. */
function keyOf(body: string): string | null {
  try {
    const value = JSON.parse(body) as { key?: unknown; detail?: { object?: { key?: unknown } }; Records?: { s3?: { object?: { key?: unknown } } }[] } | null;
    const key = value?.key ?? value?.detail?.object?.key ?? value?.Records?.[0]?.s3?.object?.key;
    return typeof key === "string" ? key : null;
  } catch {
    return null;
  }
}
