/** A definition that was read from a manual, beside that manual: approving or rejecting it, and where it is now. */
import { ExternalLink, Lock } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useGet } from "../../api/cache";
import { ApiError } from "../../api/client";
import type { Extraction, VersionWhole } from "../../api/types";
import { Button, Empty, Failed, Skeleton } from "../../components";
import { anchorOf, type Anchor } from "../../components/Dialog";
import { RELEASE_ICON, ReleaseDialog } from "../../definitions/ReleaseDialog";
import { definitionPath } from "../../definitions/requests";
import { StatusBadge } from "../../definitions/StatusBadge";
import { useFrame } from "../../shell/chrome";
import { Link } from "../../shell/router";
import { may, useSession } from "../../shell/session";
import { modelReview } from "../requests";
import { DraftButton } from "./DraftButton";
import { extractionPath, manualPage, MANUALS_PAGE } from "./requests";
import { Review, titleOf } from "./Review";
import { useManualWords } from "./speech";
import type { Standing } from "./SureBar";

const VERBS = ["reject", "approve"] as const;
const STANDINGS: Record<string, Standing> = { pending: "pending", rejected: "rejected" };
const PERMISSION = "process.model.approve";

export function StoredManual({ id, version: number }: { id: string; version: number }): ReactNode {
  const { t, m } = useManualWords();
  const { me } = useSession();
  const read = useGet<Extraction>(extractionPath(id, number));
  const version = useGet<VersionWhole>(definitionPath(id, number));
  const [asked, setAsked] = useState<{ verb: "approve" | "reject"; anchor: Anchor | null } | null>(null);
  useFrame([{ text: t.nav.definitions, to: "/definitions" }, { text: m.title, to: MANUALS_PAGE }, { text: read.data ? titleOf(read.data) : id }]);
  const error = read.error ?? version.error;
  if (!read.data || !version.data) {
    if (read.error instanceof ApiError && read.error.status === 404 && version.data) return <Empty page title={m.none} text={m.noneDo}><Link className="btn" to={definitionPath(id, number)}>{m.openDefinition}</Link></Empty>;
    return error ? <Failed page error={error} retry={() => { read.reload(); version.reload(); }} /> : <div className="pad"><Skeleton h={60} n={2} /><Skeleton h={360} /></div>;
  }
  const held = version.data;
  const verbs = VERBS.filter((verb) => held.moves.includes(verb));
  const allowed = may(me, PERMISSION);
  return (
    <>
      <Review read={read.data} file={null} standing={STANDINGS[read.data.approval_status] ?? "stored"} badge={<StatusBadge status={held.status} />} feedback={held.feedback} version={number} actions={
        <>
          <Link className={`btn ${held.status === "active" ? "btn-primary" : "btn-quiet"}`} to={definitionPath(id, number)}><ExternalLink size={15} aria-hidden />{m.openDefinition}</Link>
          <DraftButton title={titleOf(read.data)} bpmn={read.data.bpmn} back={manualPage(id, number)} />
          {verbs.length > 0 && !allowed && <span className="dim small manual-locked"><Lock size={14} aria-hidden />{m.needs(PERMISSION)}</span>}
          {allowed && verbs.map((verb) => <Button key={verb} look={verb === "reject" ? "danger" : "primary"} icon={RELEASE_ICON[verb]} onClick={(event) => setAsked({ verb, anchor: anchorOf(event.currentTarget) })}>{t.definitions.deed[verb]}</Button>)}
        </>} />
      {asked && <ReleaseDialog version={held} review={modelReview(id, number, null, t)} verb={asked.verb} open={0} anchor={asked.anchor} onClose={() => { setAsked(null); read.reload(); version.reload(); }} />}
    </>
  );
}
