import { startEndpointServer } from '@agentjet/endpoint';
import type { CommonConfig } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { limitCalls } from './call-limit.js';
import type { JobListener } from '../events.js';
import type { JobInputs } from '../inputs/job-inputs.js';
import type { RolloutContext } from './run-phase.js';
import { startWatchdog } from './watchdog.js';

type RolloutParts = { readonly inputs: JobInputs; readonly policy: Policy; readonly emit: JobListener };

/**
 * Starts the HTTP endpoint for agents in other processes, puts the limits of the configuration around the models, and ends both
 * when `use` does.
 */
export async function withRollout<T>(
  config: CommonConfig,
  { inputs, policy, emit }: RolloutParts,
  use: (context: RolloutContext) => Promise<T>,
): Promise<T> {
  const endpointHost = await startEndpointServer();
  // Its beat also keeps Node from ending while all episodes wait for nothing.
  const watchdog = startWatchdog({ limitMs: 1000 * config.rollout.episodeTimeout + 5000 });
  try {
    const { maxSteps } = config.rollout.multiTurn;
    const wrapModel = maxSteps === null ? undefined : limitCalls(maxSteps);
    const { workflow, judge } = inputs;
    return await use({ config, workflow, judge, policy, wrapModel, endpointHost, emit });
  } finally {
    watchdog.stop();
    await endpointHost.close();
  }
}
