export { systemHost, type ClientHost } from './host.js';
export type { KeyNames } from './key-ring.js';
export {
  ModelRefusal,
  openModelClient,
  type ModelAnswer,
  type ModelClient,
  type ModelClientOptions,
  type ModelQuestion,
  type ModelUsage,
} from './model-client.js';
