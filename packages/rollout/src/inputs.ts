export { failEpisodesThatExit } from './episode/exit-guard.js';
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
export {
  defineEnvironment,
  type EnvironmentParts,
  type EnvironmentRegistration,
} from './environment/environment-registration.js';
export { limitSessions } from './environment/limit-sessions.js';
export {
  checkVerdict,
  createGroupJudge,
  createJudge,
  isGroupJudge,
  type GroupContext,
  type GroupJudge,
  type Judge,
  type JudgeUsage,
} from './judge.js';
export { defineJudge, type JudgeParts, type JudgeRegistration } from './judges/judge-registration.js';
export { createReader } from './readers/customized-protocol/create-reader.js';
export { defineReader, type ReaderParts, type ReaderRegistration } from './readers/reader-registration.js';
export { checkTask, createTaskReader, type TaskInput, type TaskReader, type TaskSource } from './tasks/task-reader.js';
export type { SourceCard, TaskTable } from './tasks/task-table.js';
export type { DroppedTasks, SideCard, TasksCard } from './tasks/tasks-card.js';
export { importUserModule } from './user-module.js';
export { failureFrames, withUserFrames } from './user-frames.js';
export { parseWorkflowSource, Workflow, type WorkflowSource } from './workflow.js';
export { copyPlain } from './episode/copy-plain.js';
