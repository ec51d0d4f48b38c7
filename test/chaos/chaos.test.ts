import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { isSound, type ChaosReport } from './cause-chaos.js';
import { applyMutation, drawMutation, mutationKinds } from './mutate.js';
import { findDifference } from './run-outcome.js';
import { medianSlope } from './soak.js';
import { createWorld, countProblems, looksLikeStack, runCase } from './world.js';

const text = '{"step":1,"reward":0.25}\n{"step":2,"reward":0.5}\n';

function writeScratch(): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'chaos-')), 'metrics.jsonl');
  writeFileSync(file, text);
  return file;
}

describe('a mutation', () => {
  it.each(mutationKinds)('%s is made again by the same seed, and leaves another file', (kind) => {
    const make = (): string => {
      const file = writeScratch();
      expect(applyMutation({ file, kind, at: 0.3, value: 0.6 }, file)).toBe(true);
      return kind === 'delete' || kind === 'folder' || kind === 'link-loop' ? kind : readFileSync(file, 'latin1');
    };
    const made = make();
    expect(made).not.toBe(text);
    expect(make()).toBe(made);
  });

  it('that puts a folder in place of a file does so', () => {
    const file = writeScratch();
    applyMutation({ file, kind: 'folder', at: 0, value: 0 }, file);
    expect(statSync(file).isDirectory()).toBe(true);
  });

  it('is drawn from the seed alone', () => {
    const draw = () => drawMutation(createRandom(5), ['a', 'b', 'c']);
    expect(draw()).toEqual(draw());
  });
});

describe('a difference between two runs', () => {
  it('is found in the last digit, and in a line that is missing', () => {
    const whole = { metrics: [{ reward: 0.1 }, { reward: 0.2 }], weights: 'a' };
    expect(findDifference(whole, structuredClone(whole))).toBeUndefined();
    expect(findDifference(whole, { ...whole, metrics: [{ reward: 0.1 }, { reward: 0.20000000000000004 }] })).toMatch(
      /^metrics\[1\]/,
    );
    expect(findDifference(whole, { ...whole, metrics: [{ reward: 0.1 }] })).toMatch(/^metrics\[1\] of 2/);
    expect(findDifference(whole, { ...whole, weights: 'b' })).toBe('weights: "a", now "b"');
  });
});

describe('a report', () => {
  const sound: ChaosReport = {
    kills: 20,
    wrong_ends: 0,
    mutations: 100,
    silent_differences: 0,
    stack_traces: 0,
    hangs: 0,
    requests: 1000,
    let_in: 0,
    longest_stall_ms: 250,
    rss_slope_mb_per_hour: 20,
  };

  it.each([
    [{}, true],
    [{ wrong_ends: 1 }, false],
    [{ silent_differences: 1 }, false],
    [{ stack_traces: 1 }, false],
    [{ hangs: 1 }, false],
    [{ let_in: 1 }, false],
    [{ longest_stall_ms: 251 }, false],
    [{ rss_slope_mb_per_hour: 20.1 }, false],
  ])('with %j is sound: %s', (changed, isGood) => {
    expect(isSound({ ...sound, ...changed })).toBe(isGood);
  });

  it('counts each problem that a case has found, and the case can be run again', async () => {
    const world = createWorld(3, mkdtempSync(path.join(tmpdir(), 'chaos-')));
    mkdirSync(world.folder, { recursive: true });
    const drawn: number[] = [];
    const attack = {
      name: 'sample',
      runCase: async ({ random }: { random: { next(): number } }) => void drawn.push(random.next()),
      close: async () => undefined,
    };
    await runCase(world, attack, 4);
    await runCase(world, attack, 5);
    await runCase(world, attack, 4);
    expect(drawn[2]).toBe(drawn[0]);
    expect(drawn[1]).not.toBe(drawn[0]);
    expect(countProblems(world)).toEqual({
      wrong_ends: 0,
      silent_differences: 0,
      stack_traces: 0,
      hangs: 0,
      let_in: 0,
    });
  });
});

it('a stack is distinguished from words', () => {
  expect(looksLikeStack('TypeError: x\n    at run (file:///a/b.js:3:4)')).toBe(true);
  expect(looksLikeStack('error: Cannot write /run: the disk is full.')).toBe(false);
});

it('a steady growth is found among noise', () => {
  const random = createRandom(1);
  const points = Array.from({ length: 40 }, (_, x) => ({ x, y: 3 * x + random.next() + (x === 20 ? 500 : 0) }));
  expect(medianSlope(points)).toBeCloseTo(3, 1);
});
