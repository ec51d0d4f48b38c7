export { createSwarmApp, type SwarmAppOptions } from './http/swarm-app.js';
export { SwarmServer, type SwarmServerOptions } from './http/swarm-server.js';
export type { SwarmSettings } from './swarm/settings.js';
export { Swarm, type GenerateCall, type SwarmOptions } from './swarm/swarm.js';
export type { DrawnTask, TaskPort, TrainerPort } from './swarm/trainer-port.js';
