/** Korean particles by the last sound of a word: 은/는, 이/가, 을/를, 과/와, 으로/로. */

export type Pair = "은/는" | "이/가" | "을/를" | "과/와" | "으로/로" | "이에요/예요";

// How digits and letters end when they are read aloud in Korean: 0 영, 1 일, 3 삼, 6 육, 7 칠, 8 팔; L 엘, M 엠, N 엔, R 알.
const ENDS_CLOSED = new Set(["0", "1", "3", "6", "7", "8", "l", "m", "n", "r"]);
const ENDS_IN_L = new Set(["1", "7", "8", "l", "r"]);

/** `word` with the right particle behind it. Quotes and brackets at its end are not heard. */
export function josa(word: string, pair: Pair): string {
  return word + particle(word, pair);
}

/** Of a foreign word nobody knows how it is read: both particles are written, as people do. */
const BOTH: Record<Pair, string> = { "은/는": "은(는)", "이/가": "이(가)", "을/를": "을(를)", "과/와": "과(와)", "으로/로": "(으)로", "이에요/예요": "이에요" };

export function particle(word: string, pair: Pair): string {
  const [closed, open] = pair.split("/") as [string, string];
  if (/[A-Za-z]*[a-z]["'»”’)\]\s.]*$/u.test(word)) return BOTH[pair];
  const last = [...word.replace(/["'»”’)\]\s.]+$/u, "")].at(-1)?.toLowerCase() ?? "";
  const sound = soundOf(last);
  if (pair === "으로/로") return sound === "closed" ? closed : open;
  return sound === "open" ? open : closed;
}

function soundOf(letter: string): "open" | "closed" | "l" {
  const code = letter.codePointAt(0) ?? 0;
  if (code >= 0xac00 && code <= 0xd7a3) {
    const final = (code - 0xac00) % 28;
    return final === 0 ? "open" : final === 8 ? "l" : "closed";
  }
  if (ENDS_IN_L.has(letter)) return "l";
  return ENDS_CLOSED.has(letter) ? "closed" : "open";
}
