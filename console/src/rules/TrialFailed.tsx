/** A trial that was refused: the error as everywhere, and every finding of a draft with its place. */
import type { ReactNode } from "react";
import { ApiError } from "../api/client";
import type { Finding } from "../api/types";
import { Failed } from "../components";
import { FindingList } from "./FindingList";

export function TrialFailed({ error, retry }: { error: unknown; retry: () => void }): ReactNode {
  const findings = error instanceof ApiError ? ((error.problem.findings ?? []) as Finding[]) : [];
  return <><Failed error={error} retry={retry} />{findings.length > 0 && <FindingList findings={findings} />}</>;
}
