export { isAgentsFailure, tellOlderFormat } from './errors.js';
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
  LimitedChatModel,
  ModelLimits,
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
export { isCountingChatModel, limitsOf } from './chat.js';
export { replayDeltas } from './chat.js';
export type { Completion, CompletionTiming, Engine, GenerateRequest, TokenSampling } from './engine.js';
export type { Algorithm, EpisodeGroup, ForkCause, RewardedEpisode, TurnReward, Sample } from './sample.js';
export type {
  Backbone,
  BackboneCapabilities,
  KeptTokens,
  ImportanceCorrection,
  LossOptions,
  LossSlope,
  LossTerms,
  ModelHandle,
  Objective,
  OptimizerOptions,
  OptimizerOverrides,
  SlopeLoss,
  SlopeReport,
  SlopeTerms,
  Teacher,
  TermReport,
  TokenRow,
  TrainBatch,
  TrainStepMetrics,
  TreePack,
  TruncatedSampling,
  Truncation,
} from './backbone.js';
export type { MetricFamily, MetricName, MetricValues } from './metric-name.js';
export { outsideOfSet, truncationOf, wholeVocabulary } from './backbone.js';
export type { Task, Verdict, WorkflowOutput } from './task.js';
export {
  abortedByCaller,
  AgentJetError,
  BackboneError,
  codeOfError,
  ConfigError,
  EngineError,
  EnvironmentError,
  EnvironmentOutage,
  explainCacheError,
  isDiskFull,
  isTimeoutReason,
  JudgeError,
  Outage,
  TaskError,
  toErrorMessage,
  WorkflowError,
} from './errors.js';
export {
  compareText,
  endOfString,
  isDeeperThan,
  isJsonObject,
  isSameJson,
  isSameJsonText,
  mergeJson,
  nestAtKey,
  parseJson,
  parseJsonObject,
  textOrEmpty,
  toArgumentObject,
  toArgumentText,
  valueAtPath,
  type JsonObject,
} from './json-object.js';
export { makeFolders, replaceFile } from './files.js';
export { isReward, maxReward, rewardRange } from './limits.js';
export { requestLimits } from './limits.js';
export {
  createRandom,
  deriveSeed,
  type Random,
  drawName,
  drawPrefix,
  evaluationSeed,
  passOrder,
  passSeed,
  placeSeed,
} from './random.js';
export { shuffleIndices } from './random.js';
export { sha256, sha256OfFile } from './sha256.js';
export { pause, rejectOnAbort } from './reject-on-abort.js';
export { defineAlgorithm, type AlgorithmParts, type AlgorithmRegistration } from './registrations.js';
export { defineBackbone, type BackboneParts, type BackboneRegistration } from './registrations.js';
export {
  sumParts,
  textConfigOf,
  type Gpus,
  type MemoryPart,
  type EstimateNeed,
  type NeedRequest,
  type ResourceNeed,
  type MeasuredLengths,
} from './resource-need.js';
export type { ContractCase } from './contract-case.js';
export { z } from 'zod';
export {
  composeConfig,
  openEntry,
  sectionOf,
  type ConfigComposition,
  type ConfigDifference,
  type LoadOptions,
} from './config/compose-config.js';
export type { CommonConfig, ConfigOf, InputOf } from './config/compose-schema.js';
export { isBundledModel, type BundledModel } from './config/resolve-paths.js';
export { camelKeys, findNearestKey, snakeKeys, toCamelCase, toSnakeCase, type CamelKeys } from './config/key-names.js';
export { describePresets } from './config/presets.js';
export {
  isExportReference,
  isGivenInCode,
  kinds,
  nameGivenInCode,
  type Entry,
  type ExportReference,
  type Kind,
  type OpenableEntry,
  type Registration,
  type Registrations,
  type SectionOf,
} from './config/registration.js';
export { firstWorkers } from './config/sections.js';
export { setting } from './config/setting.js';
export { sampleCollections } from './config/swarm-schema.js';
export { cutText, quoteForShell, showValue, withoutCredentials } from './config/show-value.js';
export {
  addUp,
  countOf,
  formatBytes,
  formatCount,
  formatSeconds,
  formatShare,
  mean,
  roundTime,
} from './quantities.js';
