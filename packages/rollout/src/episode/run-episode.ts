import {
  ConfigError,
  deriveSeed,
  EnvironmentError,
  JudgeError,
  rejectOnAbort,
  type Task,
  type Verdict,
  type WorkflowOutput,
  mean,
} from '@agentjet/core';
import type { Episode, JudgeOutage } from '../contract.js';
import { askJudge, type Judge, type JudgeContext } from '../judge.js';
import { createWorkflow, resolveTrainableTargets, type WorkflowSource } from '../workflow.js';
import { copyPlain } from './copy-plain.js';
import type { AttemptKeeper } from './attempts.js';
import { outageOf } from '../outage/outage-of.js';
import { errorChain, toReadable } from '../outage/readable-error.js';
import { toEpisodeError } from './episode-error.js';
import { judgeAgain } from './judge-again.js';
import { isTimeout, lateEnvironment, lateJudge } from './late-verdict.js';
import { openEpisode, type OpenEpisode, type OpenEpisodeIdentity, type OpenEpisodeOptions } from './open-episode.js';
import { catchStrayErrors } from './stray-errors.js';
import { checkOutput, type CheckedOutput } from './workflow-output.js';

/** Options that all episodes of a run share. */
export type EpisodeOptions = Omit<OpenEpisodeOptions, 'timeoutMs'> & {
  readonly workflow: WorkflowSource;
  /**
   * The time limit of an episode, including the first request to its judge. Each repeated request to the judge has the
   * same limit.
   */
  readonly timeoutMs: number;
  /** Overrides the workflow's own `trainableTargets`. Undefined or null keeps the workflow's. */
  readonly trainableTargets?: readonly string[] | null | undefined;
  readonly judge?: Judge | undefined;
  /**
   * Names that `rewards` may use in addition to target tags: with several policies, each name pays all targets of its
   * policy.
   */
  readonly policyNames?: readonly string[] | undefined;
  /**
   * Called when the workflow has ended and waits for its group's judge. The wait does not count as time of the episode.
   */
  readonly onGroupJudge?: (() => void) | undefined;
  /** Consulted if the judge cannot be reached. Without it, such an episode fails at once. */
  readonly keeper?: Pick<AttemptKeeper, 'judgeIsAway' | 'onJudgeBack' | 'scorePatienceMs'> | undefined;
};

/** Identifies the episode. */
export type EpisodeIdentity = OpenEpisodeIdentity & { readonly repeatIndex: number };

/**
 * Runs one workflow on one task. Any error of the workflow or the judge becomes a failed episode. Only a ConfigError
 * rejects, because it would repeat in every episode.
 */
export async function runEpisode(task: Task, options: EpisodeOptions, identity: EpisodeIdentity): Promise<Episode> {
  const startedAt = performance.now();
  const open = openEpisode(options, identity);
  const clock: JudgeClock = { judging: 0 };
  try {
    const settled = await catchStrayErrors(open.fail, () =>
      open.within(() => settle(task, options, { open, seed: identity.seed, clock })),
    );
    await open.sessions.close();
    const recorded = open.finish();
    const outcome = settled.status === 'unscored' ? await scoreLater(settled, options, identity) : settled;
    const swallowedErrors = open.swallowed(outcome.status === 'failed' ? outcome.error.message : undefined);
    return {
      ...toIdentity(task, identity),
      ...recorded,
      ...(swallowedErrors.length > 0 && { swallowedErrors }),
      ...outcome,
      seconds: (performance.now() - startedAt) / 1000,
      ...(clock.judging > 0 && { secondsJudging: clock.judging }),
      ...(clock.outage !== undefined && { judgeOutage: clock.outage }),
    };
  } finally {
    await open.sessions.close();
    open.finish();
  }
}

type Outcome = Pick<Episode, 'metadata' | 'logMetrics'> &
  (({ readonly status: 'completed' } & Verdict) | Pick<Extract<Episode, { status: 'failed' }>, 'status' | 'error'>);

/**
 * The workflow has ended, but its output has no score yet: the judge could not be reached, or the judge waits for the
 * rest of the group.
 */
type Unscored = {
  readonly status: 'unscored';
  readonly output: CheckedOutput;
  /** The error of the judge. Undefined if the judge was not asked yet. */
  readonly thrown?: unknown;
  readonly ask: (signal: AbortSignal) => Promise<Verdict>;
  readonly clock: JudgeClock;
};

/** Seconds that the judge of one episode has taken, and how long it could not be reached. */
type JudgeClock = { judging: number; outage?: JudgeOutage };

async function settle(
  task: Task,
  options: EpisodeOptions,
  { open, seed, clock }: { readonly open: OpenEpisode; readonly seed: number; readonly clock: JudgeClock },
): Promise<Outcome | Unscored> {
  let unscored: Unscored | undefined;
  let hasReturned = false;
  try {
    open.signal.throwIfAborted();
    const returned = await rejectOnAbort(execute(task, options, open), open.signal);
    const [unawaited] = await open.noteReturn();
    const output = checkOutput(returned, { targets: open.targets, policyNames: options.policyNames, unawaited });
    hasReturned = true;
    const environment = await rejectOnAbort(askEnvironment(output, options.judge, open), open.signal);
    const ask = (signal: AbortSignal): Promise<Verdict> =>
      rejectOnAbort(score(task, output, { judge: options.judge, open, seed, clock, signal, environment }), signal);
    unscored = { status: 'unscored', output, ask, clock };
    if (options.onGroupJudge !== undefined && ownVerdict(output) === undefined) return unscored;
    return toCompleted(output, await ask(open.signal));
  } catch (caught) {
    const late = unscored === undefined ? lateEnvironment : lateJudge;
    const thrown = hasReturned && isTimeout(caught) ? late(options.timeoutMs) : toReadable(caught);
    if (thrown instanceof ConfigError) throw thrown;
    const isAway = unscored !== undefined && options.keeper !== undefined && outageOf(thrown) !== undefined;
    return isAway && unscored !== undefined ? { ...unscored, thrown } : toFailed(thrown, open);
  }
}

async function scoreLater(unscored: Unscored, options: EpisodeOptions, identity: EpisodeIdentity): Promise<Outcome> {
  const { onGroupJudge, keeper } = options;
  if (onGroupJudge === undefined) return scoreAgain(unscored, options, identity);
  onGroupJudge();
  const { signal = new AbortController().signal } = identity;
  try {
    return toCompleted(unscored.output, await unscored.ask(signal));
  } catch (caught) {
    const thrown = toReadable(caught);
    if (thrown instanceof ConfigError) throw thrown;
    const isAway = keeper !== undefined && !signal.aborted && outageOf(thrown) !== undefined;
    return isAway ? scoreAgain({ ...unscored, thrown }, options, identity) : toFailed(thrown);
  }
}

/**
 * Asks the judge until it answers, each time with the time limit of an episode. The time limit of a group's judge
 * starts when all episodes of the group have asked.
 */
async function scoreAgain(
  { output, ask, thrown, clock }: Unscored,
  { keeper, timeoutMs, onGroupJudge }: EpisodeOptions,
  { episodeId, signal = new AbortController().signal }: EpisodeIdentity,
): Promise<Outcome> {
  const askOnce = async (): Promise<Verdict> => {
    if (onGroupJudge !== undefined) return ask(signal);
    const inTime = AbortSignal.timeout(timeoutMs);
    return ask(AbortSignal.any([signal, inTime])).catch((error: unknown) => {
      throw inTime.aborted && !signal.aborted ? lateJudge(timeoutMs) : error;
    });
  };
  try {
    const verdict = await judgeAgain(askOnce, thrown, {
      patienceMs: keeper?.scorePatienceMs ?? null,
      signal,
      onAway: (message) => keeper?.judgeIsAway(episodeId, message),
      onWaited: (outage) => {
        clock.outage = outage;
      },
      onBack: (wake) => keeper?.onJudgeBack?.(wake) ?? (() => undefined),
    });
    return toCompleted(output, verdict);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return toFailed(error);
  }
}

function toCompleted({ metadata, logMetrics }: CheckedOutput, verdict: Verdict): Outcome {
  return { status: 'completed', ...verdict, metadata, logMetrics };
}

function toFailed(thrown: unknown, open?: Pick<OpenEpisode, 'failedAgent' | 'lostTo'>): Outcome {
  return { status: 'failed', error: toEpisodeError(thrown, open), metadata: {}, logMetrics: {} };
}

async function execute(task: Task, options: EpisodeOptions, open: OpenEpisode): Promise<WorkflowOutput> {
  const workflow = createWorkflow(options.workflow);
  const tuner = open.createTuner(resolveTrainableTargets(options.trainableTargets, workflow));
  // The workflow gets a copy, because its changes to the task must not reach siblings, the judge or the next epoch.
  try {
    return await workflow.execute(copyPlain(task), tuner);
  } catch (error) {
    if (options.judge?.needsEnvironment === true && isTimeOver(error)) return {};
    throw error;
  }
}

/** Whether the agent used up the time that the environment gave it. What it did until then is scored. */
function isTimeOver(thrown: unknown): boolean {
  return errorChain(thrown).some((error) => error instanceof EnvironmentError && error.code === 'time_over');
}

type Scoring = {
  readonly judge: Judge | undefined;
  readonly open: OpenEpisode;
  readonly seed: number;
  readonly clock: JudgeClock;
  readonly signal: AbortSignal;
  readonly environment: Verdict | null;
};

/** Asks the environment for its verdict while the session is open, because the judge may run much later. */
async function askEnvironment(
  output: CheckedOutput,
  judge: Judge | undefined,
  { sessions }: OpenEpisode,
): Promise<Verdict | null> {
  return ownVerdict(output) !== undefined ? null : sessions.evaluate(judge?.needsEnvironment === true);
}

async function score(
  task: Task,
  output: CheckedOutput,
  { judge, open, seed, clock, signal, environment }: Scoring,
): Promise<Verdict> {
  const own = ownVerdict(output);
  if (own !== undefined) return own;
  if (judge === undefined && open.record().turnRewards !== undefined)
    return { reward: 0, isSuccess: output.isSuccess ?? false };
  if (judge === undefined) {
    throw new JudgeError(
      'no_judge',
      `The workflow returned no reward for task "${task.taskId}", and there is no judge. Return an object such as { reward: 1 }, or configure task_judge.`,
    );
  }
  const askedAt = performance.now();
  try {
    return await askJudge(judge, { task, output, context: toContext(open, { seed, signal, environment }) });
  } finally {
    clock.judging += (performance.now() - askedAt) / 1000;
  }
}

/** Creates the context of the judge. The transcripts are assembled only if the judge reads them. */
function toContext(
  { episodeId, transcripts }: OpenEpisode,
  { seed, signal, environment }: Pick<Scoring, 'seed' | 'signal' | 'environment'>,
): JudgeContext {
  return {
    episodeId,
    signal,
    seed: deriveSeed(seed, 'judge'),
    get transcripts() {
      return transcripts();
    },
    environment,
  };
}

/** Returns the workflow's own verdict, or undefined if a judge must be asked. */
function ownVerdict({ reward: given, rewards, isSuccess }: CheckedOutput): Verdict | undefined {
  const reward = given ?? (rewards === null ? undefined : mean(Object.values(rewards)));
  if (reward === undefined) return undefined;
  return { reward, isSuccess: isSuccess ?? reward >= 1, ...(rewards !== null && { rewards }) };
}

function toIdentity(
  task: Task,
  { episodeId, repeatIndex, seed }: EpisodeIdentity,
): Pick<Episode, 'episodeId' | 'task' | 'repeatIndex' | 'seed'> {
  return { episodeId, task, repeatIndex, seed };
}
