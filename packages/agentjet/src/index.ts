export { AgentJetJob, type EvaluateOptions, type RunOptions, type TuneOptions } from './job.js';
export type { JobOptions } from './job-options.js';
export { configuration, type AgentJetConfig, type ConfigInput } from './registrations.js';
export { createLineListener, formatEvent } from './printing/event-lines.js';
export type { TranscriptStyle } from './printing/format-transcript.js';
export {
  openFrozenModel,
  type Evaluation,
  type FrozenModel,
  type FrozenModelOptions,
  type JobData,
  type JobEvent,
  type JobListener,
  type JobResult,
} from '@agentjet/session';
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
  type WorkflowSource,
} from '@agentjet/rollout';
export {
  AgentJetError,
  BackboneError,
  ConfigError,
  EngineError,
  JudgeError,
  Outage,
  TaskError,
  WorkflowError,
  type ChatMessage,
  type ChatModel,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
  type Task,
  type Verdict,
  type WorkflowOutput,
} from '@agentjet/core';
