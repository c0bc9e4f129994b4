/** Addresses of deployments and simulations, and the moves that people make. */
import { BASE, post, query } from "../api/client";
import type { DeploymentMove } from "./types";

export const DEPLOYMENTS = "/deploy";
export const SIMULATIONS = "/simulations";

export const deploymentsPath = (status: string | null): string => `${DEPLOYMENTS}${query({ status, limit: 100 })}`;
export const deploymentPath = (id: string): string => `${DEPLOYMENTS}/${encodeURIComponent(id)}`;
export const simulationPath = (id: string): string => `${SIMULATIONS}/${encodeURIComponent(id)}`;
export const judgmentsPath = (id: string, of: Record<string, string | number | boolean | null>): string => `${simulationPath(id)}/judgments${query(of)}`;
export const reportAddress = (id: string, format: string): string => `${BASE}${simulationPath(id)}/report.${format}`;

export const moveDeployment = (id: string, move: DeploymentMove, body: { reason?: string }, key: string): Promise<unknown> => post(`${deploymentPath(id)}/${move}`, body, key);

/** Where the pages are. */
export const DEPLOYMENTS_PAGE = "/ops/deployments";
export const pageOf = (id: string): string => `${DEPLOYMENTS_PAGE}/${encodeURIComponent(id)}`;
export const reportPage = (id: string): string => `/ops/simulations/${encodeURIComponent(id)}`;
