import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountOf } from './account.js';
import { foldRecords } from './fold.js';
import { Ledger } from './ledger.js';
import { countPlaces, isClosed } from './places.js';
import type { LedgerRecord } from './records.js';
import { scheduleOf } from './state.js';
import { createTestLedger } from './testing/ledger-fixture.js';

const group = { groupId: 'g', taskId: 't', numPlaces: 4 };

describe('places and attempts', () => {
  it('offers the oldest open place, and evaluation before training', () => {
    const { ledger, claim } = createTestLedger();
    ledger.openGroup(group);
    ledger.openGroup({ groupId: 'h', taskId: 'u', numPlaces: 1 });
    expect(ledger.nextPlace()).toEqual({ groupId: 'g', place: 0, attempt: 0 });
    for (const place of [0, 1, 2, 3]) claim('g', place);
    expect(ledger.nextPlace()).toEqual({ groupId: 'h', place: 0, attempt: 0 });
    ledger.openGroup({ groupId: 'v', taskId: 'w', numPlaces: 1, purpose: 'evaluation', evaluates: 0 });
    expect(ledger.nextPlace()).toEqual({ groupId: 'v', place: 0, attempt: 0 });
    expect(ledger.nextPlace(({ taskId }) => taskId === 'nothing')).toBeUndefined();
  });

  it('opens a place again when its attempt was lost, three times', () => {
    const { ledger, run } = createTestLedger();
    ledger.openGroup(group);
    for (const attempt of [0, 1, 2]) {
      expect(ledger.nextPlace()).toEqual({ groupId: 'g', place: 0, attempt });
      run('g', 0, 'outage');
    }
    expect(ledger.nextPlace()).toEqual({ groupId: 'g', place: 1, attempt: 0 });
    expect(() => run('g', 0, 'completed')).toThrow('Place 0 of group "g" cannot be claimed: it is given_up.');
  });

  it('does not count attempts that were lost while the whole run was paused', () => {
    const { ledger, claim } = createTestLedger({ maxAttempts: 1 });
    ledger.openGroup(group);
    for (const attempt of [0, 1, 2]) {
      expect(ledger.nextPlace()?.attempt).toBe(attempt);
      ledger.end(claim('g', 0), { status: 'outage', isCounted: false });
    }
    expect(ledger.nextPlace()).toEqual({ groupId: 'g', place: 0, attempt: 3 });
  });

  it.each([
    ['partial_group', 'sampling'],
    ['drop_group', 'group_expired'],
    ['zero_reward', 'sampling'],
  ] as const)('under %s, one failure leaves the group %s', (failedEpisodePolicy, status) => {
    const { ledger, run } = createTestLedger({ failedEpisodePolicy });
    ledger.openGroup(group);
    run('g', 0, 'failed');
    expect(ledger.statusOf('g')).toBe(status);
  });

  it('counts a failure as reward 0 under zero_reward, and never an outage', () => {
    const { ledger, run } = createTestLedger({ failedEpisodePolicy: 'zero_reward' });
    ledger.openGroup({ ...group, numPlaces: 2 });
    const failed = run('g', 0, 'failed', 7);
    const lost = run('g', 1, 'outage', 7);
    expect(ledger.episode(failed)).toMatchObject({ state: 'pooled', reward: 0, isSuccess: false });
    expect(ledger.episode(lost)).toMatchObject({ state: 'dropped', reason: 'outage', reward: null });
  });

  it('trains a partial group of at least two episodes and half its places', () => {
    const { ledger, run } = createTestLedger();
    ledger.openGroup(group);
    run('g', 0, 'completed', 1);
    run('g', 1, 'failed');
    run('g', 2, 'failed');
    expect(ledger.statusOf('g')).toBe('sampling');
    run('g', 3, 'completed', 0);
    expect(ledger.statusOf('g')).toBe('trainable');
    expect(countPlaces(ledger.state, ledger.group('g'), ledger.rules)).toEqual({
      open: 0,
      taken: 0,
      filled: 2,
      given_up: 2,
    });
  });

  it('drops a group at once when it can no longer become trainable, and calls onDrop for its attempts', () => {
    const { ledger, run, claim, cut } = createTestLedger();
    ledger.openGroup(group);
    const running = claim('g', 3);
    for (const place of [0, 1, 2]) run('g', place, 'failed');
    expect(ledger.statusOf('g')).toBe('group_expired');
    expect(cut).toEqual([`${running} group_expired`]);
    expect(() => ledger.end(running, { status: 'completed', reward: 1 })).toThrow(
      `Episode "${running}" is over: group_expired.`,
    );
  });
});

describe('draws', () => {
  it('come back twice after a group expired without a failure, then no more', () => {
    const { ledger, run } = createTestLedger({ maxAttempts: 1 });
    const returned: boolean[] = [];
    for (const tryIndex of [0, 1, 2]) {
      const groupId = `g${tryIndex}`;
      const expiries = scheduleOf(ledger.state).draws.get(5)?.expiries ?? 0;
      ledger.openGroup({ groupId, taskId: 't', numPlaces: 1, draw: 5, tryIndex, expiries });
      run(groupId, 0, 'outage');
      returned.push(scheduleOf(ledger.state).returned.has(5));
    }
    expect(returned).toEqual([true, true, false]);
  });

  it('do not come back after the agent failed', () => {
    const { ledger, run } = createTestLedger({ failedEpisodePolicy: 'drop_group' });
    ledger.openGroup(group);
    run('g', 0, 'failed');
    expect(scheduleOf(ledger.state).draws.get(0)?.fate).toBe('over');
  });

  it('come back uncounted after their group was superseded', () => {
    const { ledger } = createTestLedger();
    ledger.openGroup(group);
    ledger.dropGroup('g', 'superseded');
    expect(scheduleOf(ledger.state).draws.get(0)).toEqual({ tryIndex: 0, expiries: 0, fate: 'returned' });
  });
});

describe('ends and rewards', () => {
  it('accepts a repeated end and refuses another one', () => {
    const { ledger, run } = createTestLedger();
    ledger.openGroup(group);
    const episodeId = run('g', 0, 'completed', 0.5);
    expect(ledger.end(episodeId, { status: 'completed', reward: 0.5 }).state).toBe('pooled');
    expect(() => ledger.end(episodeId, { status: 'completed', reward: 1 })).toThrow(
      `Episode "${episodeId}" has already ended as completed with reward 0.5, and this end differs.`,
    );
  });

  it.each([Number.NaN, Infinity])('refuses a reward of %d', (reward) => {
    const { ledger, claim } = createTestLedger();
    ledger.openGroup(group);
    const episodeId = claim('g', 0);
    expect(() => ledger.end(episodeId, { status: 'completed', reward })).toThrow('it must be a finite number');
    expect(ledger.episode(episodeId).state).toBe('running');
  });

  it('keeps an episode without a reward until its judge answers', () => {
    const { ledger, run } = createTestLedger();
    ledger.openGroup({ ...group, numPlaces: 1 });
    const episodeId = run('g', 0, 'completed', null);
    expect([ledger.episode(episodeId).state, ledger.statusOf('g')]).toEqual(['ended', 'sampling']);
    ledger.judge(episodeId, { reward: 2, isSuccess: true });
    expect([ledger.episode(episodeId).state, ledger.statusOf('g')]).toEqual(['pooled', 'trainable']);
    expect(() => ledger.judge(episodeId, { reward: 3 })).toThrow('cannot get a reward: it is pooled');
  });

  it('takes new rewards only for a whole group, and only if they name the rewards that they replace', () => {
    const { ledger, run, claim } = createTestLedger();
    ledger.openGroup({ ...group, numPlaces: 2 });
    const ids = [run('g', 0, 'completed', 0), claim('g', 1)];
    const scores = ids.map((episodeId) => ({ episodeId, reward: 5, isSuccess: null }));
    const put = (some: typeof scores, replaces: string | null, revision = 'r2'): void =>
      ledger.score('g', { revision, replaces, scores: some });
    expect(() => put(scores, null)).toThrow('is scored as a whole');
    ledger.end(ids[1] ?? '', { status: 'completed', reward: 1 });
    expect(() => put(scores.slice(1), null)).toThrow('is scored as a whole');
    put(scores, null);
    put(scores, null); // repeated, because the answer was lost
    expect(ledger.membersOf('g').map(({ reward }) => reward)).toEqual([5, 5]);
    expect(() => put(scores, 'r1', 'r3')).toThrow('has revision "r2", not "r1"');
    ledger.assign([ledger.group('g')]);
    expect(() => put(scores, 'r2', 'r3')).toThrow('cannot get rewards: it is assigned');
  });
});

describe('steps', () => {
  it('an episode is trained if an applied optimizer step contained it, and otherwise dropped for a reason', () => {
    const { ledger, run } = createTestLedger();
    for (const groupId of ['a', 'b']) {
      ledger.openGroup({ groupId, taskId: groupId, numPlaces: 2, draw: groupId === 'a' ? 0 : 1 });
      for (const place of [0, 1]) run(groupId, place, 'completed', place);
    }
    const { step } = ledger.assign([ledger.group('a'), ledger.group('b')], { optimizerSteps: [['a'], ['b'], ['a']] });
    const long = ledger.membersOf('a')[0]?.episodeId ?? '';
    ledger.conclude(step, 0, { isApplied: false });
    ledger.conclude(step, 1, { isApplied: false });
    expect(accountOf(ledger.state)).toMatchObject({ assigned: 4, trained: 0 });
    ledger.conclude(step, 2, { isApplied: true, leftOut: [{ episodeId: long, reason: 'too_long' }] });
    expect(accountOf(ledger.state)).toMatchObject({
      acknowledged: 4,
      trained: 1,
      dropped: 3,
      droppedByReason: { too_long: 1, non_finite_gradient: 2 },
    });
    ledger.forget('a');
    expect(ledger.account).toEqual(accountOf(ledger.state));
    ledger.forget('b');
    expect([ledger.state.episodes.size, ledger.state.manifests.size]).toEqual([0, 0]);
  });

  it('refuses a group that is not trainable, or that is already in a manifest', () => {
    const { ledger, run } = createTestLedger();
    ledger.openGroup({ ...group, numPlaces: 1 });
    expect(() => ledger.assign([ledger.group('g')])).toThrow('cannot be trained now');
    run('g', 0, 'completed');
    ledger.assign([ledger.group('g')]);
    expect(() => ledger.assign([ledger.group('g')])).toThrow('cannot be trained now');
    expect(() => ledger.forget('g')).toThrow('is not over yet');
  });
});

describe('time', () => {
  it('drops an attempt whose client is silent, and not one whose call is being answered', () => {
    const { ledger, claim, pass } = createTestLedger();
    ledger.openGroup(group);
    const [silent, calling] = [claim('g', 0, 100), claim('g', 1, 100)];
    const release = ledger.holdLease(calling);
    pass(150);
    expect([ledger.episode(silent).reason, ledger.episode(calling).state]).toEqual(['lease_expired', 'running']);
    release();
    pass(90);
    ledger.renew(calling, 100);
    pass(90);
    expect(ledger.episode(calling).state).toBe('running');
    pass(20);
    expect(ledger.episode(calling).reason).toBe('lease_expired');
  });

  it('keeps a lease until the last of two calls is answered', () => {
    const { ledger, claim, pass } = createTestLedger();
    ledger.openGroup(group);
    const calling = claim('g', 0, 100);
    const [first, second] = [ledger.holdLease(calling), ledger.holdLease(calling)];
    first();
    pass(150);
    expect(ledger.episode(calling).state).toBe('running');
    second();
    pass(150);
    expect(ledger.episode(calling).reason).toBe('lease_expired');
  });

  it('gives up the unfilled places of a group some time after its first claim', () => {
    const { ledger, claim, pass, run } = createTestLedger({ groupPatienceMs: 1000 });
    ledger.openGroup(group);
    pass(5000);
    const running = claim('g', 2);
    for (const place of [0, 1]) run('g', place, 'completed', place);
    pass(1);
    pass(1000);
    expect(ledger.episode(running).reason).toBe('group_expired');
    expect(ledger.statusOf('g')).toBe('trainable');
  });

  it('gives up a place that becomes free after the time of its group', () => {
    const { ledger, pass, run } = createTestLedger({ groupPatienceMs: 1000, failedEpisodePolicy: 'partial_group' });
    ledger.openGroup(group);
    const [first = ''] = [0, 1, 2].map((place) => run('g', place, 'completed', place));
    pass(1000);
    ledger.drop(first, 'abandoned');
    expect(ledger.nextPlace()?.groupId).toBe('g');
    pass(1);
    expect(ledger.nextPlace()).toBeUndefined();
  });

  it('gives a group more time if the rules then allow more', () => {
    const { ledger, pass, run } = createTestLedger({ groupPatienceMs: 1000, failedEpisodePolicy: 'partial_group' });
    ledger.openGroup(group);
    const [first = ''] = [0, 1, 2].map((place) => run('g', place, 'completed', place));
    pass(1000);
    ledger.rules = { ...ledger.rules, groupPatienceMs: 5000 };
    ledger.drop(first, 'abandoned');
    pass(3999);
    expect(ledger.nextPlace()?.groupId).toBe('g');
    pass(1);
    expect(ledger.nextPlace()).toBeUndefined();
  });

  it('follows a change of the rules', () => {
    const { ledger, claim, pass } = createTestLedger({ groupPatienceMs: 1000, scorePatienceMs: 1000 });
    for (const draw of [0, 1]) ledger.openGroup({ groupId: `g${draw}`, taskId: `t${draw}`, numPlaces: 2, draw });
    const first = claim('g0', 0);
    pass(600);
    const second = claim('g1', 0);
    ledger.rules = { ...ledger.rules, groupPatienceMs: 500 };
    pass(0);
    expect([first, second].map((id) => ledger.episode(id).state)).toEqual(['dropped', 'running']);
    ledger.rules = { ...ledger.rules, groupPatienceMs: null };
    pass(10_000);
    expect(ledger.episode(second).state).toBe('running');
  });

  it('starts again after a recovery', () => {
    const { ledger, claim, records, pass } = createTestLedger({ groupPatienceMs: 1000 });
    ledger.openGroup(group);
    const running = claim('g', 0);
    pass(900);
    let now = 0;
    const recovered = new Ledger({ rules: ledger.rules, now: () => now, state: foldRecords(records) });
    now += 900;
    recovered.expire();
    expect(recovered.episode(running).state).toBe('running');
    now += 100;
    recovered.expire();
    expect(recovered.episode(running).reason).toBe('group_expired');
  });

  it('looks at few of many groups', () => {
    const { ledger, claim, pass } = createTestLedger({ groupPatienceMs: 1000 });
    let numLooks = 0;
    for (let draw = 0; draw < 100; draw++) {
      ledger.openGroup({ groupId: `g${draw}`, taskId: `t${draw}`, numPlaces: 1, draw });
      claim(`g${draw}`, 0);
      const known = ledger.state.groups.get(`g${draw}`);
      if (known === undefined) continue;
      const { places } = known;
      Object.defineProperty(known, 'places', { get: () => (numLooks++, places) });
      if (draw === 0) pass(100);
    }
    numLooks = 0;
    for (let count = 0; count < 50; count++) pass(1);
    expect(numLooks).toBe(0);
    pass(850);
    expect(ledger.numRunning).toBe(99);
    expect(numLooks).toBeLessThan(50);
  });

  it('gives a place up if its score does not arrive', () => {
    const { ledger, pass, run } = createTestLedger({ scorePatienceMs: 1000 });
    ledger.openGroup({ ...group, numPlaces: 1 });
    const episodeId = run('g', 0, 'completed', null);
    pass(1);
    pass(1000);
    expect(ledger.episode(episodeId)).toMatchObject({ state: 'dropped', reason: 'outage' });
    expect(ledger.statusOf('g')).toBe('group_expired');
  });

  it('stops while no client can be served', () => {
    const { ledger, claim, pass } = createTestLedger();
    ledger.openGroup(group);
    const episodeId = claim('g', 0, 100);
    ledger.clock.stop();
    pass(1e9);
    ledger.clock.start();
    pass(50);
    expect(ledger.episode(episodeId).state).toBe('running');
  });
});

it('treats losses as failures if only one task has them', () => {
  const { ledger, run } = createTestLedger();
  ledger.openGroup({ groupId: 'bad', taskId: 'bad', numPlaces: 8 });
  ledger.openGroup({ groupId: 'good', taskId: 'good', numPlaces: 8, draw: 1 });
  for (const place of [0, 1, 2, 3]) run('good', place, 'completed');
  const before = [0, 1].map((place) => run('bad', place, 'outage'));
  for (const place of [4, 5, 6]) run('good', place, 'completed');
  const third = run('bad', 2, 'outage');
  expect(before.map((id) => ledger.episode(id).reason)).toEqual(['outage', 'outage']);
  expect(ledger.episode(third)).toMatchObject({ reason: 'failed', end: { isSuspect: true } });
  expect(ledger.suspects()).toEqual(['bad']);
});

it('keeps its account when a step is made void, and when a record is refused', () => {
  const { ledger, run } = createTestLedger({});
  ledger.openGroup({ groupId: 'g', taskId: 't', numPlaces: 1 });
  run('g', 0, 'completed', 1);
  ledger.assign([ledger.group('g')]);
  const [episodeId = ''] = ledger.state.episodes.keys();
  expect(() => ledger.drop(episodeId, 'abandoned')).toThrow('was dropped after it was assigned');
  expect(ledger.account).toMatchObject({ acknowledged: 1, assigned: 1 });
  ledger.append({ kind: 'rewound', toStep: 0 });
  expect(ledger.account).toEqual(accountOf(ledger.state));
  expect(ledger.account).toMatchObject({ acknowledged: 1, assigned: 0, droppedByReason: { rewound: 1 } });
});

it('folds its records to its state after any sequence of events', () => {
  const action = fc.record({
    kind: fc.constantFrom('run', 'claim', 'end', 'drop', 'pass', 'judge', 'assign', 'supersede'),
    pick: fc.nat(1000),
    status: fc.constantFrom('completed' as const, 'failed' as const, 'outage' as const),
    reward: fc.constantFrom(0, 1, null),
  });
  const policy = fc.constantFrom('drop_group' as const, 'zero_reward' as const, 'partial_group' as const);
  fc.assert(
    fc.property(policy, fc.array(action, { maxLength: 80 }), (failedEpisodePolicy, actions) => {
      const test = createTestLedger({ failedEpisodePolicy, groupPatienceMs: 50, scorePatienceMs: 20 });
      const { ledger, records } = test;
      for (const draw of [0, 1, 2, 3])
        ledger.openGroup({ groupId: `g${draw}`, taskId: `t${draw}`, numPlaces: 3, draw });
      const times = new Map<string, number>();
      for (const { kind, pick, status, reward } of actions) {
        const numBefore = records.length;
        act(test, kind, { pick, status, reward });
        expectIndexed(ledger);
        noteTimes(times, records.slice(numBefore), ledger.clock.read());
        if (kind === 'pass') expectPunctual(ledger, times);
      }
      const folded = foldRecords(records);
      expect(folded).toEqual(ledger.state);
      const { acknowledged, trained, assigned, pooled, unscored, evaluated, dropped } = accountOf(folded);
      expect(acknowledged).toBe(trained + assigned + pooled + unscored + evaluated + dropped);
      expect(acknowledged).toBe([...folded.episodes.values()].filter(({ end }) => end !== undefined).length);
    }),
    { numRuns: 200 },
  );
});

/** The index must equal the result of visiting every group and episode. */
function expectIndexed(ledger: Ledger): void {
  const { state, rules } = ledger;
  const running = [...state.episodes.values()].filter((episode) => episode.state === 'running');
  expect(ledger.numRunning).toBe(running.length);
  expect(ledger.account).toEqual(accountOf(state));
  const group = [...state.groups.values()].find(
    (each) => each.fate === undefined && countPlaces(state, each, rules).open > 0,
  );
  expect(ledger.nextPlace()?.groupId).toBe(group?.groupId);
}

/** Notes when the first attempt of each group began, and when each episode ended. */
function noteTimes(times: Map<string, number>, records: readonly LedgerRecord[], now: number): void {
  for (const record of records) {
    const id = record.kind === 'claim' ? record.groupId : record.kind === 'end' ? record.episodeId : undefined;
    if (id !== undefined && !times.has(id)) times.set(id, now);
  }
}

/** No group and no episode may wait for longer than its time. */
function expectPunctual({ state, rules, clock }: Ledger, times: ReadonlyMap<string, number>): void {
  const { groupPatienceMs, scorePatienceMs } = rules;
  const isLate = (id: string, patienceMs: number | null): boolean =>
    clock.read() - (times.get(id) ?? Infinity) >= (patienceMs ?? Infinity);
  const late = [...state.groups.values()].filter(
    (each) => each.fate === undefined && isLate(each.groupId, groupPatienceMs),
  );
  expect(late.filter((each) => !isClosed(state, each, rules))).toEqual([]);
  const unscored = [...state.episodes.values()].filter((each) => each.state === 'ended');
  expect(unscored.filter(({ episodeId }) => isLate(episodeId, scorePatienceMs))).toEqual([]);
}

type Choice = {
  readonly pick: number;
  readonly status: 'completed' | 'failed' | 'outage';
  readonly reward: number | null;
};

function act(test: ReturnType<typeof createTestLedger>, kind: string, { pick, status, reward }: Choice): void {
  const { ledger } = test;
  const place = ledger.nextPlace();
  const episodes = [...ledger.state.episodes.values()];
  const running = episodes.filter(({ state }) => state === 'running');
  const chosen = running[pick % running.length];
  if (kind === 'run' && place !== undefined) test.run(place.groupId, place.place, status, reward);
  if (kind === 'claim' && place !== undefined) test.claim(place.groupId, place.place, 1 + (pick % 40));
  if (kind === 'end' && chosen !== undefined) ledger.end(chosen.episodeId, { status, reward });
  if (kind === 'drop' && chosen !== undefined) ledger.drop(chosen.episodeId, 'abandoned');
  if (kind === 'pass') test.pass(pick % 30);
  const unscored = episodes.find(({ state }) => state === 'ended');
  if (kind === 'judge' && unscored !== undefined) ledger.judge(unscored.episodeId, { reward: pick });
  const trainable = [...ledger.state.groups.keys()].find((groupId) => ledger.statusOf(groupId) === 'trainable');
  if (kind === 'assign' && trainable !== undefined) {
    const { step } = ledger.assign([ledger.group(trainable)]);
    ledger.conclude(step, 0, { isApplied: pick % 2 === 0 });
  }
  const open = [...ledger.state.groups.values()].find(({ fate }) => fate === undefined);
  if (kind === 'supersede' && pick % 5 === 0 && open !== undefined) ledger.dropGroup(open.groupId, 'superseded');
}
