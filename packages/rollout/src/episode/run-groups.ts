import { setMaxListeners } from 'node:events';
import {
  drawName,
  isAgentsFailure,
  placeSeed,
  type EpisodeGroup,
  type RewardedEpisode,
  type Task,
} from '@agentjet/core';
import type { Episode } from '../contract.js';
import { isGroupJudge } from '../judge.js';
import { runPlace, type Attempt, type AttemptKeeper, type PlaceOutcome } from './attempts.js';
import { GroupVerdicts } from './group-verdicts.js';
import { isSamplingMixed } from './mixed-sampling.js';
import { ownTurn } from './own-turn.js';
import { runEpisode, type EpisodeOptions } from './run-episode.js';
import { Semaphore } from './semaphore.js';
import { Stragglers } from './stragglers.js';

/** All episodes of one task, including failed ones. */
export type TaskGroup = {
  readonly groupId: string;
  readonly task: Task;
  /** The episodes that count, one for each place of the group. */
  readonly episodes: readonly Episode[];
  /** Attempts that were lost to outages and repeated. */
  readonly lost: readonly Episode[];
  /**
   * True if the group took much longer than the others, so its running episodes were aborted. The group is not trained.
   */
  readonly isGivenUp?: boolean;
};

export type GroupsOptions = Omit<EpisodeOptions, 'onGroupJudge'> & {
  /**
   * Tasks are pulled one by one, as workers become free. Each task that is pulled makes a group with its own ids and
   * seeds, even if the same task occurs twice.
   */
  readonly tasks: AsyncIterable<Task> | Iterable<Task>;
  /** Episodes per task. */
  readonly numRepeat: number;
  /** Returns the sampling settings of a place of each group. Default: `sampling`. */
  readonly samplingOf?: ((place: number) => EpisodeOptions['sampling']) | undefined;
  /** The maximum number of concurrent episodes over all groups. */
  readonly maxParallel: number;
  /** Workers that concurrent runs share. If it is set, `maxParallel` is ignored. Default: `maxParallel` workers. */
  readonly workers?: Semaphore | undefined;
  /**
   * When half of the groups are done, unfinished groups are given up after this number of milliseconds. Null, the
   * default, means that they are never given up. The time starts only when all groups have begun, so `maxOpenGroups`
   * must exceed the number of groups.
   */
  readonly stragglerPatienceMs?: number | null;
  /**
   * The maximum number of groups that are started and not yet yielded. It limits memory, and it limits how far other
   * groups can run ahead of a slow group. Default: twice the number that fills maxParallel.
   */
  readonly maxOpenGroups?: number;
  /**
   * The seeds of episodes are derived from this seed, the task's id and the repeat. Use another seed for each pass over
   * the tasks.
   */
  readonly seed: number;
  /** A prefix of the ids of episodes and groups, so that the ids of different passes differ. */
  readonly idPrefix?: string;
  readonly onEpisodeStart?: (start: { readonly episodeId: string; readonly task: Task }) => void;
  readonly onEpisode?: (episode: Episode) => void;
  /** Default: every place has one attempt. */
  readonly keeper?: AttemptKeeper | undefined;
  /** Runs one episode, for example in another process. Default: `runEpisode`. */
  readonly runEpisode?: typeof runEpisode | undefined;
  /** Ends the run: running episodes are aborted, and no further group is yielded. */
  readonly signal?: AbortSignal;
};

/**
 * Runs numRepeat episodes of every task and yields complete groups in the order of the tasks, even if a later group
 * finishes first. If the loop is left early, the running episodes are aborted and awaited.
 */
export async function* runGroups(options: GroupsOptions): AsyncGenerator<TaskGroup, void, undefined> {
  checkOptions(options);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every running episode adds a listener
  const onStop = (): void => stop.abort(options.signal?.reason);
  if (options.signal?.aborted) return;
  options.signal?.addEventListener('abort', onStop, { once: true });
  const { workers = new Semaphore(options.maxParallel), stragglerPatienceMs: patienceMs = null } = options;
  const stragglers = new Stragglers({ patienceMs, isPaused: () => options.keeper?.isPaused?.() ?? false });
  const tasks = toIterator(options.tasks);
  const open: Promise<TaskGroup>[] = [];
  const timesDrawn = new Map<string, number>();
  const failures: unknown[] = [];
  /** Ends all groups if one fails, because the groups before it may wait for an outage to end. */
  const onFailure = (error: unknown): void => {
    if (stop.signal.aborted) return;
    failures.push(error);
    stop.abort(error);
  };
  try {
    for (let isDone = false; ; ) {
      while (!isDone && open.length < maxOpenGroups(options) && !stop.signal.aborted) {
        const next = await tasks.next();
        isDone = next.done === true;
        if (next.done === true) stragglers.allBegun();
        if (next.done === true) continue;
        const earlier = timesDrawn.get(next.value.taskId) ?? 0;
        timesDrawn.set(next.value.taskId, earlier + 1);
        const draw = toDraw(next.value, earlier, options);
        open.push(startGroup(draw, options, { workers, stragglers, signal: stop.signal, onFailure }));
      }
      const group = await open.shift();
      if (failures.length > 0) throw failures[0];
      if (group === undefined || stop.signal.aborted) return;
      yield group;
    }
  } finally {
    options.signal?.removeEventListener('abort', onStop);
    stop.abort(new Error('The run has ended.'));
    stragglers.close();
    await Promise.allSettled(open);
    await tasks.return?.();
  }
}

type Shared = {
  readonly workers: Semaphore;
  readonly stragglers: Stragglers;
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
};

type GroupParts = { readonly verdicts: GroupVerdicts | undefined; readonly isOver: () => boolean };

/** A task, drawn once. The ids of its group and episodes depend on the draw, but the seeds of the episodes do not. */
type Draw = { readonly task: Task; readonly groupId: string; readonly seedOf: (place: number) => number };

function toDraw(task: Task, earlier: number, { idPrefix = '', seed }: GroupsOptions): Draw {
  const { taskId } = task;
  return {
    task,
    groupId: drawName(idPrefix, { taskId, earlier }),
    seedOf: (place) => placeSeed(seed, { taskId, place, earlier }),
  };
}

function startGroup(draw: Draw, options: GroupsOptions, shared: Shared): Promise<TaskGroup> {
  const { task, groupId } = draw;
  const fill = (signal: AbortSignal): Promise<readonly PlaceOutcome[]> => {
    const verdicts = openVerdicts(draw, options, signal);
    return Promise.all(
      Array.from({ length: options.numRepeat }, (_none, place) =>
        startPlace(draw, place, options, { ...shared, signal, verdicts, isOver: () => shared.signal.aborted }).finally(
          () => verdicts?.end(place),
        ),
      ),
    );
  };
  const group = shared.stragglers.run(groupId, shared.signal, fill).then(({ result: outcomes, isGivenUp }) => ({
    groupId,
    task,
    episodes: outcomes.map(({ episode }) => episode),
    lost: outcomes.flatMap(({ lost }) => lost),
    ...(isGivenUp && { isGivenUp }),
  }));
  group.catch(shared.onFailure);
  return group;
}

/** Creates the verdicts of a group. Returns undefined if the judge does not judge groups. */
function openVerdicts(
  { task, groupId, seedOf }: Draw,
  { judge, numRepeat: numPlaces, timeoutMs }: GroupsOptions,
  signal: AbortSignal,
): GroupVerdicts | undefined {
  if (judge === undefined || !isGroupJudge(judge)) return undefined;
  return new GroupVerdicts({ judge, task, groupId, numPlaces, seed: seedOf(0), timeoutMs, signal });
}

function startPlace(
  { task, groupId, seedOf }: Draw,
  place: number,
  options: GroupsOptions,
  { workers, stragglers, signal, verdicts, isOver }: Shared & GroupParts,
): Promise<PlaceOutcome> {
  const { keeper, numRepeat: numPlaces } = options;
  const run = async ({ episodeId, seed, attempt }: Attempt, leave: () => void): Promise<Episode> => {
    if (!signal.aborted) options.onEpisodeStart?.({ episodeId, task });
    const identity = { episodeId, repeatIndex: place, seed, signal, ...(attempt > 0 && { attempt: attempt + 1 }) };
    await ownTurn(); // episodes that begin together would otherwise block the event loop for seconds
    const judging = verdicts && { judge: verdicts.judgeOf(place), onGroupJudge: leave };
    const sampling = options.samplingOf?.(place) ?? options.sampling;
    const episode = await (options.runEpisode ?? runEpisode)(task, { ...options, ...judging, sampling }, identity);
    if (!isOver()) options.onEpisode?.(episode);
    return episode;
  };
  const seat = { groupId, task, place, numPlaces, episodeId: `${groupId}-r${place}`, seed: seedOf(place) };
  const hasWorker = stragglers.waiting();
  return workers.run((leave) => {
    hasWorker();
    return runPlace(seat, {
      keeper,
      signal,
      run: (attempt) => run(attempt, leave),
      onRecalled: (episode) => options.onEpisode?.(episode),
    });
  });
}

/**
 * Decides what happens to a group if an agent fails in one of its episodes. With `drop_group`, the group is not
 * trained. With `zero_reward`, the episode counts with reward 0. With `partial_group`, the other episodes are trained
 * if at least half of the episodes, and at least two, succeeded. If an episode fails because of an outage or the judge,
 * it gets no reward and is left out.
 */
export type FailedPolicy = 'drop_group' | 'zero_reward' | 'partial_group';

/** The smallest fraction of a group's episodes that `partial_group` trains. It also needs at least two episodes. */
const defaultMinShare = 0.5;

/**
 * Converts a group for the trainer. Returns undefined if the group is dropped, because of its failures, because it was
 * given up, or because its episodes were sampled at different temperatures.
 */
export function toEpisodeGroup(
  group: TaskGroup,
  failed: FailedPolicy,
  minShare = defaultMinShare,
): EpisodeGroup | undefined {
  if (group.isGivenUp === true || isSamplingMixed(group.episodes)) return undefined;
  const episodes = group.episodes.flatMap((episode) => toRewarded(episode, failed));
  const numPlaces = group.episodes.length;
  const needed = failed === 'partial_group' ? Math.min(numPlaces, Math.max(2, minShare * numPlaces)) : numPlaces;
  return episodes.length < needed ? undefined : { groupId: group.groupId, episodes };
}

/** Converts an episode for the trainer. Returns an empty list if the episode does not count. */
function toRewarded(episode: Episode, failed: FailedPolicy): readonly RewardedEpisode[] {
  const { episodeId, samples } = episode;
  const cut = cutOf(episode);
  if (episode.status === 'completed')
    return [{ episodeId, reward: episode.reward, ...rewardsOf(episode), samples, ...cut }];
  return failed === 'zero_reward' && isAgentsFailure(episode.error) ? [{ episodeId, reward: 0, samples, ...cut }] : [];
}

/** Returns `isCut: true` if a token limit cut an answer of the episode, and no field otherwise. */
export function cutOf({ turns }: Pick<Episode, 'turns'>): Pick<RewardedEpisode, 'isCut'> {
  return turns.some(({ isTruncated }) => isTruncated) ? { isCut: true } : {};
}

/**
 * Returns the rewards of a completed episode. A failed episode loses the rewards that it got earlier, and its reward is
 * 0.
 */
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
