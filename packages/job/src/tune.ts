import { WorkflowError, type CommonConfig } from '@agentjet/core';
import { collectJob } from './debug/collect-job.js';
import { debugJob, type DebugResult } from './debug/debug-job.js';
import type { JobListener, JobResult } from '@agentjet/records';
import type { JobInputs } from '@agentjet/inputs';
import { withRollout } from '@agentjet/local-run';
import { openUntrainedPolicy } from '@agentjet/models';
import { trainJob } from './train-job.js';

export type TuneParts = {
  readonly inputs: JobInputs;
  readonly onEvent: JobListener;
  readonly resume?: boolean | string;
  readonly from?: string;
  readonly signal?: AbortSignal;
};

async function debug(config: CommonConfig, { inputs, onEvent, signal, resume = false }: TuneParts): Promise<JobResult> {
  const startedAt = performance.now();
  const { policy, health, close } = await openUntrainedPolicy(config, inputs, { emit: onEvent, signal });
  try {
    const parts = { inputs, policy, health, emit: onEvent };
    const { reader, composition } = inputs;
    const collected = await withRollout(config, parts, async (context) => {
      if (config.debug.collect !== null) return collectJob(context, { reader, composition, resume, signal });
      failIfAnyFailed(await debugJob(context, { reader, signal }));
      return undefined;
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const result = {
      runDir: collected?.runDir ?? null,
      modelDir: null,
      successBefore: null,
      successAfter: null,
      seconds,
      secondsSampling: seconds,
      secondsTraining: 0,
      secondsEvaluating: 0,
      policyVersion: 0,
      ...(collected !== undefined && { collected }),
    };
    return { ...result, isInterrupted: signal?.aborted === true };
  } finally {
    await close();
  }
}

function failIfAnyFailed({ episodes, failedEpisodes }: DebugResult): void {
  if (failedEpisodes > 0)
    throw new WorkflowError('episodes_failed', `${failedEpisodes} of ${episodes} episodes failed; see above.`);
}

/** Trains as configured. With backbone `debug` it runs a few episodes and trains nothing. */
export async function tune(config: CommonConfig, parts: TuneParts): Promise<JobResult> {
  if (config.backbone === 'debug') return debug(config, parts);
  const train = Object.keys(config.swarm.policies).length === 0 ? trainJob : (await loadSeveral()).trainSeveral;
  return train(config, {
    inputs: parts.inputs,
    emit: parts.onEvent,
    resume: parts.resume ?? false,
    from: parts.from,
    signal: parts.signal,
  });
}

/** Loads the server and the client of a swarm, which a run of one policy does not need. */
const loadSeveral = () => import('./several/train-several.js');
