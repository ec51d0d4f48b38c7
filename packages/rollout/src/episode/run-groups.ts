import { setMaxListeners } from 'node:events';
import { drawName, placeSeed, type EpisodeGroup, type RewardedEpisode, type Task } from '@agentjet/core';
import type { Episode } from '../contract.js';
import { isGroupJudge } from '../judge.js';
import { runPlace, type Attempt, type AttemptKeeper, type PlaceOutcome } from './attempts.js';
import { isAgentsFailure } from './episode-error.js';
import { GroupVerdicts } from './group-verdicts.js';
import { isSamplingMixed } from './mixed-sampling.js';
import { ownTurn } from './own-turn.js';
import { runEpisode, type EpisodeOptions } from './run-episode.js';
import { Semaphore } from './semaphore.js';
import { Stragglers } from './stragglers.js';

/** The siblings of one task, including failed ones. */
export type TaskGroup = {
  readonly groupId: string;
  readonly task: Task;
  /** One episode per place. */
  readonly episodes: readonly Episode[];
  /** Attempts that were lost to outages and made again. */
  readonly lost: readonly Episode[];
  /** True if the group took much longer than the others and its running episodes were cut. It is not trained. */
  readonly isGivenUp?: boolean;
};

export type GroupsOptions = Omit<EpisodeOptions, 'onGroupJudge'> & {
  /**
   * Tasks are pulled one by one, as workers become free. Each pull is a draw: a task that occurs twice makes two
   * groups, each with its own ids and seeds.
   */
  readonly tasks: AsyncIterable<Task> | Iterable<Task>;
  /** Episodes per task. */
  readonly numRepeat: number;
  /** The maximum number of concurrent episodes over all groups. */
  readonly maxParallel: number;
  /** Workers that concurrent runs share. If it is set, `maxParallel` is ignored. Default: `maxParallel` workers. */
  readonly workers?: Semaphore | undefined;
  /**
   * Milliseconds from the time when half of the groups are done until the unfinished ones are given up. Null (the
   * default) means without limit. The time does not begin before all groups have begun, so `maxOpenGroups` must exceed
   * the number of groups.
   */
  readonly stragglerPatienceMs?: number | null;
  /**
   * The maximum number of groups that are started and not yet handed over. It bounds memory, and how far the other
   * groups can run ahead of a slow one. Default: twice the number that fills maxParallel.
   */
  readonly maxOpenGroups?: number;
  /** Episode seeds derive from it, the task's id and the repeat. Use another seed for each pass over the tasks. */
  readonly seed: number;
  /** Prefix of episode and group ids, which keeps passes apart. */
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
 * Runs numRepeat episodes of every task and yields complete groups in the order of the tasks, even if a later one
 * finishes first. Leaving the loop early aborts the running episodes and waits for them.
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
        open.push(startGroup(draw, options, { workers, stragglers, signal: stop.signal }));
      }
      const group = await open.shift();
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

type Shared = { readonly workers: Semaphore; readonly stragglers: Stragglers; readonly signal: AbortSignal };

type GroupParts = { readonly verdicts: GroupVerdicts | undefined; readonly isOver: () => boolean };

/** A task, drawn once. The ids of its group and episodes come from the draw; the seeds do not. */
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
  group.catch(() => {});
  return group;
}

/** Undefined unless the judge judges groups. */
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
    const episode = await (options.runEpisode ?? runEpisode)(task, { ...options, ...judging }, identity);
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
 * What the failure of an agent does to its group. `drop_group` leaves the group out. `zero_reward` counts the episode
 * with reward 0. `partial_group` trains the others if at least half of the places and two episodes are filled. An
 * outage or a failure of the judge never counts as a reward: such an episode is left out.
 */
export type FailedPolicy = 'drop_group' | 'zero_reward' | 'partial_group';

/** The smallest share of a group's places that `partial_group` trains. It also needs at least two episodes. */
const defaultMinShare = 0.5;

/**
 * Converts a group for the trainer. Returns undefined if the group is dropped: because of its failures, because it was
 * given up, or because its siblings were sampled at different temperatures.
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

/** Empty if the place is not filled. */
function toRewarded(episode: Episode, failed: FailedPolicy): readonly RewardedEpisode[] {
  const { episodeId, samples } = episode;
  if (episode.status === 'completed') return [{ episodeId, reward: episode.reward, ...rewardsOf(episode), samples }];
  return failed === 'zero_reward' && isAgentsFailure(episode.error) ? [{ episodeId, reward: 0, samples }] : [];
}

/** A failed episode loses what it earned on the way: its reward is 0. */
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
