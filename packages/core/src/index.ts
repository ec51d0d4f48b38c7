export type {
  AssistantMessage,
  ChatDelta,
  ChatFinishReason,
  ChatMessage,
  ChatModel,
  ChatOptions,
  ChatRequest,
  ChatResponse,
  CountingChatModel,
  ResponseFormat,
  SamplingOptions,
  SystemMessage,
  TokenLogprob,
  TokenUsage,
  ToolCall,
  ToolChoice,
  ToolMessage,
  ToolSpec,
  UserMessage,
} from './chat.js';
export { isCountingChatModel } from './chat.js';
export type { Completion, Engine, GenerateRequest, TokenSampling } from './engine.js';
export type { Algorithm, EpisodeGroup, ForkCause, RewardedEpisode, TurnReward, Sample } from './sample.js';
export type {
  Backbone,
  LossOptions,
  LossTerms,
  OptimizerOptions,
  TokenRow,
  TrainBatch,
  TrainStepMetrics,
  TreePack,
} from './backbone.js';
export type { Task, Verdict, WorkflowOutput } from './task.js';
export {
  AgentJetError,
  BackboneError,
  ConfigError,
  EngineError,
  JudgeError,
  Outage,
  TaskError,
  toErrorMessage,
  WorkflowError,
} from './errors.js';
export { isJsonObject, parseJsonObject, type JsonObject } from './json-object.js';
export { makeFolders } from './make-folders.js';
export { requestLimits } from './request-limits.js';
export { createRandom, deriveSeed, type Random } from './random.js';
export { rejectOnAbort } from './reject-on-abort.js';
export {
  compareConfigs,
  createConfig,
  defaultConfigFile,
  formatConfig,
  loadConfig,
  type ConfigDifference,
} from './config/load-config.js';
export { camelKeys, snakeKeys, toSnakeCase, type CamelKeys } from './config/key-names.js';
export type { AgentJetConfig, ConfigInput } from './config/schema.js';
