import { createRules } from '@agentjet/ledger';
import type { SwarmSettings } from '../swarm/settings.js';

/** Settings for tests, with small batches and short waits. */
export const testSettings: SwarmSettings = {
  rules: { ...createRules(), batchSize: 2, oversubscribe: 1, maxStaleness: 0 },
  numPlaces: 2,
  capacity: 100,
  tickMs: 20,
  leaseMs: 60_000,
  aliveMs: 0,
  stragglerPatienceMs: null,
  testFreq: 0,
  numEvaluationTasks: 0,
  evaluationPlaces: 1,
  evaluationPatienceMs: 1000,
  saveFreq: 2,
  keptCheckpoints: 2,
  maxSteps: Infinity,
  totalEpochs: 2,
  seed: 1,
  maxFileBytes: 2 ** 24,
  maxFileEntries: 100_000,
};
