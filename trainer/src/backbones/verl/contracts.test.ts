import { afterAll, beforeAll, describe, test } from 'vitest';

import { WorkerPool, workerContracts } from '../python-worker/testing-contracts.js';
import { makeTinyModel } from '../torch/testing-worker.js';
import { asksVerl, startTinyVerl } from './testing-driver.js';

const timeout = 900_000;

describe.skipIf(!asksVerl)('the verl backbone keeps', { timeout }, () => {
  let pool: WorkerPool;
  beforeAll(() => {
    const modelDir = makeTinyModel();
    pool = new WorkerPool(async () => startTinyVerl(await modelDir));
  }, timeout);
  afterAll(() => pool.close(), timeout);

  for (const { name, run } of workerContracts(() => pool, 61)) test(name, () => run());
});
