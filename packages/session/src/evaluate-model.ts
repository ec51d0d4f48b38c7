import { existsSync } from 'node:fs';
import path from 'node:path';
import { BackboneError, TaskError, type CommonConfig } from '@agentjet/core';
import { Checkpoints, findLatestRun, openRunFolder } from '@agentjet/run-folder';
import { evaluatePhase } from './rollout/evaluate-phase.js';
import type { Evaluation, JobListener } from './events.js';
import type { JobInputs } from './inputs/job-inputs.js';
import { collectTasks } from './schedule/collect-tasks.js';
import { openUntrainedPolicy } from './policy/open-policy.js';
import { withRollout } from './rollout/with-rollout.js';

export type EvaluateParts = {
  readonly inputs: JobInputs;
  readonly onEvent: JobListener;
  readonly checkpoint?: string;
  readonly signal?: AbortSignal;
};

/** The model folder that a run folder, a checkpoint or a model folder stands for. */
async function findCheckpoint(folder: string, onNotice: (message: string) => void): Promise<string> {
  const dir = path.resolve(folder);
  if (!existsSync(dir))
    throw new BackboneError(
      'checkpoint',
      `There is no checkpoint ${dir}. Name a run folder (for its last checkpoint), one of its checkpoints, or any model folder.`,
    );
  if (isCheckpoint(dir)) return (await new Checkpoints(path.dirname(dir)).open(path.basename(dir))).dir;
  if (!existsSync(path.join(dir, 'config.yaml'))) return refuseExperiment(dir);
  const checkpoint = await (await openRunFolder(dir)).checkpoints.latest(onNotice);
  if (checkpoint !== undefined) return checkpoint.dir;
  throw new BackboneError(
    'checkpoint',
    `The run ${dir} has no checkpoint. It was stopped before its first; leave out --checkpoint to evaluate the model it began with.`,
  );
}

/** True for a checkpoint as a run writes it: its files are checked against their sums. Other model folders have none. */
function isCheckpoint(dir: string): boolean {
  return /^step-\d{6,}$/.test(path.basename(dir)) && existsSync(path.join(dir, 'state.json'));
}

/** The folder above the runs is easily taken for one of them. */
async function refuseExperiment(dir: string): Promise<string> {
  const newest = existsSync(path.join(dir, 'config.json')) ? undefined : await findLatestRun(dir, '.');
  if (newest === undefined) return dir;
  throw new BackboneError(
    'checkpoint',
    `${dir} is the folder of an experiment, not of a run. The newest run in it is ${newest}.`,
  );
}

async function withCheckpoint(
  config: CommonConfig,
  checkpoint: string | undefined,
  onNotice: (message: string) => void,
): Promise<CommonConfig> {
  if (checkpoint === undefined) return config;
  return { ...config, model: { ...config.model, path: await findCheckpoint(checkpoint, onNotice) } };
}

/** What `AgentJetJob.evaluate` does. Null when the signal ended it. */
export async function evaluateModel(
  given: CommonConfig,
  { inputs, onEvent, checkpoint, signal }: EvaluateParts,
): Promise<Evaluation | null> {
  const tasks = await collectTasks(inputs.reader.evaluationTasks(), null);
  if (tasks.length === 0) {
    throw new TaskError(
      'no_tasks',
      'There are no evaluation tasks. Set task_reader.jsonl_dataset_file.validation.file_path, or give setData() a validation part.',
    );
  }
  const config = await withCheckpoint(given, checkpoint, (message) => onEvent({ type: 'notice', message }));
  const { policy, close } = await openUntrainedPolicy(config, inputs, onEvent);
  try {
    const outcome = await withRollout(config, { inputs, policy, emit: onEvent }, (context) =>
      evaluatePhase(context, { step: 0, tasks, subject: config.model.path, signal }),
    );
    return outcome?.evaluation ?? null;
  } finally {
    await close();
  }
}
