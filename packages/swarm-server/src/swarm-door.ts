/** The server without HTTP and without a model, for simulations. */
export type { SwarmSettings } from './swarm/settings.js';
export type { SwarmPolicy } from './swarm/swarm-context.js';
export { Swarm } from './swarm/swarm.js';
export type { GenerateCall, SwarmOptions } from './swarm/swarm-options.js';
export type { DrawnTask, Evaluated, PlanContext, TaskPort, TrainerPort } from './swarm/trainer-port.js';
