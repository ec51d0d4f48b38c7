import { expect, it } from 'vitest';
import { scenarios } from './scenarios.js';

it.each(Object.entries(scenarios))('%s', async (_name, scenario) => {
  expect(await scenario()).toEqual([]);
});
