import { formatReport } from '@agentjet/adapter-kit';
import { expect, it } from 'vitest';
import { adapterChecks } from './adapter-checks.js';

it.each(adapterChecks)('%s keeps every promise of an adapter', async (_name, check) => {
  const report = await check();
  expect(report.isKept, formatReport(report)).toBe(true);
});
