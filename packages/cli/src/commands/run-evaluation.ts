import { roundTime } from '@agentjet/core';
import { AgentJetError, type Evaluation } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { EvalFlags } from '../program.js';
import { toKindsJson } from './kinds-json.js';
import { loadJob } from './load-job.js';

/** Runs `ajet eval` and returns the exit code. */
export async function runEvaluation(overrides: readonly string[], flags: EvalFlags): Promise<number> {
  const output = createOutput(flags);
  return runInterruptibly(
    () => output.writeLine('Stopping. Press Ctrl-C again to exit now.'),
    async (signal) => {
      const evaluation = await loadJob(flags, overrides).evaluate({
        onEvent: output.listener,
        signal,
        ...(flags.checkpoint === undefined ? {} : { checkpoint: flags.checkpoint }),
      });
      if (evaluation === null) return 1;
      output.writeJson({
        success: evaluation.successRate,
        success_interval: [evaluation.interval.low, evaluation.interval.high],
        ...toKindsJson(evaluation),
        reward: evaluation.rewardMean,
        ...passesOf(evaluation),
        episodes: evaluation.episodes,
        failed_episodes: evaluation.failedEpisodes,
        ...(evaluation.unscoredEpisodes !== undefined && { unscored_episodes: evaluation.unscoredEpisodes }),
        tasks: evaluation.scores.map(({ taskId, successes, trials }) => ({ task_id: taskId, successes, trials })),
        seconds: roundTime(evaluation.seconds),
      });
      if (evaluation.failedEpisodes === evaluation.episodes) {
        throw new AgentJetError(
          'nothing_completed',
          `None of the ${evaluation.episodes} episodes completed, so the result says nothing about the model. \`--backbone=debug\` shows a few of them.`,
        );
      }
      return 0;
    },
  );
}

/** The shares of tasks that were solved at least once and each time, if every task was tried several times. */
function passesOf({ passes }: Evaluation): Readonly<Record<string, number>> {
  return passes === undefined ? {} : { [`pass_at_${passes.episodesPerTask}`]: passes.any, all_pass: passes.all };
}
