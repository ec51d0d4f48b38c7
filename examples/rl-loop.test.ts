import { expect, it } from 'vitest';
import { trainLake } from './rl-loop.js';

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

it('learns the lake', async () => {
  const reports = await trainLake({ steps: 12, groupsPerStep: 8 });
  const success = reports.map((report) => report.success);
  expect(meanOf(success.slice(-4)) - meanOf(success.slice(0, 4))).toBeGreaterThan(0.1);
});
