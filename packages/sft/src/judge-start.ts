import { quoteForShell, type CommonConfig, formatShare } from '@agentjet/core';
import { chanceOfMixedGroup, formatRate } from '@agentjet/core/success';
import type { Evaluation } from '@agentjet/records';
import { readAdapterScale } from '@agentjet/trainer';

/** If a smaller share of groups can train, most of a run's samples train nothing. */
const leastShare = 0.3;

/** Says whether reinforcement learning can begin from a model with these results, and what to do next. */
export function judgeStart(
  { successRate, interval, temperature: cool, sampled }: Evaluation,
  { modelDir, rollout }: { readonly modelDir: string; readonly rollout: CommonConfig['rollout'] },
): string {
  const measured = sampled ?? { temperature: cool, successRate, interval };
  const { numRepeat } = rollout;
  const rate = measured.successRate;
  const share = chanceOfMixedGroup(rate, numRepeat);
  const seen = `success is ${formatRate(rate, measured.interval)} at temperature ${measured.temperature}`;
  const groups = `at most ${formatShare(share)} of groups of ${numRepeat} would train`;
  const key = readAdapterScale(modelDir) === undefined ? 'model.path' : 'lora.adapter'; // a run refuses an adapter as its model
  if (rate > 0.5 || share >= leastShare)
    return `With this model ${seen}, so ${groups}. Next: ajet --conf <your configuration> ${quoteForShell(`${key}=${modelDir}`)}`;
  return (
    `This model is too weak to train on: ${seen}, so ${groups}. ` +
    'Collect more transcripts (debug.collect, debug.collect_repeat), imitate failed episodes too (sft.only_success: false), which show how the tools are called, ' +
    `or lower rollout.temperature (now ${rollout.temperature}).`
  );
}
