/** What a version is compared with: the chosen one, else the active one when it waits for approval, else the one before. */
import { useMemo } from "react";
import { useGet } from "../api/cache";
import type { Version, VersionWhole } from "../api/types";
import { languageOf } from "../languages";
import type { Comparison, DefinitionDetails, Difference } from "../languages/contract";
import { useParam } from "../shell/router";
import { definitionPath } from "./requests";

export function useOtherVersion(version: Version, all: Version[]): Version | null {
  const [wanted] = useParam("against");
  const others = all.filter((other) => other.version !== version.version);
  const active = version.status === "pending_approval" ? others.find((other) => other.status === "active") : undefined;
  const usual = active ?? others.find((other) => other.version < version.version) ?? others[0];
  return others.find((other) => String(other.version) === wanted) ?? usual ?? null;
}

/** `base` is another definition, for one that has no other version. */
export function useComparison(version: VersionWhole, other: Version | null, language: string, base: DefinitionDetails["base"]): Comparison {
  const own = useGet<VersionWhole>(other ? definitionPath(version.name, other.version) : null);
  const document = other ? own.data?.document : base?.document;
  const compare = languageOf(language).document?.compare;
  const differences = useMemo(() => (compare && document ? compare(document, version.document) : null), [compare, document, version.document]);
  return { version: other, document, other: base && { id: base.id, name: base.name }, error: own.error ?? base?.error, differences };
}

/** By element of the drawing, how it differs. */
export const marksOf = (differences: Difference[] | null): Map<string, "added" | "changed"> =>
  new Map((differences ?? []).flatMap(({ kind, drawn, id }) => (kind !== "removed" && drawn ? [[id, kind]] : [])));
