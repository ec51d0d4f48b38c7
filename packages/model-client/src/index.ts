export { createChatModel, listServedModels, type ChatModelOptions, type ChatServer } from './chat-model.js';
export { systemModelHost, type ModelHost } from './host.js';
export type { KeyNames } from './key-ring.js';
export { openEmbedder, type Embedder, type EmbedderOptions } from './embedder.js';
export { ModelOutage, ModelRefusal, type RetryPolicy } from './request-sender.js';
export {
  openModelClient,
  type ModelAnswer,
  type ModelClient,
  type ModelClientOptions,
  type ModelQuestion,
  type ModelUsage,
} from './model-client.js';
export { readStrings } from './read-strings.js';
export { toRequestBody } from './wire/to-request-body.js';
