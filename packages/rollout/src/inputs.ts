export {
  createEnvironment,
  type Action,
  type Environment,
  type Observation,
  type OpenSession,
  type OpenSessionOptions,
  type ProgramOrder,
  type ProgramResult,
  type Session,
  type StepResult,
  type ToolResult,
  type ToolServer,
} from './environment/environment.js';
export {
  defineEnvironment,
  type EnvironmentParts,
  type EnvironmentRegistration,
} from './environment/environment.js';
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
export { defineJudge, type JudgeParts, type JudgeRegistration } from './judge.js';
export { defineReader, type ReaderParts, type ReaderRegistration } from './tasks/task-reader.js';
export { checkTask, createTaskReader, type TaskInput, type TaskReader, type TaskSource } from './tasks/task-reader.js';
export type { SourceCard, TaskTable } from './tasks/task-table.js';
export type { DroppedTasks, SideCard, TasksCard } from './tasks/tasks-card.js';
export { parseWorkflowSource, Workflow, type WorkflowSource } from './workflow.js';
export type { EndpointRoute, OpenAIEndpoint, RouteClock } from './contract.js';
