import { createHash } from 'node:crypto';
import { ConfigError } from '@agentjet/core';
import { hashCode, loadInputs } from '@agentjet/inputs';
import { wrapWithCallLimit } from '@agentjet/rollout';
import { SwarmClient, type RunResult, type SwarmRunOptions } from '@agentjet/swarm-client';
import { AgentJetJob, configuration, type AgentJetConfig } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { SwarmRunFlags } from '../swarm-program.js';
import { SwarmPrinter } from './swarm-printer.js';

/**
 * `ajet swarm run` runs the workflow of a YAML file for a server, until its tasks are done or a signal arrives. Returns
 * the exit code.
 */
export async function runSwarm(flags: SwarmRunFlags, overrides: readonly string[]): Promise<number> {
  const output = createOutput(flags);
  return runInterruptibly(
    () => output.writeLine('Stopping: running episodes are given back.'),
    async (signal) => {
      const client = new SwarmClient({ url: flags.server, key: readSwarmKey(flags), ...namesOf(flags, overrides) });
      const { workflow, options } = await loadRun(loadConfig(flags, overrides), flags);
      const printer = new SwarmPrinter(output.writeLine);
      output.writeLine(`Running for ${flags.server} as ${client.client}, revision ${client.revision}`);
      const result = await client.run(workflow, { ...options, signal, onEvent: printer.onEvent });
      printer.flush();
      output.writeLine(describeRun(result));
      output.writeJson({ ...result, client: client.client, revision: client.revision });
      return 0;
    },
  );
}

/** The key never comes from the command line, because every user of the machine could read it there. */
export function readSwarmKey({ keys }: SwarmRunFlags): string | undefined {
  const key = process.env['AJET_SWARM_KEY'];
  if (key !== undefined && key !== '') return key;
  if (keys === false) return undefined;
  throw new ConfigError(
    'no_key',
    "There is no key. Put a worker's key into the environment variable AJET_SWARM_KEY, or pass --no-keys if the server needs no key.",
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
  return new AgentJetJob().loadJobFromYaml(conf, overrides).config;
}

/** Reads the parts of a configuration that a client uses. `given` replaces its workflow or its tasks. */
export async function loadRun(
  config: AgentJetConfig,
  flags: SwarmRunFlags,
  given: Parameters<typeof loadInputs>[0] = {},
): Promise<{ readonly workflow: Parameters<SwarmClient['run']>[0]; readonly options: SwarmRunOptions }> {
  const { inputs } = await loadInputs(given, { config, composition: configuration });
  const { workflow, judge, reader, environment } = inputs;
  const { rollout, trainableTargets, trainerCommon, environment: limits } = config;
  const isEvaluated = trainerCommon.valBeforeTrain || trainerCommon.testFreq > 0;
  return {
    workflow,
    options: {
      tasks: reader.trainingTasks(),
      ...(isEvaluated && { evaluationTasks: reader.evaluationTasks() }),
      judge,
      environment,
      maxSessions: limits.maxSessions,
      openTimeoutSeconds: limits.openTimeout,
      callTimeoutSeconds: limits.callTimeout,
      trainableTargets,
      parallel: toParallel(flags.parallel) ?? rollout.maxEnvWorker,
      timeoutSeconds: rollout.episodeTimeout,
      scorePatienceSeconds: rollout.scorePatience,
      wrapModel: wrapWithCallLimit(config),
      portable: flags.portable !== false,
    },
  };
}

/** The revision changes with the files of workflow and judge. Files that they import are not read. */
export function revisionOf(config: AgentJetConfig): string {
  const hashes = hashCode({ workflow: config.rollout.userWorkflow, judge: config.taskJudge });
  return createHash('sha256').update(JSON.stringify(hashes)).digest('hex').slice(0, 12);
}

export function toParallel(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new ConfigError('wrong_type', `--parallel is ${JSON.stringify(text)}, not a whole number from 1.`);
}

const reasons: Readonly<Record<RunResult['reason'], string>> = {
  no_task: 'All tasks are done',
  stopped: 'The server was stopped',
  interrupted: 'Stopped',
};

export function describeRun({ reason, ended, completed, failed, outages, gone, meanReward }: RunResult): string {
  const mean = meanReward === null ? '' : `, mean reward ${meanReward.toFixed(3)}`;
  return `${reasons[reason]}: ${ended} episodes reported (${completed} completed${mean}, ${failed} failed, ${outages} outages), ${gone} taken back.`;
}
