import { deriveSeed } from '@agentjet/core';
import { isSamplingMixed, toEpisodeGroup, type TaskGroup } from '@agentjet/rollout';
import type { Draw } from '@agentjet/run-folder';
import type { TrainingGroup } from '@agentjet/trainer';
import { toEpisodeRecord } from '../rollout/episode-record.js';
import { samplingDefaults } from '../rollout/sampling-defaults.js';
import { readTask } from '../inputs/read-tasks.js';
import type { TaskSchedule } from './task-schedule.js';
import { runPhase, type RolloutContext } from '../rollout/run-phase.js';
import type { GroupSource, SourceStart } from '../group-source.js';
import { toEpisodeMeans } from './episode-means.js';
import { countHistories } from './history-counts.js';

/** What the trainer gets of a task's episodes: a dropped group comes without episodes, with its report. */
function toTrainingGroup(
  group: TaskGroup,
  failedPolicy: RolloutContext['config']['rollout']['failedEpisodePolicy'],
  draw: Draw | undefined,
): TrainingGroup {
  const { groupId, episodes } = group;
  const trained = toEpisodeGroup(group, failedPolicy) ?? { groupId, episodes: [] };
  return {
    ...trained,
    ...(draw === undefined ? {} : { draw }),
    report: {
      episodes: episodes.length,
      failedEpisodes: episodes.filter(({ status }) => status === 'failed').length,
      successes: episodes.filter((episode) => episode.status === 'completed' && episode.isSuccess).length,
      rewardSum: episodes.reduce((sum, episode) => sum + (episode.status === 'completed' ? episode.reward : 0), 0),
      generatedTokens: episodes.reduce((sum, { stats }) => sum + stats.generatedTokens, 0),
      counts: { ...countHistories(episodes), ...(isSamplingMixed(episodes) && { groups_of_mixed_sampling: 1 }) },
      logMetrics: episodes.map(({ logMetrics }) => logMetrics),
      means: episodes.map(toEpisodeMeans),
      records: episodes.map(toEpisodeRecord),
    },
  };
}

/** Draws of one epoch stay together: ids and seeds carry the epoch. */
function groupByEpoch(draws: readonly Draw[]): readonly (readonly Draw[])[] {
  const epochs = [...new Set(draws.map(({ epoch }) => epoch))];
  return epochs.map((epoch) => draws.filter((draw) => draw.epoch === epoch));
}

/** The groups of draws of one epoch, in their order; fewer if the signal aborts. */
async function runDraws(
  context: RolloutContext,
  { schedule, draws }: { readonly schedule: TaskSchedule; readonly draws: readonly Draw[] },
  at: { readonly step: number; readonly signal: AbortSignal },
): Promise<readonly TrainingGroup[]> {
  const { rollout, trainerCommon } = context.config;
  const epoch = draws[0]?.epoch ?? 0;
  const { groups } = await runPhase(context, {
    ...at,
    phase: 'sample',
    tasks: await Promise.all(draws.map((draw) => readTask(() => schedule.taskOf(draw)))),
    numRepeat: rollout.numRepeat,
    maxParallel: rollout.maxEnvWorker,
    sampling: samplingDefaults(context.config),
    requestSampling: rollout.requestSampling,
    timeoutMs: rollout.episodeTimeout * 1000,
    seed: deriveSeed(trainerCommon.seed, 'training', epoch),
    idPrefix: `e${epoch + 1}-`,
  });
  return groups.map((group, at) => toTrainingGroup(group, rollout.failedEpisodePolicy, draws[at]));
}

/**
 * The groups of a schedule. A whole batch is sampled when its first group is asked for, and the next batch only when that
 * is asked for: with a consumer that trains in between, every batch is on-policy. `checkEngine` throws if the engine that
 * sampled a batch has stopped answering; then none of its groups comes out.
 */
export function createScheduleSource(
  context: RolloutContext,
  schedule: TaskSchedule,
  checkEngine: () => void,
): GroupSource {
  const { batchSize, totalSteps } = schedule;
  return { groupsPerStep: batchSize, totalSteps, pull: (start) => pullGroups(context, schedule, start, checkEngine) };
}

async function* pullGroups(
  context: RolloutContext,
  schedule: TaskSchedule,
  { step: stepsMade, drawn, signal }: SourceStart,
  checkEngine: () => void,
): AsyncGenerator<TrainingGroup> {
  const left = schedule.draws(drawn);
  for (let step = stepsMade + 1; ; step++) {
    const batch = take(left, schedule.batchSize);
    if (batch.length === 0) return;
    const groups: TrainingGroup[] = [];
    for (const draws of groupByEpoch(batch))
      groups.push(...(await runDraws(context, { schedule, draws }, { step, signal })));
    if (signal.aborted) return;
    checkEngine();
    yield* groups;
  }
}

function take(draws: Iterator<Draw, void>, count: number): readonly Draw[] {
  const taken: Draw[] = [];
  while (taken.length < count) {
    const next = draws.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}
