export { createRunConfig, type RunConfig } from './http/run-config.js';
export { createSwarmApp, type SwarmAppOptions } from './http/swarm-app.js';
export type { SwarmServerOptions } from './http/server-options.js';
export { SwarmServer } from './http/swarm-server.js';
export type { Log, LogEntry, LogLevel, Notice } from './log/log-entry.js';
export { openSwarmModel, type SwarmModel } from './model/swarm-model.js';
export {
  serveSwarm,
  type RunFollower,
  type ServedFiles,
  type ServedSwarm,
  type ServeSwarmOptions,
} from './serve-swarm.js';
export { serveStandby, type Standby, type StandbyOptions } from './serve-standby.js';
export { parseRewind, type RewindTo } from './swarm/rewind.js';
export type { RecordedEvent } from './model/model-trainer.js';
