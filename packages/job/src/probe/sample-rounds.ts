import { deriveSeed, type Task } from '@agentjet/core';
import { nextRound, type ProbePlan, type Round } from '@agentjet/probe';
import { runPhase, type RolloutContext } from '@agentjet/local-run';
import { samplingDefaults } from '@agentjet/rollout';
import type { TimedPhase } from './forecast-step.js';
import type { ProbeTally } from './probe-tally.js';

export type SampleOptions = {
  readonly plan: ProbePlan;
  readonly tasks: readonly Task[];
  /** One for each temperature. */
  readonly tallies: readonly ProbeTally[];
  /** The time that the probe may take, from the phases so far. Null: unknown. */
  readonly budgetOf: (phases: readonly TimedPhase[]) => number | null;
  /**
   * The number of episodes of a task that run together, so that a judge can compare them. Null: all episodes of a
   * round.
   */
  readonly perPhase: number | null;
  readonly signal: AbortSignal | undefined;
};

/**
 * Samples rounds until the plan is complete, the time is over or the signal aborts. Each episode is added to a tally.
 */
export async function sampleRounds(context: RolloutContext, options: SampleOptions): Promise<readonly TimedPhase[]> {
  const { plan, tallies, budgetOf, signal } = options;
  const rounds: Round[] = [];
  const phases: TimedPhase[] = [];
  for (;;) {
    const seconds = phases.reduce((sum, phase) => sum + phase.seconds, 0);
    const round = nextRound(plan, { rounds, seconds, budgetSeconds: rounds.length === 0 ? null : budgetOf(phases) });
    if (round === undefined || signal?.aborted === true) return phases;
    const numRepeat = options.perPhase ?? round.numEpisodes;
    for (let done = 0; done < round.numEpisodes; done += numRepeat)
      for (const tally of tallies)
        phases.push(await samplePhase(context, { ...options, round, tally, numRepeat, number: phases.length }));
    rounds.push(round);
  }
}

type PhaseOptions = Omit<SampleOptions, 'budgetOf' | 'plan'> & {
  readonly round: Round;
  readonly tally: ProbeTally;
  readonly numRepeat: number;
  /** The number of the phase, from 0. */
  readonly number: number;
};

async function samplePhase(
  { config, emit, ...context }: RolloutContext,
  { tasks, tally, round, numRepeat, number, signal }: PhaseOptions,
): Promise<TimedPhase> {
  const { rollout, trainerCommon } = config;
  const { temperature } = tally;
  let episodes = 0;
  const listen: RolloutContext['emit'] = (event) => {
    emit(event);
    if (event.type !== 'episode_finished') return;
    episodes++;
    tally.add(event.episode);
  };
  const { groups, seconds } = await runPhase(
    { ...context, config, emit: listen },
    {
      phase: 'probe',
      step: number,
      tasks: tasks.slice(round.firstTask, round.endTask),
      numRepeat,
      maxParallel: context.workers.now,
      sampling: { ...samplingDefaults(config), temperature },
      requestSampling: rollout.requestSampling,
      timeoutMs: rollout.episodeTimeout * 1000,
      seed: deriveSeed(trainerCommon.seed, 'probe', number),
      idPrefix: `probe-${number}-t${temperature}-`,
      signal,
    },
  );
  context.keeper.release(groups);
  return { episodes, seconds };
}
