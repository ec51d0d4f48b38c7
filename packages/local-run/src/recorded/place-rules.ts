import type { CommonConfig } from '@agentjet/core';
import { createRules, type LedgerRules } from '@agentjet/ledger';

/**
 * Reads the rules for places from the configuration of an ordinary run. They have no time limits, because the run
 * itself limits the time of each episode.
 */
export function placeRules({ rollout }: CommonConfig): LedgerRules {
  const { failedEpisodePolicy, maxAttempts, minGroupShare } = rollout;
  return createRules({ failedEpisodePolicy, maxAttempts, minGroupShare, groupPatienceMs: null, scorePatienceMs: null });
}
