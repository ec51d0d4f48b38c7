import { startEndpointServer } from '@agentjet/endpoint';
import type { CommonConfig } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { limitCalls } from './call-limit.js';
import type { JobListener } from '../events.js';
import type { JobInputs } from '../inputs/job-inputs.js';
import { createPlaceKeeper } from './place-keeper.js';
import type { RolloutContext } from './run-phase.js';
import { startWatchdog } from './watchdog.js';

type RolloutParts = {
  readonly inputs: JobInputs;
  readonly policy: Policy;
  readonly emit: JobListener;
  /** Throws if the engine is broken for good. */
  readonly checkEngine?: () => void;
};

/**
 * Starts the HTTP endpoint for agents in other processes, puts the limits of the configuration around the models, and ends both
 * when `use` does.
 */
export async function withRollout<T>(
  config: CommonConfig,
  { inputs, policy, emit, checkEngine }: RolloutParts,
  use: (context: RolloutContext) => Promise<T>,
): Promise<T> {
  const endpointHost = await startEndpointServer();
  // Its beat also keeps Node from ending while all episodes wait for nothing.
  const watchdog = startWatchdog({ limitMs: 1000 * config.rollout.episodeTimeout + 5000 });
  try {
    const { maxSteps } = config.rollout.multiTurn;
    const wrapModel = maxSteps === null ? undefined : limitCalls(maxSteps);
    const { workflow, judge } = inputs;
    const keeper = createPlaceKeeper(config, {
      onNotice: (message) => emit({ type: 'notice', message }),
      ...(checkEngine === undefined ? {} : { checkEngine }),
    });
    return await use({ config, workflow, judge, policy, wrapModel, endpointHost, keeper, emit });
  } finally {
    watchdog.stop();
    await endpointHost.close();
  }
}
