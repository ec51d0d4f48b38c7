export { createSwarmApp, type SwarmAppOptions } from './http/swarm-app.js';
export { openSwarmModel, type SwarmModel } from './model/swarm-model.js';
export { serveSwarm, type ServedSwarm, type ServeSwarmOptions } from './serve-swarm.js';
export { SwarmServer, type SwarmServerOptions } from './http/swarm-server.js';
export type { SwarmSettings } from './swarm/settings.js';
export { Swarm, type GenerateCall, type SwarmOptions } from './swarm/swarm.js';
export type { DrawnTask, PlanContext, StepPlan, TaskPort, TrainerPort } from './swarm/trainer-port.js';
