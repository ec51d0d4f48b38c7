export { AgentJetJob, type EvaluateOptions, type RunOptions, type TuneOptions } from './job.js';
export type { JobData } from './inputs/job-data.js';
export type { JobOptions } from './job-options.js';
export type { Evaluation, JobEvent, JobListener, JobResult, Phase, RunPlan, StepMetrics } from './events.js';
export { createLineListener, formatCount, formatEvent, formatSeconds } from './event-lines.js';
export { closeBackbones } from './open-backbone.js';
export { openFrozenModel, type FrozenModel, type FrozenModelOptions } from './frozen-model.js';
export { toEpisodeRecord } from './episode-record.js';
export { formatTranscript, type RecordedCall, type Transcript, type TranscriptStyle } from './debug/transcript.js';
export {
  Workflow,
  type Episode,
  type Judge,
  type ModelOptions,
  type OpenAIEndpoint,
  type TaskInput,
  type TaskReader,
  type TaskSource,
  type Tuner,
  type WorkflowClass,
  type WorkflowFunction,
  type WorkflowLike,
  type WorkflowSource,
} from '@agentjet/rollout';
export {
  AgentJetError,
  BackboneError,
  ConfigError,
  EngineError,
  JudgeError,
  loadConfig,
  TaskError,
  WorkflowError,
  type AgentJetConfig,
  type ChatMessage,
  type ChatModel,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
  type ConfigInput,
  type Task,
  type Verdict,
  type WorkflowOutput,
} from '@agentjet/core';
