export { createHttpTransport, type HttpTransport, type HttpTransportOptions } from './http-transport.js';
export { systemClientHost, type ClientHost } from './host.js';
export { retry, type RetryOptions } from './protocol/retry.js';
export { Worker, type SwarmTransport, type WorkerOptions } from './protocol/worker.js';
