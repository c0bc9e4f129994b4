/** What somebody has written for a to-do and not sent: it stays on this device until it is sent or dropped. */
import { useState } from "react";
import type { Dict } from "../../api/types";

const place = (user: string, draft: string, key: string): string => `ps.todo.${user}.${draft}.${key}`;

export function useTyped(user: string, draft: string, key: string): [Dict | null, (value: Dict | null) => void] {
  const at = place(user, draft, key);
  const [typed, setTyped] = useState<Dict | null>(() => {
    try {
      return JSON.parse(localStorage.getItem(at) ?? "null") as Dict | null;
    } catch {
      return null;
    }
  });
  return [typed, (value) => {
    setTyped(value);
    try {
      if (value === null) localStorage.removeItem(at);
      else localStorage.setItem(at, JSON.stringify(value));
    } catch {
      // a full or closed storage must not stop anybody from typing
    }
  }];
}
