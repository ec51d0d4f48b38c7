export type {
  CallCounts,
  EndpointHost,
  EndpointRegistration,
  Episode,
  ModelOptions,
  OpenAIEndpoint,
  Policy,
  SamplingDefaults,
  SpanRecord,
  Tuner,
  WorkflowLike,
} from './contract.js';
export {
  createWorkflow,
  parseWorkflowSource,
  Workflow,
  type WorkflowClass,
  type WorkflowFunction,
  type WorkflowSource,
} from './workflow.js';
export { createTuner, type TunerOptions } from './tuner.js';
export { createFrozenTuner, type FrozenTunerOptions } from './frozen-tuner.js';
export { createUntrackedTuner, type UntrackedTunerOptions } from './untracked-tuner.js';
export { createTunedModel, type TunedChatOptions } from './model/tuned-model.js';
export type { RequestSampling } from './model/sampling.js';
export type { RecordedCall } from './model/recorded-call.js';
export { findMismatch } from './model/schema-mismatch.js';
export { CallLedger, noCalls } from './model/call-ledger.js';
export { toStepId } from './model/request-print.js';
export {
  createEnvironment,
  type Action,
  type Environment,
  type Observation,
  type OpenSession,
  type OpenSessionOptions,
  type Session,
  type StepResult,
  type ToolResult,
} from './environment/environment.js';
export { type EnvironmentHost } from './environment/episode-sessions.js';
export {
  defineEnvironment,
  type EnvironmentParts,
  type EnvironmentRegistration,
} from './environment/environment.js';
export { limitSessions } from './environment/limit-sessions.js';
export { toShown } from './model/shown-request.js';
export {
  askJudge,
  createGroupJudge,
  createJudge,
  isGroupJudge,
  type GroupContext,
  type GroupJudge,
  type Judge,
  type JudgeUsage,
  type JudgeContext,
} from './judge.js';
export { defineJudge, type JudgeParts, type JudgeRegistration } from './judge.js';
export {
  openEpisode,
  type OpenEpisodeRecord,
  type OpenEpisode,
  type OpenEpisodeIdentity,
  type OpenEpisodeOptions,
  type WrapAgentModel,
  type WrapModel,
} from './episode/open-episode.js';
export { nothingTracked } from './episode/episode-record.js';
export type { Attempt, AttemptKeeper, RecalledAttempt } from './episode/attempts.js';
export { isAgentsFailure, type EpisodeError } from './episode/episode-error.js';
export { failEpisodesThatExit } from './episode/exit-guard.js';
export { runEpisode, type EpisodeIdentity, type EpisodeOptions } from './episode/run-episode.js';
export type { SwallowedError } from './episode/swallowed-errors.js';
export type { UntrainedCall } from './episode/untrained-calls.js';
export { isSamplingMixed } from './episode/mixed-sampling.js';
export {
  runGroups,
  toEpisodeGroup,
  type FailedPolicy,
  type GroupsOptions,
  type TaskGroup,
} from './episode/run-groups.js';
export { Semaphore } from './episode/semaphore.js';
export { checkTask, createTaskReader, type TaskInput, type TaskReader, type TaskSource } from './tasks/task-reader.js';
export { createReader } from './readers/customized-protocol/create-reader.js';
export { defineReader, type ReaderParts, type ReaderRegistration } from './tasks/task-reader.js';
export { createListTable, type SourceCard, type TaskTable } from './tasks/task-table.js';
export type { DroppedTasks, SideCard, TasksCard } from './tasks/tasks-card.js';
export { importUserModule } from './user-module.js';
export { failureFrames, failurePlace, withUserFrames } from './user-frames.js';
export { groupByTurn } from './adapter/group-turns.js';
export { fromStash, stashKey, type ShownMessage, type ShownToolCall } from './adapter/stash.js';
export { takeTurnsApart } from './adapter/take-turns-apart.js';
export { streamChat } from './adapter/stream-chat.js';
