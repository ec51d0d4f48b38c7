export { Swarm, type GenerateCall, type SwarmOptions } from './swarm/swarm.js';
export type { SwarmSettings } from './swarm/settings.js';
export type { DrawnTask, TaskPort, TrainerPort } from './swarm/trainer-port.js';
