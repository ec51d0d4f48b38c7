import { setMaxListeners } from 'node:events';
import { deriveSeed, type EpisodeGroup, type RewardedEpisode, type Task } from '@agentjet/core';
import type { Episode } from '../contract.js';
import { isSamplingMixed } from './mixed-sampling.js';
import { runEpisode, type EpisodeOptions } from './run-episode.js';
import { Semaphore } from './semaphore.js';

/** The siblings of one task, failed ones among them. */
export type TaskGroup = { readonly groupId: string; readonly task: Task; readonly episodes: readonly Episode[] };

export type GroupsOptions = EpisodeOptions & {
  /** Pulled one by one, as room comes up. Each is a draw: a task that comes twice makes two groups, each with its ids and seeds. */
  readonly tasks: AsyncIterable<Task> | Iterable<Task>;
  /** Episodes per task. */
  readonly numRepeat: number;
  /** Episodes at a time, of all groups together. */
  readonly maxParallel: number;
  /**
   * Groups that may be started and not yet handed over; bounds memory, and how far one slow group lets the others
   * run ahead. Default: what fills maxParallel, twice.
   */
  readonly maxOpenGroups?: number;
  /** Episode seeds derive from it, the task's id and the repeat; give each pass over the tasks another. */
  readonly seed: number;
  /** Comes before the task's id in episode and group ids, to keep them apart between passes. */
  readonly idPrefix?: string;
  readonly onEpisodeStart?: (start: { readonly episodeId: string; readonly task: Task }) => void;
  readonly onEpisode?: (episode: Episode) => void;
  /** Ends the run: running episodes are aborted, and no further group comes out. */
  readonly signal?: AbortSignal;
};

/**
 * Runs numRepeat episodes of every task and yields complete groups in the order of the tasks, whichever finishes
 * first. Leaving the loop early aborts what still runs and waits for it.
 */
export async function* runGroups(options: GroupsOptions): AsyncGenerator<TaskGroup, void, undefined> {
  checkOptions(options);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // one for each episode that runs
  const onStop = (): void => stop.abort(options.signal?.reason);
  if (options.signal?.aborted) return;
  options.signal?.addEventListener('abort', onStop, { once: true });
  const semaphore = new Semaphore(options.maxParallel);
  const tasks = toIterator(options.tasks);
  const open: Promise<TaskGroup>[] = [];
  const timesDrawn = new Map<string, number>();
  try {
    for (let isDone = false; ; ) {
      while (!isDone && open.length < maxOpenGroups(options) && !stop.signal.aborted) {
        const next = await tasks.next();
        isDone = next.done === true;
        if (next.done === true) continue;
        const earlier = timesDrawn.get(next.value.taskId) ?? 0;
        timesDrawn.set(next.value.taskId, earlier + 1);
        const draw = toDraw(next.value, earlier, options);
        open.push(startGroup(draw, options, { semaphore, signal: stop.signal }));
      }
      const group = await open.shift();
      if (group === undefined || stop.signal.aborted) return;
      yield group;
    }
  } finally {
    options.signal?.removeEventListener('abort', onStop);
    stop.abort(new Error('The run has ended.'));
    await Promise.allSettled(open);
    await tasks.return?.();
  }
}

type Shared = { readonly semaphore: Semaphore; readonly signal: AbortSignal };

/** A task drawn once. The ids of its group and episodes come from the draw; they do not feed the seeds. */
type Draw = { readonly task: Task; readonly groupId: string; readonly seedOf: (repeatIndex: number) => number };

function toDraw(task: Task, earlier: number, { idPrefix = '', seed }: GroupsOptions): Draw {
  const again = earlier === 0 ? [] : [earlier];
  return {
    task,
    groupId: `${idPrefix}${task.taskId}${earlier === 0 ? '' : `#${earlier + 1}`}`,
    seedOf: (repeatIndex) => deriveSeed(seed, task.taskId, repeatIndex, ...again),
  };
}

function startGroup(draw: Draw, options: GroupsOptions, shared: Shared): Promise<TaskGroup> {
  const { task, groupId } = draw;
  const repeats = Array.from({ length: options.numRepeat }, (_none, repeatIndex) =>
    runRepeat(draw, repeatIndex, options, shared),
  );
  const group = Promise.all(repeats).then((episodes) => ({ groupId, task, episodes }));
  group.catch(() => {});
  return group;
}

function runRepeat(
  { task, groupId, seedOf }: Draw,
  repeatIndex: number,
  options: GroupsOptions,
  { semaphore, signal }: Shared,
): Promise<Episode> {
  const episodeId = `${groupId}-r${repeatIndex}`;
  return semaphore.run(async () => {
    if (!signal.aborted) options.onEpisodeStart?.({ episodeId, task });
    const episode = await runEpisode(task, options, {
      episodeId,
      repeatIndex,
      seed: seedOf(repeatIndex),
      signal,
    });
    if (!signal.aborted) options.onEpisode?.(episode);
    return episode;
  });
}

/** What a failed episode does to its group: `drop_group` leaves the group out, `zero_reward` counts it with reward 0. */
export type FailedPolicy = 'drop_group' | 'zero_reward';

/** What the trainer gets of a group; undefined if it is dropped, also for siblings that were sampled at different temperatures. */
export function toEpisodeGroup(group: TaskGroup, failed: FailedPolicy): EpisodeGroup | undefined {
  if (failed === 'drop_group' && group.episodes.some((episode) => episode.status === 'failed')) {
    return undefined;
  }
  if (isSamplingMixed(group.episodes)) return undefined;
  const episodes = group.episodes.map((episode) => ({
    episodeId: episode.episodeId,
    reward: episode.status === 'completed' ? episode.reward : 0,
    ...(episode.status === 'completed' && rewardsOf(episode)),
    samples: episode.samples,
  }));
  return { groupId: group.groupId, episodes };
}

/** What a failed episode earned on the way is not counted: its reward is 0. */
function rewardsOf({ rewards, turnRewards }: Completed): Pick<RewardedEpisode, 'rewards' | 'turnRewards'> {
  return { ...(rewards !== undefined && { rewards }), ...(turnRewards !== undefined && { turnRewards }) };
}

type Completed = Extract<Episode, { readonly status: 'completed' }>;

function maxOpenGroups({ maxOpenGroups: given, maxParallel, numRepeat }: GroupsOptions): number {
  return given ?? 2 * Math.ceil(maxParallel / numRepeat);
}

function checkOptions(options: GroupsOptions): void {
  for (const name of ['numRepeat', 'maxParallel', 'maxOpenGroups'] as const) {
    const value = options[name];
    if (value !== undefined && (!Number.isInteger(value) || value < 1)) {
      throw new RangeError(`${name} is ${value}; it must be a whole number from 1.`);
    }
  }
}

function toIterator(tasks: AsyncIterable<Task> | Iterable<Task>): AsyncIterator<Task> | Iterator<Task> {
  return Symbol.asyncIterator in tasks ? tasks[Symbol.asyncIterator]() : tasks[Symbol.iterator]();
}
