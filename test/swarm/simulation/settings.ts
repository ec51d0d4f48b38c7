import { createRules, type FailedEpisodePolicy } from '@agentjet/ledger';
import type { SwarmSettings } from '@agentjet/swarm-server/swarm';

/** What differs between runs. */
export type RunSettings = {
  readonly policy: FailedEpisodePolicy;
  readonly oversubscribe: number;
  readonly maxStaleness: number;
  readonly repeatsExactly: boolean;
  /** Clients leave all rewards to the scorer. */
  readonly isJudged: boolean;
  /** Fewer clients, longer waits. */
  readonly isQuiet: boolean;
};

export function drawSettings(seed: number): RunSettings {
  const isAhead = seed % 4 === 1;
  return {
    policy: (['zero_reward', 'partial_group', 'drop_group'] as const)[seed % 3] ?? 'partial_group',
    oversubscribe: isAhead ? 2 : 1,
    maxStaleness: isAhead ? 1 : 0,
    repeatsExactly: seed % 2 === 1,
    isJudged: seed % 5 === 0,
    isQuiet: seed % 7 === 3,
  };
}

export function toSwarmSettings(run: RunSettings): SwarmSettings {
  const rules = createRules({ failedEpisodePolicy: run.policy, groupPatienceMs: 15_000, scorePatienceMs: 5000 });
  return {
    rules: { ...rules, batchSize: 2, oversubscribe: run.oversubscribe, maxStaleness: run.maxStaleness },
    numPlaces: 3,
    capacity: 14,
    tickMs: 100,
    leaseMs: 3000,
    aliveMs: 600,
    stragglerPatienceMs: 20_000,
    testFreq: 4,
    numEvaluationTasks: 1,
    evaluationPlaces: 3,
    evaluationPatienceMs: 6000,
    saveFreq: 3,
    keptCheckpoints: 2,
    maxSteps: Infinity,
    totalEpochs: Infinity,
    seed: 1,
    maxFileBytes: Infinity,
    maxFileEntries: 120,
  };
}
