export { answerAll, completeChat, streamChatCompletion, type ChatCall, type StreamListeners } from './answer.js';
export { chatApi, openAIProtocol } from './chat-api.js';
export { createEventStreamResponse, type EventProtocol, type EventStream } from './event-stream.js';
export { countPromptTokens, type Api, type ApiRoute, type ProtocolCall } from './protocol-call.js';
export { customFields, readCustomInput, toCustomArguments, toCustomSpec } from './custom-tools.js';
export { countReasoningTokens, inPieces, PendingLogprobs } from './pieces.js';
export { chatCompletionSchema, toChatRequest, type ChatCompletionBody } from './request.js';
export { toUsage, type CompletionChunk } from './response.js';
export { parseBody } from './parse-body.js';
export {
  functionFields,
  jsonObject,
  labelFields,
  samplingFields,
  streamFields,
  toSampling,
  toText,
  toToolSpec,
} from './fields.js';
export { isOthersItem, toAnswerText } from './others-answers.js';
export { markRequest, toCallMark } from './call-mark.js';
export { claimKey } from './in-process-fetch.js';
export { toOpenAIErrorBody, toApiError, ApiError } from './api-error.js';
