/** A version by its number: one that is not there yet may be a draft of a language, which has a page of its own. */
import type { ReactNode } from "react";
import { useGet } from "../api/cache";
import { Skeleton } from "../components";
import { LANGUAGES } from "../languages";
import type { DraftParts } from "../languages/contract";
import DefinitionPage from "./DefinitionPage";

const DRAFTS = LANGUAGES.flatMap((language) => language.drafts ?? []);

export default function DraftOrVersion({ name, version }: { name: string; version: number }): ReactNode {
  return <FromDraft name={name} version={version} left={DRAFTS} />;
}

/** Asks one language after the other. */
function FromDraft({ name, version, left }: { name: string; version: number; left: readonly DraftParts[] }): ReactNode {
  const [parts, ...others] = left;
  const { data, error } = useGet<unknown>(parts?.path ?? null);
  const id = parts && data !== undefined ? parts.find(data, name) : null;
  if (parts && data === undefined && !error) return <div className="pad"><Skeleton h={60} n={2} /><Skeleton h={360} /></div>;
  const otherwise = others.length > 0 ? <FromDraft key={others.length} name={name} version={version} left={others} /> : <DefinitionPage name={name} version={version} />;
  return parts && id !== null ? <parts.Page key={id} id={id} version={version} otherwise={otherwise} /> : otherwise;
}
