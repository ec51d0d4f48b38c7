/**
 * Does `ajet judge --audit` name rewards that pay for nothing, and is it silent about sound ones? Bad rewards have one
 * mistake each; some of their rules were published by others. Sound rewards are those of the tutorials and the judges
 * by name. `--only <part of a name>` audits some of them.
 */

import type { BenchOptions, BenchResult } from '../bench.js';
import { badRewardsOfOthers } from './bad-rewards-of-others.js';
import { badRewards } from './bad-rewards.js';
import { measureAudit } from './measure-audit.js';
import { soundRewards } from './sound-rewards.js';

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const at = args.indexOf('--only');
  const only = at < 0 ? '' : (args[at + 1] ?? '');
  const all = [...badRewards, ...badRewardsOfOthers, ...soundRewards];
  const chosen = all.filter(({ name }) => name.includes(only));
  const { summary, audited } = await measureAudit(report, chosen);
  const byOthers = audited.filter(({ isByOthers }) => isByOthers);
  const details = {
    bad_by_others: byOthers.length,
    named_by_others: byOthers.filter(({ isRight }) => isRight).length,
    rewards: audited,
  };
  return { summary: { audit: summary }, details, ...(only !== '' && { isPart: true }) };
}
