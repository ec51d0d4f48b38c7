import { startEndpointServer } from '@agentjet/endpoint';
import type { AgentJetConfig } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { limitCalls } from './call-limit.js';
import type { JobListener } from '../events.js';
import type { JobInputs } from '../inputs/job-inputs.js';
import type { RolloutContext } from './run-phase.js';
import { startWatchdog } from './watchdog.js';

type SessionParts = { readonly inputs: JobInputs; readonly policy: Policy; readonly emit: JobListener };

/**
 * Starts the HTTP endpoint for agents in other processes, puts the limits of the configuration around the workflow, and ends both
 * when `use` does.
 */
export async function withSession<T>(
  config: AgentJetConfig,
  { inputs, policy, emit }: SessionParts,
  use: (context: RolloutContext) => Promise<T>,
): Promise<T> {
  const endpointHost = await startEndpointServer();
  // Its beat also keeps Node from ending while all episodes wait for nothing.
  const watchdog = startWatchdog({ limitMs: 1000 * config.rollout.episodeTimeout + 5000 });
  try {
    const workflow = limitCalls(inputs.workflow, config.rollout.multiTurn.maxSteps, endpointHost);
    return await use({ config, workflow, judge: inputs.judge, policy, endpointHost, emit });
  } finally {
    watchdog.stop();
    await endpointHost.close();
  }
}
