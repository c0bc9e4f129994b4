/** What a process brings to the page of a definition: an overview, downloads, its children, and the review of models. */
import { BookOpenText } from "lucide-react";
import type { ReactNode } from "react";
import { useGet } from "../api/cache";
import { isDict, textOf } from "../api/json";
import type { Dict, Json, Process } from "../api/types";
import { definitionPath } from "../definitions/requests";
import type { DefinitionContext, DefinitionDetails, DefinitionParts } from "../languages/contract";
import { Link } from "../shell/router";
import { useWords } from "../words";
import { Downloads } from "./Downloads";
import { manualPage } from "./manual/requests";
import { useManualWords } from "./manual/speech";
import { Overview } from "./Overview";
import { modelReview, processPath } from "./requests";

/** These only hold other processes. */
const CONTAINERS = ["mega", "major"];

function useDetails({ version, alone }: DefinitionContext): DefinitionDetails {
  const { t, m } = useManualWords();
  const d = t.definitions;
  const process = useGet<Process>(processPath(version.name, version.version));
  const origin: Dict = isDict(process.data?.origin) ? process.data.origin : {};
  const base = textOf(origin["base_proc_def_id"] as Json | undefined);
  const other = useGet<Process>(alone && base ? processPath(base) : null);
  const container = CONTAINERS.includes(String(version.document["type"] ?? ""));
  // a model that was mined or read from a text has its own approval; what somebody has drawn is approved as every document
  const review = modelReview(version.name, version.version, base || null, t);
  return {
    ready: process.data !== undefined,
    tabs: [{
      id: "overview", text: d.overview, compares: version.status === "pending_approval",
      body: (shown) => <Overview version={version} process={process.data} error={process.error} {...shown} />,
    }],
    tools: (
      <>
        {origin["source"] === "extracted" && <Link className="btn btn-quiet" to={manualPage(version.name, version.version)}><BookOpenText size={15} aria-hidden />{m.seeSide}</Link>}
        <Downloads name={version.name} version={version.version} drawn={!container} />
      </>
    ),
    contents: container ? <Children process={process.data} /> : null,
    base: alone && base ? { id: base, name: other.data?.name ?? base, document: other.data?.definition as Dict | undefined, error: other.error } : null,
    review: Object.keys(origin).length > 0 ? review : null,
  };
}

function Children({ process }: { process: Process | undefined }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  return <div><p className="dim">{d.container}</p><ul className="def-map">{process?.children.map((child) => <li key={child.id}><Link to={definitionPath(child.id)} className="card"><b>{child.name}</b><span className="dim">{d.types[child.type] ?? child.type}</span></Link></li>)}</ul></div>;
}

export const definitionParts: DefinitionParts = { useDetails };
