import type { CommonConfig } from '@agentjet/core';
import { createRules, type LedgerRules } from '@agentjet/ledger';

/**
 * The rules of places from the configuration of an ordinary run. The rules limit no time, because the run limits the
 * time of each episode.
 */
export function placeRules({ rollout }: CommonConfig): LedgerRules {
  const { failedEpisodePolicy, maxAttempts, minGroupShare } = rollout;
  return createRules({ failedEpisodePolicy, maxAttempts, minGroupShare, groupPatienceMs: null, scorePatienceMs: null });
}
