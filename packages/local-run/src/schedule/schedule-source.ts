import { addUp, drawPrefix, passSeed, type Task } from '@agentjet/core';
import { type Semaphore, type TaskGroup, samplingDefaults } from '@agentjet/rollout';
import { workAhead, type SourceStart } from '@agentjet/run';
import { drawsOf, type Draw } from '@agentjet/run-folder';
import type { TrainingGroup } from '@agentjet/trainer';
import { readTask } from '@agentjet/inputs';
import type { TaskSchedule } from './task-schedule.js';
import { runPhase, type RolloutContext } from '../phases/run-phase.js';
import { refillGroups } from './refill-groups.js';
import { leaveInPause } from './leave-in-pause.js';
import { noticeStragglers } from './notice-stragglers.js';
import { toTrainingGroup } from './to-training-group.js';

/** One draw and its task. */
type DrawnTask = { readonly draw: Draw; readonly task: Task };

/** Groups the draws by epoch, because ids and seeds contain the epoch. */
function groupByEpoch(batch: readonly DrawnTask[]): readonly (readonly DrawnTask[])[] {
  const epochs = [...new Set(batch.map(({ draw }) => draw.epoch))];
  return epochs.map((epoch) => batch.filter(({ draw }) => draw.epoch === epoch));
}

type RunAt = {
  readonly step: number;
  readonly signal: AbortSignal;
  readonly workers: Semaphore;
  readonly maxParallel: number;
};

/**
 * Samples the groups of one epoch's draws, and returns them in order. There are fewer if the signal aborts. A group
 * that was lost to an outage is sampled again, and keeps its position in the batch.
 */
async function runDraws(
  context: RolloutContext,
  drawn: readonly DrawnTask[],
  at: RunAt,
): Promise<readonly TrainingGroup[]> {
  const { keeper, config } = context;
  const epoch = drawn[0]?.draw.epoch ?? 0;
  const tasks = drawn.map(({ task }) => task);
  let groups = await runTasks(context, { tasks, epoch, numTries: 0 }, at);
  for (let numTries = 1; !at.signal.aborted; numTries++) {
    const expired = keeper.expired(groups, numTries);
    if (expired.length === 0) break;
    const again = await runTasks(context, { tasks: expired.map(({ task }) => task), epoch, numTries }, at);
    const replacements = new Map(expired.map((group, index) => [group, again[index]]));
    keeper.release(expired);
    groups = groups.map((group) => withEarlier(replacements.get(group), group));
  }
  keeper.release(groups);
  return groups.map((group, index) => toTrainingGroup(group, config, drawn[index]?.draw));
}

/**
 * Returns the new group, with the lost attempts of the group that it replaces. Returns the old group if there is no new
 * one.
 */
function withEarlier(replacement: TaskGroup | undefined, group: TaskGroup): TaskGroup {
  if (replacement === undefined) return group;
  return { ...replacement, lost: [...group.lost, ...group.episodes, ...replacement.lost] };
}

type Drawn = { readonly tasks: readonly Task[]; readonly epoch: number; readonly numTries: number };

/**
 * Runs the episodes of these tasks. The seeds do not depend on `numTries`, because a group that is sampled again
 * repeats the same experiment.
 */
async function runTasks(
  context: RolloutContext,
  { tasks, epoch, numTries }: Drawn,
  at: RunAt,
): Promise<readonly TaskGroup[]> {
  const { rollout, trainerCommon } = context.config;
  const { groups } = await runPhase(context, {
    ...at,
    phase: 'sample',
    tasks,
    numRepeat: rollout.numRepeat,
    // A group counts as late only after all groups have begun. The limit has room for one more group, which shows that
    // no other group will begin.
    ...(rollout.stragglerPatience !== null && {
      stragglerPatienceMs: rollout.stragglerPatience * 1000,
      maxOpenGroups: tasks.length + 1,
    }),
    sampling: samplingDefaults(context.config),
    requestSampling: rollout.requestSampling,
    timeoutMs: rollout.episodeTimeout * 1000,
    seed: passSeed(trainerCommon.seed, epoch),
    idPrefix: drawPrefix(epoch, numTries),
  });
  return groups;
}

/**
 * The groups of a schedule. A batch is sampled when its first group is requested, so every batch is on-policy if the
 * consumer trains between two batches. If the run has a pace, batches are begun earlier. If the run is asked to stop
 * during a pause, it gets no further group.
 */
export function createScheduleSource(
  context: RolloutContext,
  schedule: TaskSchedule,
  { stop, checkEngine }: ScheduleSourceOptions,
): GroupSource {
  const { batchSize, totalSteps } = schedule;
  const pull = async function* (start: SourceStart): AsyncGenerator<TrainingGroup> {
    const leaving = leaveInPause(stop, context.keeper, () => context.emit({ type: 'notice', message: leftInPause }));
    try {
      const signal = AbortSignal.any([start.signal, leaving.signal]);
      yield* pullGroups(context, schedule, { ...start, signal }, checkEngine);
    } finally {
      leaving.close();
    }
  };
  return { groupsPerStep: batchSize, totalSteps, pull };
}

type ScheduleSourceOptions = {
  /** Stops the run after the current step. */
  readonly stop: AbortSignal | undefined;
  /** Throws if the engine stopped answering while it sampled a batch. No group of this batch is yielded then. */
  readonly checkEngine: () => void;
};

const leftInPause =
  'Stopped in a pause, in the middle of a step. --resume continues this step, and samples no finished episode again if rollout.record is on.';

async function* pullGroups(
  context: RolloutContext,
  schedule: TaskSchedule,
  { at, signal, pace }: SourceStart,
  checkEngine: () => void,
): AsyncGenerator<TrainingGroup> {
  const stepsMade = at.step;
  const left = schedule.draws(drawsOf(at));
  const { workers: count } = context;
  const { refillGroups: most, numRepeat } = context.config.rollout;
  let next = readBatch(schedule, take(left, schedule.sizeOf(stepsMade + 1)));
  const begin = async (step: number, signal: AbortSignal): Promise<readonly TrainingGroup[] | undefined> => {
    const reading = next;
    // Tasks are read ahead, so that reading a file does not delay episodes that can be sampled during a step.
    next = readBatch(schedule, take(left, schedule.sizeOf(step + 1)));
    const batch = await reading;
    if (batch.length === 0) return undefined;
    const at = { step, signal, workers: count.workers, maxParallel: count.now };
    const startedAt = performance.now();
    const sample = async (drawn: readonly DrawnTask[]): Promise<readonly TrainingGroup[]> => {
      const groups: TrainingGroup[] = [];
      for (const part of groupByEpoch(drawn)) groups.push(...(await runDraws(context, part, at)));
      return groups;
    };
    const sampled = await sample(batch);
    const seconds = (performance.now() - startedAt) / 1000;
    const tokens = addUp(sampled, ({ report }) => report?.generatedTokens ?? 0);
    const notice = signal.aborted ? undefined : count.measured({ episodes: batch.length * numRepeat, tokens, seconds });
    if (notice !== undefined) context.emit({ type: 'notice', message: notice });
    return refillGroups(sampled, {
      most,
      draw: async (count) => (signal.aborted ? [] : sample(await readBatch(schedule, take(left, count)))),
    });
  };
  const tellStragglers = noticeStragglers((message) => context.emit({ type: 'notice', message }));
  for await (const groups of workAhead(stepsMade, pace, signal, begin)) {
    if (signal.aborted) return;
    checkEngine();
    tellStragglers(groups);
    yield* groups;
  }
}

/** Begins to read the tasks of a batch. If this fails, the caller gets the error only when it waits for the batch. */
function readBatch(schedule: TaskSchedule, draws: readonly Draw[]): Promise<readonly DrawnTask[]> {
  const batch = Promise.all(draws.map(async (draw) => ({ draw, task: await readTask(() => schedule.taskOf(draw)) })));
  batch.catch(() => undefined);
  return batch;
}

function take(draws: Iterator<Draw, never>, count: number): readonly Draw[] {
  const taken: Draw[] = [];
  while (taken.length < count) taken.push(draws.next().value);
  return taken;
}

/** The source of a run's groups: a schedule of tasks that are sampled on demand, or a pool that other programs fill. */
export type GroupSource = {
  readonly groupsPerStep: number;
  /** Last optimizer step of the run. */
  readonly totalSteps: number;
  /**
   * Yields complete groups from the first step of the run. A group is made only when it is requested, so it is sampled
   * from the weights of its step.
   */
  readonly pull: (start: SourceStart) => AsyncIterable<TrainingGroup>;
};
