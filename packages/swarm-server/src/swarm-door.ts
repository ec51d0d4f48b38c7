/** The server without transport and model: what a simulation runs. Loads neither. */
export type { SwarmSettings } from './swarm/settings.js';
export type { SwarmPolicy } from './swarm/swarm-context.js';
export { Swarm, type GenerateCall, type SwarmOptions } from './swarm/swarm.js';
export type { DrawnTask, PlanContext, StepPlan, TaskPort, TrainerPort } from './swarm/trainer-port.js';
