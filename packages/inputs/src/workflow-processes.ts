import { ConfigError, type CommonConfig } from '@agentjet/core';
import type { Environment } from '@agentjet/rollout/inputs';
import type { GivenInputs } from './job-inputs.js';

/** Processes that run workflows, with the settings of the configuration. */
export type WorkflowProcesses = {
  /** The module that calls `serveWorkflows`. */
  readonly entry: URL;
  /** Whether the environment is that of the task reader. */
  readonly hasReadersEnvironment: boolean;
};

type Found = {
  readonly entry: URL | undefined;
  /** The environment of the task reader. */
  readonly environment: Environment | undefined;
};

/**
 * Returns undefined if workflows run in this process. Throws ConfigError `not_portable` for code that another process
 * cannot load.
 */
export function findProcesses(
  { rollout }: CommonConfig,
  given: GivenInputs,
  { entry, environment }: Found,
): WorkflowProcesses | undefined {
  if (rollout.workflowProcesses === 0 || entry === undefined) return undefined;
  const { workflow, judge, reader } = given;
  const inCode = Object.entries({
    workflow,
    judge,
    environment: given.environment ?? (reader === undefined ? undefined : environment),
  }).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (inCode.length === 0) return { entry, hasReadersEnvironment: environment !== undefined };
  throw new ConfigError(
    'not_portable',
    `rollout.workflow_processes is ${rollout.workflowProcesses}, but another process cannot load code that is given as a value. Give the ${inCode.join(' and the ')} by name: path/file.ts->Export. Or set rollout.workflow_processes: 0.`,
  );
}
