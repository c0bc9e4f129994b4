/** The shapes of deployments and of simulation reports. */

export type {
  Deployment, DeploymentEvent, DeploymentMove, DeploymentReason, DeploymentShort, DeploymentStage, DeploymentStatus, MetricName, MetricPoint, Recommendation,
  SimulatedJudgment, Simulation, SimulationResult, VersionMetrics, Compared,
} from "../api/types";

export interface Items<T> {
  items: T[];
  next?: string | null;
  total?: number | null;
}
