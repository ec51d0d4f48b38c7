import { AgentJetError, AgentJetJob } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { EvalFlags } from '../program.js';
import { listOverrides } from './list-overrides.js';

/** `ajet eval`. Returns the exit code. */
export async function runEvaluation(flags: EvalFlags, overrides: readonly string[]): Promise<number> {
  const output = createOutput(flags);
  return runInterruptibly(
    () => output.writeLine('Stopping. Once more to exit now.'),
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
        reward: evaluation.rewardMean,
        episodes: evaluation.episodes,
        failed_episodes: evaluation.failedEpisodes,
        seconds: Math.round(evaluation.seconds * 1000) / 1000,
      });
      if (evaluation.failedEpisodes === evaluation.episodes) {
        throw new AgentJetError(
          'nothing_completed',
          `Not one of ${evaluation.episodes} episodes completed, so this says nothing of the model. \`--backbone=debug\` shows a few of them.`,
        );
      }
      return 0;
    },
  );
}
