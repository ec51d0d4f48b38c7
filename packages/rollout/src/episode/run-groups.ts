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

/** The siblings of one task, failed ones among them. */
export type TaskGroup = {
  readonly groupId: string;
  readonly task: Task;
  /** One per place. */
  readonly episodes: readonly Episode[];
  /** Attempts that the world lost and that were made again. */
  readonly lost: readonly Episode[];
  /** It took much longer than the others, and its running episodes were cut: it is not trained. */
  readonly isGivenUp?: boolean;
};

export type GroupsOptions = Omit<EpisodeOptions, 'onGroupJudge'> & {
  /** Pulled one by one, as room comes up. Each is a draw: a task that comes twice makes two groups, each with its ids and seeds. */
  readonly tasks: AsyncIterable<Task> | Iterable<Task>;
  /** Episodes per task. */
  readonly numRepeat: number;
  /** Episodes at a time, of all groups together. */
  readonly maxParallel: number;
  /** Shared by runs that go on at the same time; then `maxParallel` is not looked at. Default: `maxParallel` workers. */
  readonly workers?: Semaphore | undefined;
  /**
   * ms that the last groups may take longer than half of the others before they are given up; null (default): for ever. It counts
   * once all groups have begun, so `maxOpenGroups` must be more than there are.
   */
  readonly stragglerPatienceMs?: number | null;
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
  /** Default: every place has one attempt. */
  readonly keeper?: AttemptKeeper | undefined;
  /** Runs one episode, in another process for one. Default: `runEpisode`. */
  readonly runEpisode?: typeof runEpisode | undefined;
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

/** A task drawn once. The ids of its group and episodes come from the draw; they do not feed the seeds. */
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
    await ownTurn(); // episodes that begin together would keep the event loop busy for seconds
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
 * What an agent's failure does to its group: `drop_group` leaves the group out, `zero_reward` counts the episode with reward 0,
 * `partial_group` trains the others if at least half of the places and two episodes are filled. A failure of the world or of
 * the judge never counts as a reward: such an episode is left out.
 */
export type FailedPolicy = 'drop_group' | 'zero_reward' | 'partial_group';

/** The smallest share of a group's places that `partial_group` trains; at least two episodes. */
const defaultMinShare = 0.5;

/** What the trainer gets of a group; undefined if it is dropped, also for siblings that were sampled at different temperatures, and if it was given up. */
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

/** None if the place is not filled. */
function toRewarded(episode: Episode, failed: FailedPolicy): readonly RewardedEpisode[] {
  const { episodeId, samples } = episode;
  if (episode.status === 'completed') return [{ episodeId, reward: episode.reward, ...rewardsOf(episode), samples }];
  return failed === 'zero_reward' && isAgentsFailure(episode.error) ? [{ episodeId, reward: 0, samples }] : [];
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
