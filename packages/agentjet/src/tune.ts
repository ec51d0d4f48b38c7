import { WorkflowError, type AgentJetConfig } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { debugJob } from './debug/debug-job.js';
import { openEndpointPolicy } from './debug/debug-policy.js';
import type { JobListener, JobResult } from './events.js';
import type { JobInputs } from './inputs/job-inputs.js';
import { openBackbone } from './open-backbone.js';
import { openEnginePolicy, openSession } from './open-session.js';
import { trainJob } from './training/train-job.js';

export type TuneParts = {
  readonly inputs: JobInputs;
  readonly onEvent: JobListener;
  readonly resume?: boolean | string;
  readonly signal?: AbortSignal;
};

/** A policy without training, and what must be closed behind it. */
export async function openUntrainedPolicy(config: AgentJetConfig, emit: JobListener): Promise<{ readonly policy: Policy; close(): Promise<void> }> {
  const { baseUrl } = config.debug;
  if (config.backbone === 'debug' && baseUrl !== null) return { policy: await openEndpointPolicy(config, baseUrl), close: () => Promise.resolve() };
  const backbone = await openBackbone(config, emit);
  return { policy: await openEnginePolicy(config, backbone), close: () => backbone.close() };
}

async function debug(config: AgentJetConfig, { inputs, onEvent, signal }: TuneParts): Promise<JobResult> {
  const startedAt = performance.now();
  const { policy, close } = await openUntrainedPolicy(config, onEvent);
  const session = await openSession(config, { inputs, policy, emit: onEvent });
  try {
    const { episodes, failedEpisodes } = await debugJob(session.context, { reader: inputs.reader, signal });
    if (failedEpisodes > 0) throw new WorkflowError('episodes_failed', `${failedEpisodes} of ${episodes} episodes failed; see above.`);
    const seconds = (performance.now() - startedAt) / 1000;
    const result = { runDir: null, modelDir: null, successBefore: null, successAfter: null, seconds, secondsSampling: seconds, secondsTraining: 0, secondsEvaluating: 0, policyVersion: 0 };
    return { ...result, isInterrupted: signal?.aborted === true };
  } finally {
    await session.close();
    await close();
  }
}

/** What `AgentJetJob.tune` does. */
export function tune(config: AgentJetConfig, parts: TuneParts): Promise<JobResult> {
  if (config.backbone === 'debug') return debug(config, parts);
  return trainJob(config, { inputs: parts.inputs, emit: parts.onEvent, resume: parts.resume ?? false, signal: parts.signal });
}
