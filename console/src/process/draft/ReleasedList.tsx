/** What became of a draft with several definitions: all of them, each with its page. */
import { CircleCheck } from "lucide-react";
import { useEffect, type ReactNode } from "react";
import { Tag } from "../../components";
import { definitionPath } from "../../definitions/requests";
import { StatusBadge } from "../../definitions/StatusBadge";
import { Link } from "../../shell/router";
import { leaveDraft } from "./requests";
import { useDraftWords } from "./speech";
import type { Released } from "./types";

export function ReleasedList({ released }: { released: Released }): ReactNode {
  const { d } = useDraftWords();
  useEffect(() => leaveDraft, []);
  return (
    <div className="pad draft-released">
      <CircleCheck size={30} aria-hidden className="ink-done" />
      <h1>{d.releasedTitle(released.definitions.length)}</h1>
      <p className="dim">{d.releasedAbout}</p>
      <ul className="card">{released.definitions.map(({ id, version, approval_status: status }) => { const name = released.draft.definitions.find((each) => each.id === id)?.name ?? id; return <li key={id}><span className="grow"><b>{name}</b> <span className="dim mono">{id}</span></span><Tag>v{version}</Tag><StatusBadge status={status === "pending" ? "pending_approval" : "active"} /><Link className="btn" to={definitionPath(id, version)} aria-label={`${name} ${d.releasedOpen}`}>{d.releasedOpen}</Link></li>; })}</ul>
    </div>
  );
}
