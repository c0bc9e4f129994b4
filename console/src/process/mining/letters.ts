/** One letter for each activity, so that a variant can be read at a glance. */

/**
 * The first letter of the name's first word; of its last word where several begin alike; else any letter of it that is
 * free, and a number when there is none.
 */
export function lettersOf(names: string[]): Map<string, string> {
  const words = new Map(names.map((name) => [name, name.split(/[\s_\-·/]+/u).filter(Boolean)]));
  const first = (name: string) => letter(words.get(name)?.[0]);
  const last = (name: string) => letter(words.get(name)?.at(-1));
  const out = new Map<string, string>();
  const used = new Set<string>();
  const give = (name: string, wanted: string): boolean => {
    if (!wanted || used.has(wanted)) return false;
    used.add(wanted);
    out.set(name, wanted);
    return true;
  };
  const isShared = (name: string, of: (name: string) => string) => names.filter((other) => of(other) === of(name)).length > 1;
  for (const of of [first, last]) for (const name of names) if (!out.has(name) && !isShared(name, of)) give(name, of(name));
  for (const name of names) if (!out.has(name)) [...name].map(letter).some((wanted) => give(name, wanted));
  let number = 1;
  for (const name of names) while (!out.has(name)) give(name, String(number++));
  return out;
}

const letter = (text: string | undefined): string => [...(text ?? "")].find((sign) => /[\p{L}\p{N}]/u.test(sign))?.toUpperCase() ?? "";
