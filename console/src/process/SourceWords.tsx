/** The words of a text that each element of a process was read from. */
import type { ReactNode } from "react";
import { isDict, listOf, textOf } from "../api/json";
import type { Dict, Json } from "../api/types";
import { useWords } from "../words";

/** `evidence`: by element, its words. */
export function SourceWords({ evidence, document, onPick }: { evidence: Json | undefined; document: Dict; onPick?: (node: string) => void }): ReactNode {
  const { t } = useWords();
  const elements = new Map(["activities", "gateways", "events"].flatMap((collection) => listOf(document[collection])).map((element) => [element["id"], element]));
  const quotes = Object.entries(isDict(evidence) ? evidence : {}).flatMap(([id, words]) => { const element = elements.get(id); return element ? [{ id, name: textOf(element["name"]) || id, words: textOf(words) }] : []; });
  if (quotes.length === 0) return null;
  return (
    <>
      <h3>{t.definitions.evidence}</h3>
      <ul className="def-evidence">{quotes.map(({ id, name, words }) => <li key={id}>{onPick ? <button type="button" className="linklike" onClick={() => onPick(id)}>{name}</button> : <b>{name}</b>}<q>{words}</q></li>)}</ul>
    </>
  );
}
