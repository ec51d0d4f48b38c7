import { createRules, defaultPolicy, type FailedEpisodePolicy } from '@agentjet/ledger';
import type { SwarmSettings } from '@agentjet/swarm-server/swarm';

/** The settings that differ between runs. */
export type RunSettings = {
  readonly policy: FailedEpisodePolicy;
  /** Names of the models, each with its own trainer. */
  readonly policies: readonly string[];
  readonly oversubscribe: number;
  readonly maxStaleness: number;
  readonly repeatsExactly: boolean;
  /** Whether clients leave all rewards to the scorer. */
  readonly isJudged: boolean;
  /** How the two shares a and b divide batches. Undefined means no shares. */
  readonly shares: 'strict' | 'elastic' | undefined;
  readonly order: 'pool' | 'drawn';
  /** Whether there are fewer clients and longer waits. */
  readonly isQuiet: boolean;
};

export function drawSettings(seed: number): RunSettings {
  const isAhead = seed % 4 === 1;
  const order = seed % 7 === 5 ? 'drawn' : 'pool';
  return {
    policy: (['zero_reward', 'partial_group', 'drop_group'] as const)[seed % 3] ?? 'partial_group',
    policies: seed % 5 === 2 ? ['planner', 'worker'] : [defaultPolicy],
    order,
    oversubscribe: isAhead && order === 'pool' ? 2 : 1,
    maxStaleness: isAhead ? 1 : 0,
    repeatsExactly: seed % 2 === 1,
    isJudged: seed % 5 === 0,
    isQuiet: seed % 7 === 3,
    shares: order === 'drawn' ? undefined : seed % 6 === 2 ? 'strict' : seed % 6 === 4 ? 'elastic' : undefined,
  };
}

/** The parts of the shares at the beginning of a run. */
export const firstParts = { a: 0.6, b: 0.4 };

/** Returns the settings of a policy. The second of two policies has larger batches, and saves more often. */
export function toSwarmSettings(run: RunSettings, policy = run.policies[0]): SwarmSettings {
  const isSecond = policy !== run.policies[0];
  const cutsDoomed = run.order === 'pool';
  const patience = { groupPatienceMs: 15_000, scorePatienceMs: 5000 };
  const rules = createRules({ failedEpisodePolicy: run.policy, cutsDoomed, ...patience });
  return {
    rules: {
      ...rules,
      batchSize: (run.shares === undefined ? 2 : 3) + Number(isSecond),
      oversubscribe: run.oversubscribe,
      maxStaleness: run.maxStaleness,
      order: run.order,
      ...(run.shares !== undefined && { parts: firstParts, isElastic: run.shares === 'elastic' }),
    },
    sharePatienceMs: 1500,
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
    saveFreq: isSecond ? 2 : 3,
    keptCheckpoints: 2,
    maxSteps: Infinity,
    totalEpochs: Infinity,
    seed: 1,
    maxFileBytes: Infinity,
    maxFileEntries: 120,
  };
}
