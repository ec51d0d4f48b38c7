import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readCluster } from './read-cluster.js';
import { countVerdicts } from './real-harbor.js';

it('counts the verdicts of Harbor that equal ours, that differ, and that are missing', () => {
  const verdicts = { 'a oracle': 1, 'a nop': 0, 'b oracle': 0, 'b nop': 1, 'c oracle': 'refused', 'c nop': 'refused' };
  expect(countVerdicts(verdicts)).toEqual({ equal_to_harbor: 2, harbor_differs: 2, harbor_refused: 2 });
});

it('takes the figures of the cluster from the kept result of its job', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'cluster-'));
  const file = path.join(folder, 'kubernetes.json');
  expect(readCluster(file).summary).toContain('has kept no result');
  const figures = { api_server: 'v1', faults: 2, wrong_rewards: 0, left: 0 };
  const kept = { commit: 'abc', date: 'd', passed: true, episodes: 3, finished: 3, kinds: {} };
  writeFileSync(file, JSON.stringify({ ...kept, summary: JSON.stringify({ ...figures, episodes: 3 }) }));
  expect(readCluster(file)).toEqual({ summary: figures, details: kept });
  rmSync(folder, { recursive: true });
});
