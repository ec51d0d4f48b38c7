import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { BackboneError, ConfigError, toSnakeCase, type CommonConfig, type Task } from '@agentjet/core';
import { collectTasks, noTrainingTasks, type JobInputs } from '@agentjet/inputs';
import {
  checkKeepBest,
  checkStopOnCollapse,
  checkStart,
  evaluatesAtAll,
  findRun,
  nothingCompleted,
} from '@agentjet/local-run';
import type { JobResult, PolicyResult } from '@agentjet/records';
import { checkpointName } from '@agentjet/run-folder';
import { SwarmClient, type RunResult } from '@agentjet/swarm-client';
import { parseRewind, serveSwarm, type RewindTo, type ServedSwarm } from '@agentjet/swarm-server';
import type { TrainJobOptions } from '../train-job.js';
import { requirePossible } from './require-possible.js';
import { TeamEvents, toTotalSteps } from './team-events.js';
import { revisionOf, toSwarmRun } from './to-swarm-run.js';

/**
 * An ordinary run of several policies is a swarm with one client: this process serves the policies on the loopback
 * address, and its only client runs the workflow. The server takes the drawn tasks in their order, as the run of one
 * policy does.
 */
export async function trainSeveral(given: CommonConfig, options: TrainJobOptions): Promise<JobResult> {
  const startedAt = performance.now();
  const { inputs, emit, signal } = options;
  requirePossible(given, inputs);
  checkStart(given, inputs); // ignores the notices, because each policy reports its own
  const config = { ...given, swarm: { ...given.swarm, order: 'drawn' as const } };
  const tasks = await readTasks(config, inputs);
  checkKeepBest(given, tasks.evaluation.length);
  checkStopOnCollapse(given, tasks.evaluation.length);
  const run = options.resume === false ? undefined : await findRun(given, options.resume);
  const events = new TeamEvents(emit, { numTasks: tasks.training.length, numEvaluationTasks: tasks.evaluation.length });
  const fatal = new AbortController();
  const ownKey = randomBytes(24).toString('base64url');
  const served = await serveSwarm({
    config,
    composition: inputs.composition,
    isNew: run === undefined,
    run,
    ...(options.from !== undefined && run !== undefined && { rewindTo: toRewind(options.from, { config, run }) }),
    ...(signal !== undefined && { signal }),
    app: { ownKey },
    follow: events.follow,
    onNotice: (message) => emit({ type: 'notice', message }),
    onFatal: (error) => fatal.abort(error),
  }).catch(async (error: unknown) => {
    await inputs.environment?.close?.();
    throw error;
  });
  try {
    begin(events, { served, options, numTasks: tasks.training.length });
    const stop = signal === undefined ? fatal.signal : AbortSignal.any([signal, fatal.signal]);
    const client = new SwarmClient({
      url: served.server.url,
      key: ownKey,
      client: 'run',
      revision: revisionOf(config),
    });
    const ended = await client.run(inputs.workflow, {
      ...toSwarmRun(config, inputs),
      tasks: tasks.training,
      evaluationTasks: tasks.evaluation,
      signal: stop,
      onEvent: events.noteClient,
      onEpisode: events.noteEpisode,
    });
    if (!fatal.signal.aborted) await served.server.finish(0).catch((error: unknown) => fatal.abort(error));
    fatal.signal.throwIfAborted();
    const result = await toResult(events, { served, ended, startedAt });
    emit({ type: 'run_finished', result });
    return result;
  } finally {
    await served.close();
  }
}

type Tasks = { readonly training: readonly Task[]; readonly evaluation: readonly Task[] };

async function readTasks(config: CommonConfig, { reader }: Pick<JobInputs, 'reader'>): Promise<Tasks> {
  const { trainerCommon, data } = config;
  const { totalTrainingSteps } = trainerCommon;
  const size = (await reader.trainingTable?.())?.size;
  const needed = size === undefined && totalTrainingSteps !== null ? totalTrainingSteps * data.trainBatchSize : null;
  const training = await collectTasks(reader.trainingTasks(), needed);
  if (training.length === 0) throw noTrainingTasks();
  return {
    training,
    evaluation: evaluatesAtAll(trainerCommon) ? await collectTasks(reader.evaluationTasks(), null) : [],
  };
}

type FromOf = { readonly config: CommonConfig; readonly run: string };

/** Throws BackboneError `checkpoint` if a policy does not have the checkpoint, and ConfigError for an unknown policy. */
function toRewind(from: string, { config, run }: FromOf): RewindTo {
  const rewindTo = parseRewind(from);
  const names = Object.keys(config.swarm.policies).map(toSnakeCase);
  const steps = typeof rewindTo === 'number' ? Object.fromEntries(names.map((name) => [name, rewindTo])) : rewindTo;
  for (const [name, step] of Object.entries(steps)) {
    if (!names.includes(name))
      throw new ConfigError(
        'wrong_value',
        `--from names the policy "${name}", and the policies are ${names.join(', ')}.`,
      );
    const dir = path.join(run, 'policies', name, 'checkpoints', checkpointName(step));
    if (step > 0 && !existsSync(dir))
      throw new BackboneError(
        'checkpoint',
        `There is no checkpoint ${dir}. Name one that every policy has, or one for each: --from planner=step-20,worker=step-10.`,
      );
  }
  return rewindTo;
}

type Begun = {
  readonly served: ServedSwarm;
  readonly options: TrainJobOptions;
  readonly numTasks: number;
};

function begin(events: TeamEvents, { served, options, numTasks }: Begun): void {
  const [lead] = events.policies;
  if (lead === undefined) throw new TypeError('A run has at least one policy.');
  const step = served.server.swarm?.describe().policies?.[lead.name]?.step ?? 0;
  events.begin(step);
  const models = new Set(events.policies.map(({ config }) => config.model.path));
  const { data, rollout } = lead.config;
  options.emit({
    type: 'run_started',
    runDir: served.runDir,
    model: [...models].join(', '),
    plan: {
      firstStep: step + 1,
      totalSteps: toTotalSteps(lead.config, { numTasks, numEvaluationTasks: 0 }),
      tasksPerStep: data.trainBatchSize,
      episodesPerTask: rollout.numRepeat,
    },
  });
}

type Ended = { readonly served: ServedSwarm; readonly ended: RunResult; readonly startedAt: number };

async function toResult(events: TeamEvents, { served, ended, startedAt }: Ended): Promise<JobResult> {
  const { policies, seconds, tally } = events;
  const isInterrupted = ended.reason === 'interrupted';
  if (tally.completed === 0 && tally.failed > 0 && !isInterrupted)
    throw nothingCompleted(tally.failed, `${served.runDir}/policies`);
  const results: Record<string, PolicyResult> = {};
  for (const { name, folder } of policies) {
    const newest = await folder.checkpoints.latest();
    results[name] = { modelDir: newest?.dir ?? null, policyVersion: newest?.state.policyVersion ?? 0 };
  }
  const evaluations = (await policies[0]?.folder.readEvaluations()) ?? [];
  const last = evaluations.at(-1);
  const before = evaluations.find(({ step }) => step === 0);
  const isAfter = !isInterrupted && last !== undefined && last.step > 0;
  return {
    runDir: served.runDir,
    modelDir: null,
    policies: results,
    successBefore: before?.['success_rate'] ?? null,
    successAfter: isAfter ? (last['success_rate'] ?? null) : null,
    seconds: (performance.now() - startedAt) / 1000,
    secondsSampling: seconds.sampling,
    secondsTraining: seconds.training,
    secondsEvaluating: seconds.evaluating,
    policyVersion: results[policies[0]?.name ?? '']?.policyVersion ?? 0,
    isInterrupted,
  };
}
