/** The text of a draft's file, fetched again when the drawing has changed, and one of its definitions as the server checks it. */
import { useEffect, useMemo, useState } from "react";
import { useGet } from "../../api/cache";
import { text } from "../../api/client";
import type { Dict } from "../../api/types";
import { useInspection, type Inspection } from "../../definitions/inspection";
import { draftDefinitionsPath, draftFilePath } from "./requests";
import type { Draft } from "./types";

export interface FileText {
  text: string | null;
  error: unknown;
}

/** What the drawing consists of: an answer adds a condition or a name, and its picture stays. */
const drawingOf = (draft: Draft): string => JSON.stringify([draft.file, draft.definitions, draft.counts.pools, draft.counts.messages]);

/** The file as it is, so that answers do not redraw it. */
export function useDrawnText(draft: Draft): FileText {
  return useText(draft.id, drawingOf(draft), false);
}

/** The file with every proposal taken; null fetches nothing. */
export function useAcceptedText(draft: Draft, wanted: boolean): FileText {
  return useText(wanted ? draft.id : null, String(draft.number), true);
}

/** A definition of it, as it is now or with every proposal taken: its net, and where a run of it would not end. */
export function useInspectedDefinition(draft: Draft, wanted: boolean, definition: string, accepted: boolean): Inspection {
  const { data, error } = useGet<{ definitions: Dict[] }>(wanted ? draftDefinitionsPath(draft.id, accepted) : null);
  const document = data?.definitions.find((each) => each["process_definition_id"] === definition) ?? data?.definitions[0];
  const inspection = useInspection(useMemo(() => (document ? JSON.stringify(document, null, 2) : null), [document]), 0);
  return { ...inspection, busy: inspection.busy || (wanted && !data && !error) };
}

function useText(id: string | null, of: string, accepted: boolean): FileText {
  const [fetched, setFetched] = useState<FileText & { key: string }>({ key: "", text: null, error: null });
  const key = `${id} ${of}`;
  useEffect(() => {
    if (id === null) return;
    let gone = false;
    text(draftFilePath(id, accepted)).then((body) => !gone && setFetched({ key, text: body, error: null }), (error: unknown) => !gone && setFetched({ key, text: null, error }));
    return () => { gone = true; };
  }, [key, accepted]);
  return id !== null && fetched.key === key ? fetched : { text: null, error: null };
}
