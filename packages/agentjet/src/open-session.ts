import { startEndpointServer } from '@agentjet/endpoint';
import type { AgentJetConfig } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { limitCalls } from './call-limit.js';
import type { JobListener } from './events.js';
import type { JobInputs } from './inputs/job-inputs.js';
import type { RolloutContext } from './run-phase.js';
import { startWatchdog } from './watchdog.js';

/** What a run holds open; closed in one place. */
export type Session = { readonly context: RolloutContext; close(): Promise<void> };

/** Starts the HTTP endpoint for agents in other processes, and puts the limits of the configuration around the workflow. */
export async function openSession(config: AgentJetConfig, parts: { readonly inputs: JobInputs; readonly policy: Policy; readonly emit: JobListener }): Promise<Session> {
  const endpointHost = await startEndpointServer();
  // Its beat also keeps Node from ending while all episodes wait for nothing.
  const watchdog = startWatchdog({ limitMs: 1000 * config.rollout.episodeTimeout + 5000 });
  const { inputs, policy, emit } = parts;
  const workflow = limitCalls(inputs.workflow, config.rollout.multiTurn.maxSteps, endpointHost);
  return {
    context: { config, workflow, judge: inputs.judge, policy, endpointHost, emit },
    close: () => {
      watchdog.stop();
      return endpointHost.close();
    },
  };
}
