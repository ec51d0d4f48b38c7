/**
 * Does `ajet judge --audit` name rewards that pay for nothing, and is it silent about sound ones? Each bad reward has
 * one mistake. Some of their rules were published by others, and some whole agents were written by others. Sound
 * rewards are those of the tutorials, the judges by name, and agents of others. `--only <part of a name>` audits some
 * of them.
 */

import { type BenchOptions, type BenchResult, textOption, type OptionTexts } from '../bench.js';
import { allRewards, measureAudit } from './measure-audit.js';

export const optionTexts: OptionTexts = { '--only <part>': 'audits the rewards whose names contain this' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const only = textOption(args, '--only') ?? '';
  const chosen = allRewards.filter(({ name }) => name.includes(only));
  const { summary, audited } = await measureAudit(report, chosen);
  const byOthers = audited.filter(({ isByOthers }) => isByOthers);
  const [bad, sound] = [byOthers.filter(({ isBad }) => isBad), byOthers.filter(({ isBad }) => !isBad)];
  const details = {
    bad_by_others: bad.length,
    named_by_others: bad.filter(({ isRight }) => isRight).length,
    sound_by_others: sound.length,
    false_alarms_by_others: sound.filter(({ isRight }) => !isRight).length,
    rewards: audited,
  };
  return { summary: { audit: summary }, details, ...(only !== '' && { isPart: true }) };
}
