export { systemHost, type ClientHost } from './host.js';
export type { KeyNames } from './key-ring.js';
export { openEmbedder, type Embedder, type EmbedderOptions } from './embedder.js';
export { ModelRefusal } from './request-sender.js';
export {
  openModelClient,
  type ModelAnswer,
  type ModelClient,
  type ModelClientOptions,
  type ModelQuestion,
  type ModelUsage,
} from './model-client.js';
