import { afterAll, beforeAll, describe, test } from 'vitest';

import { WorkerPool, workerContracts } from '../python-worker/testing-contracts.js';
import { hasTorch, makeTinyModel, startTiny } from './testing-worker.js';

const timeout = 300_000;

describe.skipIf(!hasTorch)('the torch backbone keeps', { timeout }, () => {
  let pool: WorkerPool;
  beforeAll(() => {
    const modelDir = makeTinyModel();
    pool = new WorkerPool(async () => startTiny(await modelDir, { inference: { slots: 8, kvTokens: 96 } }));
  }, timeout);
  afterAll(() => pool.close(), timeout);

  for (const { name, run } of workerContracts(() => pool, 61)) test(name, () => run());
});
