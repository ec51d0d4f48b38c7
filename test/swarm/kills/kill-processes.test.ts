import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { longIt } from '../../long-tests.js';
import { killProcesses } from './kill-processes.js';

it('loses nothing and trains nothing twice while servers, engines and clients are killed', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'kills-'));
  try {
    const report = await killProcesses(dir, { numKills: 4, numTasks: 20 });
    expect(report).toMatchObject({ kills: { server: 2, client: 1 }, lost: 0, doubled: 0, sampled_again: 0 });
    expect(report.kills.worker).toBeLessThanOrEqual(1);
    expect(report.acknowledged).toBeGreaterThanOrEqual(40);
    expect(report.trained_share).toBeGreaterThanOrEqual(0.95);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

longIt('keeps the parts of two policies apart while servers are killed', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'kills-'));
  try {
    const report = await killProcesses(dir, { numKills: 2, numTasks: 12, numPolicies: 2 });
    expect(report).toMatchObject({ lost: 0, doubled: 0, sampled_again: 0 });
    expect(report.kills.server).toBe(1);
    expect(report.acknowledged).toBeGreaterThanOrEqual(48); // an episode counts once for each policy
    expect(report.trained_share).toBeGreaterThanOrEqual(0.95);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
