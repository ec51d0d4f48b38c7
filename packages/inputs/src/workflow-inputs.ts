import { openEntry, type CommonConfig, type ConfigComposition } from '@agentjet/core';
import type { Environment, Judge, WorkflowSource } from '@agentjet/rollout/inputs';
import { limitSessions } from '@agentjet/rollout/loading';
import { chooseEntry } from './choose-entry.js';
import { environmentKind, judgeKind, loadWorkflow, readerKind } from './job-inputs.js';

/** The inputs of a process that runs workflows. It needs neither a model nor an algorithm. */
export type WorkflowInputs = {
  readonly workflow: WorkflowSource;
  readonly judge: Judge | undefined;
  readonly environment: Environment | undefined;
};

/** Opens the parts that workflows need. The run has already checked the configuration. */
export async function loadWorkflowInputs(
  { config, composition }: { readonly config: CommonConfig; readonly composition: ConfigComposition },
  { hasReadersEnvironment, numProcesses }: { readonly hasReadersEnvironment: boolean; readonly numProcesses: number },
): Promise<WorkflowInputs> {
  const workflow = await loadWorkflow(config);
  const judges = await chooseEntry(composition, config, undefined, judgeKind);
  const environments = await chooseEntry(composition, config, undefined, environmentKind);
  const configured =
    environments === undefined ? undefined : await openEntry('environments', environments.entry, config, { config });
  const readers = hasReadersEnvironment ? await chooseEntry(composition, config, undefined, readerKind) : undefined;
  const reader =
    readers === undefined
      ? undefined
      : await openEntry('readers', readers.entry, config, { config, environment: configured });
  const environment = reader?.environment ?? configured;
  const maxSessions = Math.max(1, Math.floor(config.environment.maxSessions / numProcesses));
  return {
    workflow,
    judge: judges === undefined ? undefined : await openEntry('judges', judges.entry, config, { config }),
    environment: environment && limitSessions(environment, maxSessions),
  };
}
