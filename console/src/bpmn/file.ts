/** The BPMN of a definition: a version never changes, so it is fetched once. */
import { useEffect, useState } from "react";
import { text } from "../api/client";

const files = new Map<string, Promise<string>>();

function fetched(path: string): Promise<string> {
  let file = files.get(path);
  if (!file) {
    file = text(path);
    file.catch(() => files.delete(path));
    files.set(path, file);
    if (files.size > 20) files.delete(files.keys().next().value as string);
  }
  return file;
}

export const bpmnPath = (name: string, version: number | null): string =>
  `/processes/definitions/${encodeURIComponent(name)}/bpmn${version === null ? "" : `?version=${version}`}`;

export interface File {
  xml: string | null;
  /** There is none: the net is drawn instead. */
  none: boolean;
}

/** Null asks nothing. */
export function useBpmn(path: string | null): File {
  const [got, setGot] = useState<{ path: string; xml: string | null } | null>(null);
  useEffect(() => {
    if (path === null) return;
    let gone = false;
    fetched(path).then((xml) => !gone && setGot({ path, xml }), () => !gone && setGot({ path, xml: null }));
    return () => { gone = true; };
  }, [path]);
  if (path === null) return { xml: null, none: true };
  return got?.path === path ? { xml: got.xml, none: got.xml === null } : { xml: null, none: false };
}
