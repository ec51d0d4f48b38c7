import { TaskError, type CommonConfig } from '@agentjet/core';
import { type JobInputs, collectTasks } from '@agentjet/inputs';
import { describePassN, evaluatePhase, withRollout } from '@agentjet/local-run';
import { findCheckpoint, openUntrainedPolicy, requireOnePolicy } from '@agentjet/models';
import type { Evaluation, JobListener } from '@agentjet/records';

export type EvaluateParts = {
  readonly inputs: JobInputs;
  readonly onEvent: JobListener;
  readonly checkpoint?: string;
  readonly signal?: AbortSignal;
};

async function withCheckpoint(
  config: CommonConfig,
  checkpoint: string | undefined,
  onNotice: (message: string) => void,
): Promise<CommonConfig> {
  if (checkpoint === undefined) return config;
  const path = await findCheckpoint(checkpoint, onNotice);
  return { ...config, model: { ...config.model, path }, lora: { ...config.lora, adapter: null } };
}

/** The model whose answers are evaluated. With backbone `debug` and an endpoint, it is the model of that endpoint. */
function subjectOf({ backbone, debug, model }: CommonConfig): string {
  if (backbone !== 'debug' || debug.baseUrl === null) return model.path;
  const { host } = new URL(debug.baseUrl);
  return `${debug.model ?? 'the model'} at ${host}`;
}

/** Runs the evaluation tasks. Returns null if the signal ended it. */
export async function evaluateModel(
  given: CommonConfig,
  { inputs, onEvent, checkpoint, signal }: EvaluateParts,
): Promise<Evaluation | null> {
  requireOnePolicy(given, {
    does: 'this command evaluates one model',
    repair:
      'A run evaluates all of them together: set trainer_common.val_before_train or trainer_common.test_freq. To evaluate one of them, remove swarm.policies, and name its folder, such as --checkpoint <run>/policies/<name>.',
  });
  const notice = (message: string): void => onEvent({ type: 'notice', message });
  for (const message of describePassN(given)) notice(message);
  const tasks = await collectTasks(inputs.reader.evaluationTasks(), null);
  if (tasks.length === 0) {
    throw new TaskError(
      'no_tasks',
      'There are no evaluation tasks. Set task_reader.jsonl_dataset_file.validation.file_path, or give setData() a validation part.',
    );
  }
  const config = await withCheckpoint(given, checkpoint, notice);
  const { policy, health, samplesWide, close } = await openUntrainedPolicy(config, inputs, { emit: onEvent, signal });
  try {
    const outcome = await withRollout(config, { inputs, policy, health, samplesWide, emit: onEvent }, (context) =>
      evaluatePhase(context, { step: 0, tasks, subject: subjectOf(config), signal }),
    );
    return outcome?.evaluation ?? null;
  } finally {
    await close();
  }
}
