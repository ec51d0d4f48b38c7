import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startJob } from './start-job.js';

const minute = 60_000;
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'nightly-jobs-'));
  const jobs = {
    counts: "export const run = async () => ({ passed: true, summary: '3 counted', details: { counted: 3 } });",
    throws: "export const run = async () => { throw new Error('the disk is full'); };",
    leaves: 'export const run = async () => process.exit(7);',
    isKilled: `export const run = async (keep) => {
      for (const counted of [1, 2]) keep({ passed: true, summary: counted + ' counted', details: { counted } });
      process.kill(process.pid, 'SIGKILL');
      await new Promise(() => setInterval(() => {}, 1000));
    };`,
    throwsLate: `export const run = async (keep) => {
      keep({ passed: true, summary: '1 counted', details: { counted: 1 } });
      throw new Error('the disk is full');
    };`,
    hangs: 'export const run = () => new Promise(() => setInterval(() => {}, 1000));',
  };
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, source] of Object.entries(jobs)) writeFileSync(path.join(folder, `${name}.ts`), source);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a nightly job', () => {
  it('returns what it counted', async () => {
    expect(await startJob('counts', { folder, limitMs: 10 * minute })).toMatchObject({
      passed: true,
      summary: '3 counted',
      details: { counted: 3 },
    });
  });

  it.each([
    ['throws', 'the disk is full'],
    ['leaves', 'its process ended with 7 and left no outcome'],
  ])('that %s has failed, with a reason', async (name, summary) => {
    expect(await startJob(name, { folder, limitMs: 10 * minute })).toMatchObject({ passed: false, summary });
  });

  it('that is killed leaves what it kept until then, and has failed', async () => {
    const { passed, summary, details } = await startJob('isKilled', { folder, limitMs: 10 * minute });
    expect(passed).toBe(false);
    expect(summary).toMatch(/^its process ended with .* and left no outcome; until then: 2 counted$/);
    expect(details).toEqual({ counted: 2 });
  });

  it('that throws later keeps what was known', async () => {
    expect(await startJob('throwsLate', { folder, limitMs: 10 * minute })).toMatchObject({
      passed: false,
      summary: 'the disk is full',
      details: { counted: 1 },
    });
  });

  it('that takes longer than its limit is ended', async () => {
    const { passed, summary } = await startJob('hangs', { folder, limitMs: 500 });
    expect(passed).toBe(false);
    expect(summary).toMatch(/was ended after .* minutes, its limit/);
  });
});
