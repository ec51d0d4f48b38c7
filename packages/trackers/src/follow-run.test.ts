import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { followRun } from './follow-run.js';
import type { TrackedRow, TrackerRegistration } from './tracker.js';

let runDir = '';
let notices: string[] = [];
beforeEach(() => {
  runDir = mkdtempSync(path.join(tmpdir(), 'trackers-'));
  notices = [];
});
afterEach(() => rmSync(runDir, { recursive: true, force: true }));

/** A tracker that keeps its rows, and fails from the `failsAt`th write on. */
function createList(failsAt = Infinity): TrackerRegistration & { readonly rows: TrackedRow[] } {
  const rows: TrackedRow[] = [];
  let numWrites = 0;
  const write = async (added: readonly TrackedRow[]): Promise<void> => {
    if (++numWrites >= failsAt) throw new Error('the disk is full.');
    rows.push(...added);
  };
  return { name: 'list', rows, open: async () => ({ write, close: async () => undefined }) };
}

const follow = (registration: TrackerRegistration) =>
  followRun(['console', 'list'], {
    runDir,
    project: 'p',
    experiment: 'e',
    registrations: [registration],
    onNotice: (message) => void notices.push(message),
  });

const metrics = (): string => path.join(runDir, 'metrics.jsonl');
const line = (step: number, reward = step / 10): string => `${JSON.stringify({ step, reward_mean: reward })}\n`;
const steps = ({ rows }: { readonly rows: readonly TrackedRow[] }): readonly number[] => rows.map(({ step }) => step);

it('sends every step once, evaluations too, and continues from its bookmark in the next process', async () => {
  writeFileSync(metrics(), line(1));
  writeFileSync(path.join(runDir, 'evaluations.jsonl'), `{"step":0,"success_rate":0.5,"note":"x"}\n`);
  const list = createList();
  const first = follow(list);
  appendFileSync(metrics(), line(2));
  first.wake();
  await first.close();
  appendFileSync(metrics(), `${line(3)}{"step":4,"rew`); // incomplete, as after the writer was killed
  const second = follow(list);
  await second.close();
  expect(list.rows).toEqual([
    { step: 0, values: { 'eval/success_rate': 0.5 } },
    { step: 1, values: { 'train/reward_mean': 0.1 } },
    { step: 2, values: { 'train/reward_mean': 0.2 } },
    { step: 3, values: { 'train/reward_mean': 0.3 } },
  ]);
  expect(notices).toEqual([]);
});

it('sends what it missed in the order of steps: wandb drops a step below the last one', async () => {
  writeFileSync(metrics(), line(1) + line(2) + line(3));
  writeFileSync(path.join(runDir, 'evaluations.jsonl'), `{"step":0,"reward":0}\n{"step":2,"reward":1}\n`);
  const list = createList();
  await follow(list).close();
  expect(list.rows.map(({ step, values }) => [step, ...Object.keys(values)])).toEqual([
    [0, 'eval/reward'],
    [1, 'train/reward_mean'],
    [2, 'train/reward_mean'],
    [2, 'eval/reward'],
    [3, 'train/reward_mean'],
  ]);
});

it('reads a file from the beginning after a resumed run has cut it, so that no step is missing', async () => {
  writeFileSync(metrics(), line(1) + line(2) + line(3));
  const list = createList();
  await follow(list).close();
  writeFileSync(metrics(), line(1) + line(2, 7) + line(3, 8) + line(4, 9));
  await follow(list).close();
  expect(steps(list)).toEqual([1, 2, 3, 1, 2, 3, 4]);
  rmSync(metrics());
  await follow(list).close();
  writeFileSync(metrics(), line(1));
  await follow(list).close();
  expect(steps(list).slice(7)).toEqual([1]);
});

it('says that a tracker keeps the steps that a run gave up, if it ignores steps that it has', async () => {
  const list = { ...createList(), keepsFirst: true };
  writeFileSync(metrics(), line(1) + line(2) + line(3));
  await follow(list).close();
  appendFileSync(metrics(), line(4));
  await follow(list).close();
  expect(notices).toEqual([]);
  writeFileSync(metrics(), line(1) + line(2, 7));
  await follow(list).close();
  expect(notices).toEqual([expect.stringContaining('its curves keep the metrics of the steps that were given up')]);
});

it('says once that a tracker failed, and sends what it missed when the run continues', async () => {
  writeFileSync(metrics(), line(1));
  const failing = follow(createList(1));
  await failing.close();
  appendFileSync(metrics(), line(2));
  failing.wake();
  await failing.close();
  expect(notices).toEqual([
    expect.stringMatching(/^The tracker list has failed .*: the disk is full\. The run continues/),
  ]);
  const list = createList();
  await follow(list).close();
  expect(steps(list)).toEqual([1, 2]);
});

it('says of a tracker that fails at the end that the last figures may be missing', async () => {
  writeFileSync(metrics(), line(1));
  const close = (): Promise<void> => Promise.reject(new Error('the network is down.'));
  await follow({ name: 'list', open: async () => ({ write: async () => undefined, close }) }).close();
  expect(notices).toEqual([
    'The tracker list failed at the end of the run, and may lack the last metrics: the network is down. They are in metrics.jsonl.',
  ]);
});

it('sends nothing more once it leaves the run to another process', async () => {
  writeFileSync(metrics(), line(1));
  const list = createList();
  const first = follow(list);
  await first.leave();
  appendFileSync(metrics(), line(2));
  first.wake();
  await first.close();
  const numSent = list.rows.length;
  await follow(list).close();
  expect(steps(list).slice(numSent)).toEqual([1, 2].slice(numSent));
  expect(numSent).toBeLessThan(2);
});

it('treats a damaged bookmark as a missing one', async () => {
  writeFileSync(metrics(), line(1));
  mkdirSync(path.join(runDir, 'trackers'));
  writeFileSync(path.join(runDir, 'trackers/list.json'), '{"metrics.jsonl":{"offset":-3}}');
  const list = createList();
  await follow(list).close();
  expect(steps(list)).toEqual([1]);
  expect(readdirSync(path.join(runDir, 'trackers'))).toEqual(['list.json']);
  expect(readFileSync(path.join(runDir, 'trackers/list.json'), 'utf8')).toContain(`"offset":${line(1).length}`);
});
