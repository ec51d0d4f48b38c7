import { ConfigError, type AgentJetConfig } from '@agentjet/core';
import {
  createJudge,
  importUserModule,
  parseWorkflowSource,
  type Judge,
  type TaskReader,
  type WorkflowSource,
} from '@agentjet/rollout';
import { checkReader } from './check-reader.js';
import { openTaskReader } from './open-task-reader.js';

/** What the user brings: an agent, problems, and (where the agent does not reward itself) a judge. */
export type JobInputs = {
  readonly workflow: WorkflowSource;
  readonly reader: TaskReader;
  readonly judge: Judge | undefined;
};

async function loadWorkflow(config: AgentJetConfig): Promise<WorkflowSource> {
  const reference = config.rollout.userWorkflow;
  if (reference === null) {
    throw new ConfigError(
      'no_workflow',
      'There is no workflow. Set rollout.user_workflow to path/file.ts->Export, or call setWorkflow() on the job.',
    );
  }
  return parseWorkflowSource(
    await importUserModule(reference, process.cwd(), 'rollout.user_workflow'),
    `rollout.user_workflow ${reference}`,
  );
}

async function loadJudge(config: AgentJetConfig): Promise<Judge | undefined> {
  const reference = config.taskJudge.judgeProtocol;
  if (reference === null) return undefined;
  return createJudge(
    await importUserModule(reference, process.cwd(), 'task_judge.judge_protocol'),
    `task_judge.judge_protocol ${reference}`,
  );
}

/** What code gave goes before what the configuration names. */
export async function loadInputs(config: AgentJetConfig, given: Partial<JobInputs>): Promise<JobInputs> {
  return {
    workflow: given.workflow ?? (await loadWorkflow(config)),
    reader: checkReader(given.reader ?? (await openTaskReader(config))),
    judge: given.judge ?? (await loadJudge(config)),
  };
}
