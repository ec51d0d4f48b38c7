import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextBatch, type BatchRules } from './batches.js';
import { drawableShares } from './draws.js';
import { foldRecords } from './fold.js';
import type { Ledger } from './ledger.js';
import { createRules } from './rules.js';
import { carryAfter, quotasOf, type GroupsByShare, type Parts } from './shares.js';
import { createTestLedger } from './testing/ledger-fixture.js';

describe('quotas', () => {
  it('keep every batch, and all batches together, within one group of the parts', () => {
    const weights = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(weights, fc.integer({ min: 1, max: 16 }), (given, size) => {
        const sum = given.reduce((total, weight) => total + weight, 0);
        const parts: Parts = Object.fromEntries(given.map((weight, index) => [`s${index}`, weight / sum]));
        let carry: GroupsByShare = {};
        for (let batch = 0; batch < 100; batch++) {
          const quotas = quotasOf(parts, carry, size);
          const taken = Object.values(quotas).reduce((total, count) => total + count, 0);
          const errors = Object.entries(parts).map(([share, part]) => Math.abs((quotas[share] ?? 0) - part * size));
          carry = carryAfter(parts, carry, quotas);
          const owed = Object.values(carry).map(Math.abs);
          expect(taken).toBe(size);
          expect(Math.max(...errors, ...owed)).toBeLessThan(1);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('carry rounding errors over to the next batch', () => {
    const parts = { lake: 0.6, sums: 0.4 };
    const first = quotasOf(parts, {}, 4);
    expect(first).toEqual({ lake: 2, sums: 2 });
    const carry = carryAfter(parts, {}, first);
    expect(carry['lake']).toBeCloseTo(0.4);
    expect(quotasOf(parts, carry, 4)).toEqual({ lake: 3, sums: 1 });
  });
});

const shared: BatchRules = {
  ...createRules(),
  batchSize: 4,
  oversubscribe: 1,
  maxStaleness: 0,
  parts: { a: 0.5, b: 0.5 },
};

let numGroups = 0;

/** Opens a group of one place that can be trained. */
function sample({ ledger, run }: ReturnType<typeof createTestLedger>, share: string, reward = 1): void {
  const groupId = `g${numGroups++}`;
  ledger.openGroup({ groupId, taskId: 't', numPlaces: 1, draw: numGroups, share });
  run(groupId, 0, 'completed', reward);
}

const sharesIn = (ledger: Ledger, rules: BatchRules, look = {}): string => {
  const batch = nextBatch(ledger, rules, look);
  return batch.kind === 'ready' ? batch.groups.map(({ share }) => share).join('') : batch.kind;
};

describe('batches of shares', () => {
  it('wait for every share, and take no more of one than its quota', () => {
    const bench = createTestLedger();
    for (const share of ['a', 'a', 'a', 'b']) sample(bench, share);
    expect(sharesIn(bench.ledger, shared)).toBe('sampling');
    expect(drawableShares(bench.ledger, shared)).toEqual(['b']);
    sample(bench, 'b');
    expect(sharesIn(bench.ledger, shared)).toBe('aabb');
  });

  it('lend the places of a share for which no client works, and count them', () => {
    const bench = createTestLedger();
    const elastic = { ...shared, isElastic: true };
    const look = { idle: new Set(['b']) };
    for (const share of ['a', 'a']) sample(bench, share);
    expect(drawableShares(bench.ledger, elastic)).toEqual(['b']);
    expect(drawableShares(bench.ledger, elastic, look)).toEqual(['b', 'a']);
    for (const share of ['a', 'a']) sample(bench, share);
    expect(sharesIn(bench.ledger, shared, look)).toBe('sampling');
    const batch = nextBatch(bench.ledger, elastic, look);
    expect(batch).toMatchObject({
      kind: 'ready',
      shares: {
        lent: { b: 2 },
        trained: { a: 4 },
        carry: { a: 0, b: 0 },
        asked: { a: 2, b: 2 },
        got: { a: 4 },
      },
    });
  });

  it('train the remaining groups of a share that no longer has a part', () => {
    const bench = createTestLedger();
    for (const share of ['old', 'a', 'a', 'b', 'b']) sample(bench, share);
    expect(sharesIn(bench.ledger, { ...shared, parts: { a: 0.5, b: 0.5 } })).toMatch(/^(aab|abb)old$/);
  });

  it('have the parts that are valid for their step', () => {
    const bench = createTestLedger();
    const change = { kind: 'config' as const, revision: 1, requestId: 'r', by: '' };
    bench.ledger.append({ ...change, fromStep: 2, changes: { 'swarm.shares': { a: 0.25, b: 0.75 } } });
    for (const share of ['a', 'a', 'b', 'b']) sample(bench, share);
    expect(sharesIn(bench.ledger, shared)).toBe('aabb');
    const batch = nextBatch(bench.ledger, shared);
    if (batch.kind !== 'ready') throw new Error(batch.kind);
    bench.ledger.assign(batch.groups, { ...(batch.shares !== undefined && { shares: batch.shares }) });
    for (const share of ['a', 'b', 'b', 'b']) sample(bench, share);
    expect(sharesIn(bench.ledger, shared)).toBe('abbb');
    expect(foldRecords(bench.records).shares).toEqual(bench.ledger.state.shares);
  });
});

describe('when a step is made', () => {
  it('enough_informative_tasks: groups whose rewards are all alike are trained and do not count', () => {
    const bench = createTestLedger();
    const rules = { ...shared, parts: { a: 1 }, batchSize: 1, collection: 'enough_informative_tasks' as const };
    sample(bench, 'a');
    expect(sharesIn(bench.ledger, rules)).toBe('sampling');
    expect(drawableShares(bench.ledger, rules)).toEqual(['a']);
    bench.ledger.openGroup({ groupId: 'two', taskId: 't', numPlaces: 2, draw: 1000, share: 'a' });
    bench.run('two', 0, 'completed', 0);
    bench.run('two', 1, 'completed', 1);
    expect(sharesIn(bench.ledger, rules)).toBe('aa');
    expect(drawableShares(bench.ledger, rules)).toEqual([]);
  });

  it('enough_episodes: a group with a place that was given up is made up for', () => {
    const bench = createTestLedger({ failedEpisodePolicy: 'partial_group' });
    const rules = { ...shared, parts: { a: 1 }, batchSize: 1, collection: 'enough_episodes' as const };
    bench.ledger.openGroup({ groupId: 'part', taskId: 't', numPlaces: 3, draw: 1001, share: 'a' });
    bench.run('part', 0, 'completed');
    bench.run('part', 1, 'completed');
    bench.run('part', 2, 'failed');
    expect(sharesIn(bench.ledger, rules)).toBe('sampling');
    expect(sharesIn(bench.ledger, { ...rules, collection: 'enough_tasks' })).toBe('a');
    sample(bench, 'a');
    expect(sharesIn(bench.ledger, rules)).toBe('aa');
  });

  it('any_client_asks: all that was sampled until then, and no share runs ahead of its part', () => {
    const bench = createTestLedger();
    const rules = { ...shared, collection: 'any_client_asks' as const };
    sample(bench, 'a');
    expect(drawableShares(bench.ledger, rules)).toEqual(['b', 'a']);
    sample(bench, 'a');
    expect(drawableShares(bench.ledger, rules)).toEqual(['b']);
    expect(sharesIn(bench.ledger, rules)).toBe('sampling');
    expect(sharesIn(bench.ledger, rules, { isAgreed: true })).toBe('aa');
    expect(drawableShares(bench.ledger, rules, { isAgreed: true })).toEqual([]);
  });
});
