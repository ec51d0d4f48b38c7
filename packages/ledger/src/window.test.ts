import { createRandom, deriveSeed } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextBatch, nextDraw } from './batches.js';
import { drawableShares, type DrawRules } from './draws.js';
import { foldRecords } from './fold.js';
import { Ledger } from './ledger.js';
import type { EndStatus, ManifestRecord } from './records.js';
import { createRules, type FailedEpisodePolicy } from './rules.js';
import { createTestLedger } from './testing/ledger-fixture.js';

const numPlaces = 2;

function rulesOf(rules: Partial<DrawRules> = {}): DrawRules {
  const places = createRules({ failedEpisodePolicy: 'drop_group', maxAttempts: 1, cutsDoomed: false, ...rules });
  return { batchSize: 2, oversubscribe: 1, maxStaleness: 0, order: 'drawn', ...places, ...rules };
}

/** A run of `order: drawn` whose events the test decides. */
function createRun(rules: DrawRules) {
  const test = createTestLedger(rules);
  const { ledger, records } = test;
  let doneStep = 0;
  return {
    ...test,
    /** Returns false if nothing may be drawn now. */
    draw(): boolean {
      const draw = nextDraw(ledger.state);
      if (draw === undefined || drawableShares(ledger.of('default'), rules, { doneStep }).length === 0) return false;
      const groupId = `g${draw.draw}.${draw.tryIndex}`;
      // Each try has another task, because a task that is often lost would become suspect.
      ledger.openGroup({ ...draw, groupId, taskId: groupId, numPlaces, isDrawn: true });
      return true;
    },
    /** Returns undefined if no step can be made now. */
    step(isLast = false): ManifestRecord | undefined {
      const batch = nextBatch(ledger.of('default'), rules, { doneStep, isLast });
      if (batch.kind !== 'ready') return undefined;
      const manifest = ledger.assign(batch.groups, { idle: batch.idle ?? [] });
      ledger.conclude(manifest.step, 0, { isApplied: true });
      return manifest;
    },
    done: () => {
      doneStep = ledger.state.step;
    },
    folded: () => new Ledger({ rules, now: () => 0, state: foldRecords(records) }),
  };
}

const idsOf = ({ groups, idle = [] }: ManifestRecord) => ({
  trained: groups.map(({ groupId }) => groupId),
  idle: idle.map(({ groupId }) => groupId),
});

describe('a window of draws', () => {
  it('is trained once each of its draws is over, in the order of the draws', () => {
    const { draw, run, step } = createRun(rulesOf());
    while (draw());
    for (const groupId of ['g1.0', 'g0.0']) {
      expect(step()).toBeUndefined();
      for (const place of [0, 1]) run(groupId, place, 'completed');
    }
    expect(step()).toMatchObject({ groups: [{ groupId: 'g0.0' }, { groupId: 'g1.0' }] });
  });

  it('contains a draw that has nothing to train, and no later draw in its place', () => {
    const { draw, run, step } = createRun(rulesOf());
    while (draw());
    for (const place of [0, 1]) run('g1.0', place, place === 0 ? 'failed' : 'completed');
    expect(draw()).toBe(false);
    for (const place of [0, 1]) run('g0.0', place, 'completed');
    const manifest = step();
    expect(manifest && idsOf(manifest)).toEqual({ trained: ['g0.0'], idle: ['g1.0'] });
  });

  it('may be idle as a whole', () => {
    const { draw, run, step, done } = createRun(rulesOf());
    while (draw());
    for (const groupId of ['g0.0', 'g1.0']) for (const place of [0, 1]) run(groupId, place, 'failed');
    const manifest = step();
    expect(manifest && idsOf(manifest)).toEqual({ trained: [], idle: ['g0.0', 'g1.0'] });
    done();
    expect([draw(), draw(), draw()]).toEqual([true, true, false]);
  });

  it('draws a group again, in its place, after an outage', () => {
    const { draw, run, step } = createRun(rulesOf());
    while (draw());
    for (const place of [0, 1]) run('g0.0', place, 'outage');
    for (const place of [0, 1]) run('g1.0', place, 'completed');
    expect([step(), draw(), draw()]).toEqual([undefined, true, false]);
    for (const place of [0, 1]) run('g0.1', place, 'completed');
    const manifest = step();
    expect(manifest && idsOf(manifest)).toEqual({ trained: ['g0.1', 'g1.0'], idle: ['g0.0'] });
  });

  it('is smaller at the end of a run', () => {
    const { draw, run, step } = createRun(rulesOf());
    draw();
    for (const place of [0, 1]) run('g0.0', place, 'completed');
    expect(step()).toBeUndefined();
    expect(step(true)).toMatchObject({ groups: [{ groupId: 'g0.0' }] });
  });

  it('waits until the loop is done with the step before it, and not with so many batches ahead', () => {
    const onPolicy = createRun(rulesOf({ batchSize: 1 }));
    const ahead = createRun(rulesOf({ batchSize: 1, maxStaleness: 1 }));
    for (const { draw, run } of [onPolicy, ahead]) {
      draw();
      for (const place of [0, 1]) run('g0.0', place, 'completed');
    }
    expect([onPolicy.draw(), ahead.draw(), ahead.draw()]).toEqual([false, true, false]);
    for (const { step } of [onPolicy, ahead]) step();
    expect([onPolicy.draw(), ahead.draw()]).toEqual([false, false]); // the step is made but not evaluated yet
    for (const { done } of [onPolicy, ahead]) done();
    expect([onPolicy.draw(), onPolicy.draw(), ahead.draw(), ahead.draw()]).toEqual([true, false, true, false]);
  });
});

describe('a doomed group', () => {
  it('runs to its end: each of its places is tried once', () => {
    const { ledger, draw, run, claim, cut } = createRun(rulesOf({ maxAttempts: 3 }));
    draw();
    const running = claim('g0.0', 1);
    run('g0.0', 0, 'failed');
    expect([cut, ledger.statusOf('g0.0'), ledger.nextPlace()]).toEqual([[], 'sampling', undefined]);
    ledger.end(running, { status: 'outage' });
    expect([ledger.statusOf('g0.0'), draw(), draw()]).toEqual(['group_expired', true, false]);
  });

  it('still begins the places that were not tried', () => {
    const { ledger, draw, run } = createRun(rulesOf());
    draw();
    run('g0.0', 0, 'failed');
    expect(ledger.nextPlace()).toEqual({ groupId: 'g0.0', place: 1, attempt: 0 });
    run('g0.0', 1, 'completed');
    expect(ledger.statusOf('g0.0')).toBe('group_expired');
  });

  it('is cut at once if the rules say so', () => {
    const { draw, run, claim, cut } = createRun(rulesOf({ cutsDoomed: true }));
    draw();
    const running = claim('g0.0', 1);
    run('g0.0', 0, 'failed');
    expect(cut).toEqual([`${running} group_expired`]);
  });
});

/** Returns the result of an attempt. It depends only on its place. */
function statusOf(world: number, groupId: string, place: number): EndStatus {
  const chance = createRandom(deriveSeed(world, groupId, place)).next();
  return chance < 0.6 ? 'completed' : chance < 0.75 ? 'failed' : 'outage';
}

/** Returns the batch that an ordinary run would form. An ordinary run handles a batch group by group. */
function expectedBatch(world: number, from: number, { batchSize, failedEpisodePolicy, maxExpiries }: DrawRules) {
  const trained: string[] = [];
  const idle: string[] = [];
  for (let draw = from; draw < from + batchSize; draw++) {
    for (let tryIndex = 0; ; tryIndex++) {
      const groupId = `g${draw}.${tryIndex}`;
      const ends = Array.from({ length: numPlaces }, (_none, place) => statusOf(world, groupId, place));
      const kept = ends.filter(
        (status) => status === 'completed' || (status === 'failed' && failedEpisodePolicy === 'zero_reward'),
      );
      const isTrained = kept.length === numPlaces; // both places, because partial_group requires two episodes
      (isTrained ? trained : idle).push(groupId);
      const isSpoiled = ends.every((status) => status !== 'failed' || failedEpisodePolicy === 'zero_reward');
      if (isTrained || !isSpoiled || tryIndex === maxExpiries) break;
    }
  }
  return { trained, idle };
}

it('has the batches of an ordinary run, in whichever order its episodes end', () => {
  const policy = fc.constantFrom<FailedEpisodePolicy>('drop_group', 'zero_reward', 'partial_group');
  const settings = fc.record({
    policy,
    batchSize: fc.integer({ min: 1, max: 4 }),
    ahead: fc.integer({ max: 2, min: 0 }),
  });
  fc.assert(
    fc.property(fc.nat(), fc.nat(), settings, (world, order, { policy, batchSize, ahead }) => {
      const rules = rulesOf({ failedEpisodePolicy: policy, batchSize, maxStaleness: ahead });
      const run = createRun(rules);
      const { ledger, claim, cut } = run;
      const { int } = createRandom(order);
      const manifests: ManifestRecord[] = [];
      let doneStep = 0;
      for (let turn = 0; manifests.length < 4; turn++) {
        expect(turn).toBeLessThan(2000);
        const running = [...ledger.running()];
        const place = ledger.nextPlace();
        const chosen = running[int(Math.max(1, running.length))];
        const act = int(5);
        if (act === 0) run.draw();
        if (act === 1 && place !== undefined) claim(place.groupId, place.place);
        if (act === 2 && chosen !== undefined) {
          const status = statusOf(world, chosen.groupId, chosen.place);
          ledger.end(chosen.episodeId, { status, reward: 1 });
        }
        const manifest = act === 3 ? run.step() : undefined;
        if (manifest !== undefined) manifests.push(manifest);
        if (act === 4) {
          run.done();
          doneStep = ledger.state.step;
        }
        const drawn = ledger.state.schedules.get('default')?.nextDraw ?? 0;
        expect(drawn).toBeLessThanOrEqual((doneStep + 1 + ahead) * batchSize);
      }
      expect(manifests.map(idsOf)).toEqual(
        manifests.map((_manifest, index) => expectedBatch(world, index * batchSize, rules)),
      );
      expect(cut).toEqual([]);
      const folded = run.folded();
      expect(folded.state).toEqual(ledger.state);
      expect(nextBatch(folded.of('default'), rules)).toEqual(nextBatch(ledger.of('default'), rules));
      expect([...folded.flight.idle.keys()].sort()).toEqual([...ledger.flight.idle.keys()].sort());
    }),
    { numRuns: 150 },
  );
});
