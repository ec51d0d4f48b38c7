export { createHttpTransport, type HttpTransport, type HttpTransportOptions } from './http-transport.js';
export { systemClientHost, type ClientHost } from './host.js';
export { retry, type RetryOptions } from './protocol/retry.js';
export { Worker, type SwarmTransport, type WorkerOptions } from './protocol/worker.js';
export { createRemoteModel, type RemoteModelOptions } from './model/remote-model.js';
export { SwarmClient, type SwarmClientOptions, type SwarmRunOptions } from './swarm-client.js';
export { SwarmOperator, type SwarmOperatorOptions } from './swarm-operator.js';
export type { RunResult, SwarmEvent } from './run/tally.js';
export type { Operation, Role, ServerAnswer } from '@agentjet/swarm-wire';
