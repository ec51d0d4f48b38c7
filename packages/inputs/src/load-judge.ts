import { openEntry, type CommonConfig, type ConfigComposition } from '@agentjet/core';
import type { Judge, JudgeParts } from '@agentjet/rollout/inputs';
import { chooseEntry } from './choose-entry.js';
import { judgeKind, widen } from './job-inputs.js';

/**
 * Loads the judge that the configuration names or code passed. Resolves with undefined if the workflow sets the
 * rewards. It loads nothing else.
 */
export async function loadJudge<Config extends CommonConfig>(
  given: unknown,
  loaded: {
    readonly config: Config;
    readonly composition: ConfigComposition<Config>;
    readonly signal?: JudgeParts['signal'];
  },
): Promise<Judge | undefined> {
  const base = loaded.composition as unknown as ConfigComposition;
  const chosen = await chooseEntry(base, loaded.config, given, judgeKind);
  if (chosen === undefined) throw new Error('The configuration was checked, so its judge is registered.');
  const composition = widen(base, { judges: chosen });
  const config = composition === base ? loaded.config : composition.recheck(loaded.config);
  return openEntry('judges', chosen.entry, config, { config, signal: loaded.signal });
}
