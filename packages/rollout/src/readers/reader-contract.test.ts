import type { CommonConfig } from '@agentjet/core';
import { describe, it } from 'vitest';
import { readerCases } from '../testing/reader-cases.js';
import { randomDummy } from './random-dummy/registration.js';

const config = { trainerCommon: { seed: 3 } } as CommonConfig;

describe('random_dummy', () => {
  const open = () => randomDummy.open({ training: { numTasks: 5 }, validation: { numTasks: 2 } }, { config });
  for (const { name, run } of readerCases(open)) it(name, run);
});
