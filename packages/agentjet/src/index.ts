export type { Calibration } from '@agentjet/judges';
export { AgentJetJob } from './job.js';
export type {
  AuditOptions,
  CalibrateOptions,
  EvaluateOptions,
  ProbeOptions,
  RescoreOptions,
  RunOptions,
  TuneOptions,
} from './run-options.js';
export type { JobOptions } from './job-options.js';
export { configuration, type AgentJetConfig, type ConfigInput } from './registrations.js';
export type {
  AlarmReport,
  AuditReport,
  PlayReport,
  ProbeReport,
  RescoredEpisode,
  RescoreReport,
  EpisodeScore,
  TemperatureReport,
} from '@agentjet/job';
export type { Rate } from '@agentjet/core/success';
export type { Evaluation, JobEvent, JobListener, JobResult, SftResult } from '@agentjet/records';
export {
  openFrozenModel,
  openTunedModel,
  type FrozenModel,
  type FrozenModelOptions,
  type TunedModel,
  type TunedModelOptions,
} from '@agentjet/models/answering';
export type { JobData } from '@agentjet/inputs/data';
export {
  defineEnvironment,
  defineJudge,
  defineReader,
  Workflow,
  type Action,
  type Environment,
  type EnvironmentRegistration,
  type Judge,
  type JudgeRegistration,
  type Observation,
  type OpenSession,
  type ReaderRegistration,
  type Session,
  type StepResult,
  type TaskInput,
  type TaskReader,
  type TaskSource,
  type ToolResult,
  type ToolServer,
  type WorkflowSource,
} from '@agentjet/rollout/inputs';
export type { Episode, ModelOptions, OpenAIEndpoint, Tuner } from '@agentjet/rollout';
export {
  AgentJetError,
  BackboneError,
  ConfigError,
  defineAlgorithm,
  defineBackbone,
  EngineError,
  EnvironmentError,
  EnvironmentOutage,
  JudgeError,
  Outage,
  setting,
  TaskError,
  WorkflowError,
  z,
  type Algorithm,
  type AlgorithmRegistration,
  type Backbone,
  type BackboneRegistration,
  type ChatMessage,
  type ChatModel,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
  type Task,
  type Verdict,
  type WorkflowOutput,
} from '@agentjet/core';
export { defineTemplateFamily, type TemplateFamily } from '@agentjet/tokenizer/registrations';
