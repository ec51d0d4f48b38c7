import { AgentJetError, AgentJetJob } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { EvalFlags } from '../program.js';
import { toKindsJson } from './kinds-json.js';
import { listOverrides } from './list-overrides.js';

/** Runs `ajet eval` and returns the exit code. */
export async function runEvaluation(flags: EvalFlags, overrides: readonly string[]): Promise<number> {
  const output = createOutput(flags);
  return runInterruptibly(
    () => output.writeLine('Stopping. Press Ctrl-C again to exit now.'),
    async (signal) => {
      const job = new AgentJetJob().loadJobFromYaml(flags.conf, listOverrides(flags, overrides));
      const evaluation = await job.evaluate({
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
        episodes: evaluation.episodes,
        failed_episodes: evaluation.failedEpisodes,
        seconds: Math.round(evaluation.seconds * 1000) / 1000,
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
