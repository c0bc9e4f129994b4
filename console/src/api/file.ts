/** Files of the API that never change, such as the drawing of a version: each is fetched once. */
import { useEffect, useState } from "react";
import { text } from "./client";

const files = new Map<string, Promise<string>>();
const MOST = 20;

function fetchFile(path: string): Promise<string> {
  let file = files.get(path);
  if (!file) {
    file = text(path);
    file.catch(() => files.delete(path));
    files.set(path, file);
    if (files.size > MOST) files.delete(files.keys().next().value as string);
  }
  return file;
}

export interface File {
  /** Null while it is fetched, and when there is none. */
  text: string | null;
  none: boolean;
}

/** Null fetches nothing. */
export function useFile(path: string | null): File {
  const [fetched, setFetched] = useState<{ path: string; text: string | null } | null>(null);
  useEffect(() => {
    if (path === null) return;
    let gone = false;
    fetchFile(path).then((body) => !gone && setFetched({ path, text: body }), () => !gone && setFetched({ path, text: null }));
    return () => { gone = true; };
  }, [path]);
  if (path === null) return { text: null, none: true };
  return fetched?.path === path ? { text: fetched.text, none: fetched.text === null } : { text: null, none: false };
}
