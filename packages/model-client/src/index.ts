export { createChatModel, createPromptCounter, listServedModels, type ChatServer } from './chat-model.js';
export { systemModelHost, type HttpAnswer, type ModelHost } from './host.js';
export { openEmbedder, type Embedder } from './embedder.js';
export { ModelOutage, ModelRefusal } from './request-sender.js';
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
