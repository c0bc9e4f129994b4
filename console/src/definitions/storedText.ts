/** A text that stays in this browser until it is sent. */
import { useState } from "react";

export function useStoredText(name: string): [string | null, (text: string | null) => void] {
  const [text, setText] = useState<string | null>(() => { try { return localStorage.getItem(name); } catch { return null; } });
  const store = (next: string | null) => {
    setText(next);
    try {
      if (next === null) localStorage.removeItem(name);
      else localStorage.setItem(name, next);
    } catch {
      // a full or closed storage must not stop anybody from typing
    }
  };
  return [text, store];
}
