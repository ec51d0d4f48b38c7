export type {
  CallCounts,
  EndpointHost,
  EndpointRoute,
  RouteClock,
  EndpointRegistration,
  Episode,
  ModelOptions,
  OpenAIEndpoint,
  Policy,
  SamplingDefaults,
  SpanRecord,
  Tuner,
} from './contract.js';
export { Workflow, type WorkflowFunction, type WorkflowSource } from './workflow.js';
export { createTuner } from './tuner.js';
export { createFrozenTuner } from './frozen-tuner.js';
export { createUntrackedTuner } from './untracked-tuner.js';
export { createTunedModel } from './model/tuned-model.js';
export type { RequestSampling } from './model/sampling.js';
export { type RecordedCall, toShown } from './model/recorded-call.js';
export { findMismatch } from './model/schema-mismatch.js';
export { CallLedger, noCalls } from './model/call-ledger.js';
export { toStepId } from './model/request-print.js';
export { type EnvironmentHost } from './environment/episode-sessions.js';
export { defineEnvironment, type Environment, type Session } from './environment/environment.js';
export { limitSessions } from './environment/limit-sessions.js';
export {
  createGroupJudge,
  defineJudge,
  isGroupJudge,
  type Judge,
  type JudgeContext,
  type JudgeUsage,
} from './judge.js';
export {
  openEpisode,
  type OpenEpisode,
  type OpenEpisodeOptions,
  type WrapAgentModel,
  type WrapModel,
} from './episode/open-episode.js';
export { toTurnRewards } from './episode/turn-rewards.js';
export { nothingTracked } from './episode/episode-record.js';
export type { Attempt, AttemptKeeper, RecalledAttempt } from './episode/attempts.js';
export { isAgentsFailure } from '@agentjet/core';
export type { EpisodeError } from './episode/episode-error.js';
export { runEpisode, type EpisodeIdentity, type EpisodeOptions } from './episode/run-episode.js';
export type { SwallowedError } from './episode/swallowed-errors.js';
export type { UntrainedCall } from './episode/untrained-calls.js';
export { isSamplingMixed } from './episode/mixed-sampling.js';
export { cutOf, runGroups, toEpisodeGroup, type GroupsOptions, type TaskGroup } from './episode/run-groups.js';
export { Semaphore } from './episode/semaphore.js';
export {
  checkTask,
  createTaskReader,
  defineReader,
  type ReaderParts,
  type TaskInput,
  type TaskReader,
} from './tasks/task-reader.js';
export { createListTable, type TaskTable } from './tasks/task-table.js';
export type { DroppedTasks, TasksCard } from './tasks/tasks-card.js';
export { importUserModule } from './user-module.js';
export { failurePlace } from './user-frames.js';
export { restoreTurn, keptTurnKey, type ShownToolCall } from './adapter/kept-turn.js';
export { splitMergedTurns, groupByTurn } from './adapter/split-merged-turns.js';
export { streamChat } from './adapter/stream-chat.js';
export { limitCalls, wrapWithCallLimit } from './call-limit.js';
export { sampledElsewhere, samplingDefaults, samplingOfPlace } from './sampling-defaults.js';
export { WaitClock } from './episode/wait-clock.js';
