import { ConfigError } from '@agentjet/core';
import { loadInputs } from '@agentjet/inputs';
import { revisionOf, toSwarmRun } from '@agentjet/job';
import { SwarmClient, type RunResult, type SwarmRunOptions } from '@agentjet/swarm-client';
import type { LogEntry } from '@agentjet/swarm-server';
import { configuration, type AgentJetConfig } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createLog } from '../log-lines.js';
import { createOutput } from '../output.js';
import type { SwarmRunFlags } from '../swarm-program.js';
import { loadJob } from './load-job.js';
import { toPort, toWhole } from './read-flags.js';
import { takeSwarmKey } from './swarm-key.js';
import { SwarmPrinter } from './swarm-printer.js';

/**
 * `ajet swarm run` runs the workflow of a YAML file for a server, until its tasks are done or a signal arrives. Returns
 * the exit code.
 */
export async function runSwarm(flags: SwarmRunFlags, overrides: readonly string[]): Promise<number> {
  const output = createOutput(flags);
  let log = createLog(flags);
  const say = (message: string, more?: Partial<LogEntry>): void => log({ level: 'info', message, ...more });
  const key = takeSwarmKey(flags, say);
  return runInterruptibly(
    () => say('Stopping: running episodes are given back.'),
    async (signal) => {
      const client = new SwarmClient({ url: flags.server, key, ...namesOf(flags, overrides) });
      log = createLog(flags, { client: client.client });
      const config = loadConfig(flags, overrides);
      requireOwnProcess(config);
      const { workflow, options } = await loadRun(config, flags);
      const printer = new SwarmPrinter(say);
      say(`Running for ${flags.server} as ${client.client}, revision ${client.revision}`);
      const result = await client.run(workflow, { ...options, signal, onEvent: printer.onEvent });
      printer.flush();
      say(describeRun(result));
      output.writeJson({ ...result, client: client.client, revision: client.revision });
      return 0;
    },
  );
}

/** Throws ConfigError if the configuration asks for several processes, because a client is one process. */
function requireOwnProcess({ rollout }: Pick<AgentJetConfig, 'rollout'>): void {
  if (rollout.workflowProcesses === 0) return;
  throw new ConfigError(
    'wrong_value',
    `rollout.workflow_processes is ${rollout.workflowProcesses}, and \`ajet swarm run\` runs workflows in its own process. Set rollout.workflow_processes=0 here, and start several clients, each with another --client.`,
  );
}

function namesOf(
  flags: SwarmRunFlags,
  overrides: readonly string[],
): { readonly client?: string; readonly share?: string; readonly revision: string } {
  return {
    revision: flags.revision ?? revisionOf(loadConfig(flags, overrides)),
    ...(flags.client !== undefined && { client: flags.client }),
    ...(flags.share !== undefined && { share: flags.share }),
  };
}

export function loadConfig({ conf }: SwarmRunFlags, overrides: readonly string[]): AgentJetConfig {
  if (conf === undefined)
    throw new ConfigError('no_conf', 'Name the job with --conf <file.yaml>, or a program after "--".');
  return loadJob({ conf }, overrides).config;
}

/** Reads the parts of a configuration that a client uses. `given` replaces its workflow or its tasks. */
export async function loadRun(
  config: AgentJetConfig,
  flags: SwarmRunFlags,
  given: Parameters<typeof loadInputs>[0] = {},
): Promise<{ readonly workflow: Parameters<SwarmClient['run']>[0]; readonly options: SwarmRunOptions }> {
  const { inputs } = await loadInputs(given, { config, composition: configuration });
  return {
    workflow: inputs.workflow,
    options: {
      ...toSwarmRun(config, inputs),
      ...(flags.parallel !== undefined && { parallel: toParallel(flags.parallel) }),
      portable: flags.portable !== false,
      replaceTasks: flags.replaceTasks === true,
      ...endpointOf(flags),
    },
  };
}

/** Where the agents of this client find their models. */
export function endpointOf({
  endpointHost,
  endpointPort,
  endpointUrl,
}: SwarmRunFlags): Pick<SwarmRunOptions, 'endpoint'> {
  const port = endpointPort === undefined ? undefined : toPort(endpointPort, '--endpoint-port');
  return { endpoint: { hostname: endpointHost, port, publicUrl: endpointUrl } };
}

export const toParallel = (text: string): number => toWhole(text, '--parallel', { least: 1, most: 999_999 });

const reasons: Readonly<Record<RunResult['reason'], string>> = {
  complete: 'The run is complete: all its steps are made',
  no_task: 'All tasks are done',
  stopped: 'The server was stopped',
  interrupted: 'Stopped',
};

export function describeRun({ reason, ended, completed, failed, outages, gone, meanReward }: RunResult): string {
  const mean = meanReward === null ? '' : `, mean reward ${meanReward.toFixed(3)}`;
  return `${reasons[reason]}: ${ended} episodes reported (${completed} completed${mean}, ${failed} failed, ${outages} outages), ${gone} taken back.`;
}
