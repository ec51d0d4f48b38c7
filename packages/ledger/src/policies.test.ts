import { describe, expect, it } from 'vitest';
import { accountOf } from './account.js';
import { nextBatch } from './batches.js';
import { foldRecords } from './fold.js';
import { episodePart, groupPart, lineOf } from './policies.js';
import { createRules } from './rules.js';
import { foldStore } from './store/fold-store.js';
import { recover } from './store/recover.js';
import { Ledger } from './ledger.js';
import { FileRetirement } from './store/retention.js';
import { StoreWriter } from './store/store-writer.js';
import { createTestLedger } from './testing/ledger-fixture.js';
import { MemoryDisk, MemoryStore } from './testing/memory-store.js';

const policies = ['planner', 'worker'];

/** Opens groups g0, g1, ... with one filled place each. */
function sampled(numGroups: number) {
  const fixture = createTestLedger();
  const ids = Array.from({ length: numGroups }, (_none, draw) => {
    fixture.ledger.openGroup({ groupId: `g${draw}`, taskId: 't', numPlaces: 1, draw, policies });
    return fixture.run(`g${draw}`, 0, 'completed');
  });
  const train = (policy: string, ...groupIds: readonly string[]): number => {
    const { step } = fixture.ledger.assign(
      groupIds.map((groupId) => fixture.ledger.group(groupId)),
      { policy },
    );
    fixture.ledger.conclude(step, 0, { policy, isApplied: true });
    return step;
  };
  return { ...fixture, ids, train };
}

describe('several policies', () => {
  it('make their own steps and batches from the same groups', () => {
    const { ledger, train } = sampled(3);
    const rules = { ...createRules(), oversubscribe: 1, maxStaleness: 0 };
    train('planner', 'g0');
    expect(train('planner', 'g1')).toBe(2);
    expect(nextBatch(ledger.of('planner'), { ...rules, batchSize: 2 })).toEqual({ kind: 'sampling' });
    expect(nextBatch(ledger.of('worker'), { ...rules, batchSize: 2 })).toMatchObject({
      kind: 'ready',
      groups: [{ groupId: 'g0' }, { groupId: 'g1' }],
    });
    expect(train('worker', 'g0', 'g1', 'g2')).toBe(1);
    expect([lineOf(ledger.state, 'planner').step, lineOf(ledger.state, 'worker').step, ledger.state.step]).toEqual([
      2, 1, 0,
    ]);
  });

  it('close a place for all once one of them has taken it', () => {
    const { ledger, ids, train } = sampled(1);
    const [id = ''] = ids;
    train('planner', 'g0');
    expect([ledger.group('g0').fate, ledger.episode(id).state]).toEqual(['assigned', 'assigned']);
    expect(episodePart(ledger.episode(id), 'planner').state).toBe('trained');
    expect(episodePart(ledger.episode(id), 'worker').state).toBe('pooled');
    const scores = [{ episodeId: id, reward: 0, isSuccess: null }];
    expect(() => ledger.score('g0', { revision: 'r2', replaces: null, scores })).toThrow(/cannot get rewards/);
    expect(() => ledger.dropGroup('g0', 'superseded')).toThrow(/contradicts itself/);
    expect(() => train('planner', 'g0')).toThrow(/cannot be trained now/);
    train('worker', 'g0');
    expect([ledger.group('g0').fate, ledger.episode(id).state]).toEqual(['trained', 'trained']);
  });

  it('have an account each, and fold to the state they have', () => {
    const { ledger, records, train } = sampled(2);
    train('planner', 'g0');
    ledger.append({ kind: 'part_dropped', groupId: 'g0', policy: 'worker', reason: 'surplus' });
    expect(ledger.accountOf('planner')).toMatchObject({ acknowledged: 2, trained: 1, pooled: 1 });
    expect(ledger.accountOf('worker')).toMatchObject({ acknowledged: 2, dropped: 1, droppedByReason: { surplus: 1 } });
    expect(ledger.account).toMatchObject({ acknowledged: 2, trained: 1, pooled: 1 });
    const state = foldRecords(records);
    expect(state).toEqual(ledger.state);
    for (const policy of policies) expect(accountOf(state, policy)).toEqual(ledger.accountOf(policy));
  });

  it('are sent back one without the other', () => {
    const { ledger, ids, train } = sampled(1);
    train('planner', 'g0');
    train('worker', 'g0');
    ledger.append({ kind: 'rewound', policy: 'worker', toStep: 0 });
    expect(groupPart(ledger.group('g0'), 'worker').fate).toBe('rewound');
    expect(episodePart(ledger.episode(ids[0] ?? ''), 'worker')).toEqual({ state: 'dropped', reason: 'rewound' });
    expect(ledger.episode(ids[0] ?? '').state).toBe('trained'); // the planner trained it
    expect([lineOf(ledger.state, 'planner').step, lineOf(ledger.state, 'worker').step]).toEqual([1, 0]);
  });

  it('keep a file until the checkpoints of all policies contain its steps', async () => {
    const { records, train, ids } = sampled(1);
    train('planner', 'g0');
    train('worker', 'g0');
    const disk = new MemoryDisk();
    const store = new MemoryStore(disk, {});
    const { nextSequence } = await recover(store);
    const limits = { maxFileBytes: Infinity, maxFileEntries: Infinity, onFailure: () => undefined };
    const writer = new StoreWriter(store, { nextSequence, ...limits });
    writer.append(records);
    await writer.synced();
    await store.roll();
    const { state } = foldStore(store);
    const opened = new Ledger({ now: () => 0, state, journal: (added) => writer.append(added) });
    const retirement = new FileRetirement({ store, ledger: opened, writer });
    expect(await retirement.retire((policy) => (policy === 'planner' ? 1 : 0))).toEqual([]);
    expect(await retirement.retire(() => 1)).toEqual([0]);
    expect(foldStore(store).state.finished.episode(ids[0] ?? '')?.parts).toEqual({
      planner: { fate: 'trained', step: 1 },
      worker: { fate: 'trained', step: 1 },
    });
  });
});
