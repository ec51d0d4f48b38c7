import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { median } from '../bench/bench.js';
import type { SeedResult } from './cell-result.js';
import { formatReleases, readAllResults, releasesPage } from './releases-page.js';
import { listVersions, readResults } from './store.js';

/** What each tutorial is to show on its held-out tasks, in the newest kept result: the median of three seeds, if it does not say "every". */

const newest = listVersions().flatMap((version) => readResults(version));

function seedsOf(tutorial: string): readonly SeedResult[] {
  const { seeds } = newest.findLast((result) => result.tutorial === tutorial && result.backbone === 'onnx') ?? {};
  if (seeds === undefined) throw new Error(`no result of ${tutorial} is kept`);
  expect(seeds.length, tutorial).toBeGreaterThanOrEqual(3);
  return seeds;
}

const medianOf = (tutorial: string, valueOf: (seed: SeedResult) => number | null | undefined): number =>
  median(seedsOf(tutorial).map((seed) => valueOf(seed) ?? Number.NaN));
const after = (tutorial: string): number => medianOf(tutorial, (seed) => seed.success_after);
const gain = (tutorial: string): number =>
  medianOf(tutorial, ({ success_after: later, success_before: before }) => (later ?? 0) - (before ?? 1));

describe('the kept results meet the bars of the tutorials', () => {
  it('frozen-lake: every seed begins at 0.45 or less and ends at 0.85 or more', () => {
    for (const { seed, success_before: before, success_after: later } of seedsOf('frozen-lake')) {
      expect(before, `seed ${seed}`).toBeLessThanOrEqual(0.45);
      expect(later, `seed ${seed}`).toBeGreaterThanOrEqual(0.85);
    }
  });

  it('countdown: at least twice what the model solves before anything is learned, and at least 0.6', () => {
    const before = medianOf('countdown', ({ stages }) => stages?.[0]?.success_before);
    expect(after('countdown')).toBeGreaterThanOrEqual(Math.max(2 * before, 0.6));
    expect(gain('countdown')).toBeGreaterThan(0);
  });

  it('learning-to-ask: 0.3 more of the hidden facts, and one question in 0.95 of the turns', () => {
    const found = medianOf(
      'learning-to-ask',
      ({ parts_after: later, parts_before: before }) => (later?.['facts_found'] ?? 0) - (before?.['facts_found'] ?? 1),
    );
    expect(found).toBeGreaterThanOrEqual(0.3);
    expect(medianOf('learning-to-ask', (seed) => seed.parts_after?.['one_question'])).toBeGreaterThanOrEqual(0.95);
  });

  it('environments: within 0.05 of one another in four worlds', () => {
    const worlds = ['environments', 'environments-agentjet', 'environments-openenv', 'environments-mcp'].map(after);
    expect(Math.max(...worlds) - Math.min(...worlds)).toBeLessThanOrEqual(0.05);
  });

  it.each(['math-agent', 'werewolves', 'langgraph-graph', 'office', 'documents', 'reasoning-gym'])(
    '%s: 0.3 more',
    (tutorial) => {
      expect(gain(tutorial)).toBeGreaterThanOrEqual(0.3);
    },
  );

  it('feedback: the second week is better than the first', () => {
    expect(gain('feedback')).toBeGreaterThan(0);
  });
});

it('RELEASES.md is what is made of the kept results', () => {
  expect(readFileSync(releasesPage, 'utf8')).toBe(formatReleases(readAllResults()));
});

it('the gate caught the five regressions that break learning, and at most one of 40 unchanged reruns', () => {
  const file = path.join(import.meta.dirname, 'mutants/results/gate.json');
  const gate = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>;
  expect(gate).toMatchObject({ planted: 5, caught: 5, reruns: 40 });
  expect(gate['false_alarms']).toBeLessThanOrEqual(1);
});
