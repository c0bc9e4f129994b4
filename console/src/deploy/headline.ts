/** The sentence of a deployment: where it is, and whether that is good. */
import type { Format } from "../words/format";
import { person } from "../words/why";
import { metricText, percentText } from "./numbers";
import { standing } from "./rollout";
import type { DeployDictionary } from "./speech";
import type { Deployment, DeploymentReason, DeploymentShort } from "./types";

export const artifactWord = (type: string, t: DeployDictionary): string => t.deployments.artifact[type] ?? type;
export const environmentWord = (name: string, t: DeployDictionary): string => t.deployments.environment[name] ?? name;

export function headline(deployment: Deployment, t: DeployDictionary, f: Format): string {
  const h = t.deployments.headline;
  const what = artifactWord(deployment.artifact.type, t);
  const percent = percentText(deployment.percent, f);
  const { reason } = deployment;
  const to = deployment.to_version ?? deployment.previous_version;
  switch (deployment.status) {
    case "paused": return h.paused(what, percent);
    case "rolled_back": return passedLimit(reason) && reason ? h.tookItselfBack(t.deployments.metric[reason.metric ?? ""] ?? "", ...limitText(reason, f), to) : h.takenBack(reason?.by ? person(reason.by, t) : null, to);
    case "succeeded": return h.succeeded(what, deployment.artifact.id);
    case "failed": return passedLimit(reason) && reason ? h.missed(what, t.deployments.metric[reason.metric ?? ""] ?? "", ...limitText(reason, f)) : h.failed(what);
  }
  const { verdict, metric } = standing(deployment);
  if (verdict === "over" || verdict === "back") return h[verdict](what, percent, t.deployments.metric[metric ?? ""] ?? "");
  return h[verdict](what, percent);
}

/** It was a limit, not a person. */
export const passedLimit = (reason: DeploymentReason | null): boolean => !!reason?.metric && reason.value !== null && reason.limit !== null;

function limitText(reason: DeploymentReason, f: Format): [string, string] {
  const metric = reason.metric ?? "error_rate";
  return [metricText(metric, reason.value, f), metricText(metric, reason.limit, f)];
}

/** Why it stands where it stands, in a line of the list. */
export function reasonText(deployment: DeploymentShort, t: DeployDictionary, f: Format): string | null {
  const { reason } = deployment;
  if (!reason) return null;
  if (!passedLimit(reason)) return [reason.by && person(reason.by, t), reason.text].filter(Boolean).join(": ") || reason.code;
  const [value, limit] = limitText(reason, f);
  return `${t.deployments.metric[reason.metric ?? ""] ?? ""} ${value} > ${limit}`;
}
