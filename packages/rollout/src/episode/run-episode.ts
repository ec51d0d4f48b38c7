import { ConfigError, JudgeError, rejectOnAbort, type Task, type Verdict, type WorkflowOutput } from '@agentjet/core';
import type { EndpointHost, Episode, Policy, SamplingDefaults } from '../contract.js';
import { askJudge, type Judge } from '../judge.js';
import { createTuner } from '../tuner.js';
import { createWorkflow, resolveTrainableTargets, type WorkflowSource } from '../workflow.js';
import { copyPlain } from './copy-plain.js';
import { toEpisodeError } from './episode-error.js';
import { openLife, type EpisodeLife } from './episode-life.js';
import { openRecord, type EpisodeRecord } from './episode-record.js';
import { catchStrayErrors } from './stray-errors.js';
import { checkOutput, type CheckedOutput } from './workflow-output.js';

/** What all episodes of a run share. */
export type EpisodeOptions = {
  readonly workflow: WorkflowSource;
  readonly policy: Policy;
  readonly sampling: SamplingDefaults;
  /** Limit of a whole episode, its judge included. */
  readonly timeoutMs: number;
  /** Goes before the workflow's own `trainableTargets`; undefined or null: the workflow's. */
  readonly trainableTargets?: readonly string[] | null | undefined;
  readonly judge?: Judge | undefined;
  readonly endpointHost?: EndpointHost | undefined;
};

/** Which episode it is. */
export type EpisodeIdentity = {
  readonly episodeId: string;
  readonly repeatIndex: number;
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Runs one workflow on one task. Whatever the workflow or the judge does wrong comes back as a failed episode; only a
 * ConfigError rejects, since it would be the same in every episode.
 */
export async function runEpisode(task: Task, options: EpisodeOptions, identity: EpisodeIdentity): Promise<Episode> {
  const startedAt = performance.now();
  const life = openLife(options, identity);
  const record = openRecord(options, identity, life.signal);
  try {
    const outcome = await catchStrayErrors(life.fail, () => settle(task, options, { identity, life, record }));
    life.close();
    return {
      ...toIdentity(task, identity),
      ...record.finish(),
      ...outcome,
      seconds: (performance.now() - startedAt) / 1000,
    };
  } finally {
    life.close();
  }
}

type Running = { readonly identity: EpisodeIdentity; readonly life: EpisodeLife; readonly record: EpisodeRecord };
type Outcome = Pick<Episode, 'metadata' | 'logMetrics'> &
  (
    | { readonly status: 'completed'; readonly reward: number; readonly isSuccess: boolean }
    | Pick<Extract<Episode, { status: 'failed' }>, 'status' | 'error'>
  );

async function settle(task: Task, options: EpisodeOptions, running: Running): Promise<Outcome> {
  try {
    running.life.signal.throwIfAborted();
    const returned = await rejectOnAbort(execute(task, options, running), running.life.signal);
    const output = checkOutput(returned);
    const verdict = await rejectOnAbort(score(task, output, options.judge), running.life.signal);
    return { status: 'completed', ...verdict, metadata: output.metadata, logMetrics: output.logMetrics };
  } catch (thrown) {
    if (thrown instanceof ConfigError) throw thrown;
    return { status: 'failed', error: toEpisodeError(thrown), metadata: {}, logMetrics: {} };
  }
}

async function execute(
  task: Task,
  options: EpisodeOptions,
  { identity, life, record }: Running,
): Promise<WorkflowOutput> {
  const workflow = createWorkflow(options.workflow);
  const tuner = createTuner({
    episodeId: identity.episodeId,
    signal: life.signal,
    trainableTargets: resolveTrainableTargets(options.trainableTargets, workflow),
    createModel: record.createModel,
    endpointHost: options.endpointHost,
  });
  // Its own: what one episode changes of its task is no business of its siblings, of the judge and of the next epoch.
  return workflow.execute(copyPlain(task), tuner);
}

async function score(task: Task, output: CheckedOutput, judge: Judge | undefined): Promise<Verdict> {
  if (output.reward !== null) {
    return { reward: output.reward, isSuccess: output.isSuccess ?? output.reward >= 1 };
  }
  if (judge === undefined) {
    throw new JudgeError(
      'no_judge',
      `The workflow returned no reward for task "${task.taskId}", and there is no judge. Return a reward, or configure task_judge.`,
    );
  }
  return askJudge(judge, task, output);
}

function toIdentity(
  task: Task,
  { episodeId, repeatIndex, seed }: EpisodeIdentity,
): Pick<Episode, 'episodeId' | 'task' | 'repeatIndex' | 'seed'> {
  return { episodeId, task, repeatIndex, seed };
}
