import { accountOf, FileRetirement, foldStore, Ledger, recover, StoreWriter } from '@agentjet/ledger';
import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import { Bench, claimRequest, endRequest, when } from './bench.js';
import { doomedPlace, idleGroupKept, idleWindow, nextBatchWaits, rankOfADraw } from './drawn.js';

/**
 * Scenarios for bugs that random tests seldom find. Each scenario is the smallest that shows its bug. It returns a list
 * of what went wrong. The list is empty if everything was right.
 */
export type Scenario = () => Promise<readonly string[]>;

/**
 * After a failed sync, some pages can be read but are never written. If a server trusts a later sync, it loses them.
 */
const failedSync: Scenario = async () => {
  const bench = new Bench();
  const { swarm } = await bench.serve();
  const episodeId = await bench.claim(swarm, 'c');
  bench.broken.add('sync');
  const first = await bench.codeOf(swarm.end(episodeId, endRequest(1)));
  bench.broken.clear();
  const { swarm: next } = await bench.serve();
  const second = await bench.codeOf(next.end(episodeId, endRequest(1)));
  bench.disk.cutPower();
  const { state } = foldStore(new MemoryStore(bench.disk));
  const isKept = state.episodes.get(episodeId)?.end !== undefined;
  return [
    ...when(first !== 'store_failed', `a failed sync was answered ${first}`),
    ...when(second === 'ok' && !isKept, 'an end was acknowledged and forgotten after a failed sync'),
    ...when(second !== 'ok', `the end was answered ${second} after a recovery`),
  ];
};

/** A server that is deposed while it begins a file must not own that file. */
const deposedWhileRolling: Scenario = async () => {
  const disk = new MemoryDisk();
  const rolling = createSignal();
  const goOn = createSignal();
  const wait = async (operation: string): Promise<void> => {
    if (operation !== 'roll') return;
    rolling.resolve();
    await goOn.promise;
  };
  const old = new MemoryStore(disk, { faults: { wait } });
  await old.takeOver();
  const rolled = old.roll().then(
    () => 'rolled',
    () => 'refused',
  );
  await rolling.promise;
  await new MemoryStore(disk).takeOver();
  goOn.resolve();
  const answer = await rolled;
  return when(answer === 'rolled' && (await old.isOwner()), 'a deposed server owns a new file');
};

function createSignal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/**
 * A manifest in a newer file decides about a group whose records are in an older file. An open group keeps the older
 * file.
 */
const manifestOfAnOlderGroup: Scenario = async () => {
  const disk = new MemoryDisk();
  const store = new MemoryStore(disk);
  const { state, nextSequence, conclusions } = await recover(store);
  const writer = new StoreWriter(store, {
    nextSequence,
    maxFileBytes: Infinity,
    maxFileEntries: Infinity,
    onFailure: () => {},
  });
  const ledger = new Ledger({ now: () => 0, state, journal: (records) => writer.append(records) });
  ledger.append(...conclusions);
  sample(ledger, 'a', 0);
  ledger.openGroup({ groupId: 'straggler', taskId: 's', numPlaces: 1, draw: 1 });
  await writer.synced();
  await store.roll();
  sample(ledger, 'b', 2);
  const { step } = ledger.assign([ledger.group('a'), ledger.group('b')]);
  ledger.conclude(step, 0, { isApplied: true });
  await writer.synced();
  await store.roll();
  ledger.append({ kind: 'checkpoint', step });
  await new FileRetirement({ store, ledger, writer }).retire(step);
  const { trained, pooled } = accountOf(foldStore(new MemoryStore(disk)).state);
  return when(
    trained !== 2 || pooled !== 0,
    `of 2 trained episodes ${trained} are known, ${pooled} would be trained again`,
  );
};

function sample(ledger: Ledger, groupId: string, draw: number): void {
  ledger.openGroup({ groupId, taskId: groupId, numPlaces: 1, draw });
  ledger.claim({ groupId, place: 0 }, { episodeId: `${groupId}-e`, seed: 0 });
  ledger.end(`${groupId}-e`, { status: 'completed', reward: 1 });
}

/** A delayed copy of older rewards arrives after newer ones were acknowledged. */
const delayedRescoring: Scenario = async () => {
  const bench = new Bench({ numPlaces: 1 });
  const { swarm } = await bench.serve();
  const episodeId = await bench.claim(swarm, 'c');
  await bench.settle(swarm.end(episodeId, endRequest(null)));
  const [group] = (await bench.settle(swarm.unscored())).groups;
  const put = (revision: string, replaces: string | null, reward: number): Promise<string> => {
    const rewards = [{ episode_id: episodeId, reward, is_success: null }];
    return bench.codeOf(swarm.score(group?.group_id ?? '', { revision, replaces, rewards }));
  };
  const answers = [await put('r1', null, 1), await put('r2', 'r1', 2), await put('r1', null, 1)];
  const { reward } = swarm.context.ledger.episode(episodeId);
  return [
    ...when(
      answers.join() !== 'ok,ok,revision_conflict',
      `rewards r1, r2 and r1 again were answered ${answers.join()}`,
    ),
    ...when(reward !== 2, `the reward is ${reward}, and 2 was acknowledged last`),
  ];
};

/** A deposed server does not know what its successor has recorded, and must not refuse from memory. */
const refusalOfADeposedServer: Scenario = async () => {
  const bench = new Bench();
  const { swarm: old } = await bench.serve();
  const { swarm: owner } = await bench.serve();
  const episodeId = await bench.claim(owner, 'c');
  await bench.settle(owner.end(episodeId, endRequest(1)));
  const answer = await bench.codeOf(old.end(episodeId, endRequest(1)));
  return when(answer !== 'not_owner', `a deposed server answered ${answer} for an acknowledged end`);
};

/** A delayed copy of an order arrives after a newer one. */
const delayedOrder: Scenario = async () => {
  const bench = new Bench();
  const { swarm } = await bench.serve();
  await bench.settle(swarm.operate('pause', 'one'));
  await bench.settle(swarm.operate('resume', 'two'));
  await bench.settle(swarm.operate('pause', 'one'));
  return when(swarm.describe().state === 'paused', 'a late copy of a pause was obeyed after the resume');
};

/** An end that needs the disk must not wait until a stream of calls stops. */
const busySync: Scenario = async () => {
  const bench = new Bench();
  const { swarm, life } = await bench.serve();
  const episodeId = await bench.claim(swarm, 'c');
  const other = await bench.claim(swarm, 'd');
  let isAnswered = false;
  let numCalls = 0;
  const call = (): void => {
    if (isAnswered || numCalls > 500) return;
    swarm.call(other, `${numCalls++}`, async () => ({})).catch(() => {});
    life.host.after(0.5, call);
  };
  call();
  await bench.settle(swarm.end(episodeId, endRequest(1)));
  isAnswered = true;
  return when(numCalls > 100, `an end waited while ${numCalls} calls were recorded`);
};

/** A power cut lost a claim. If the client repeats the claim, it gets a new episode, and the old episode is gone. */
const lostClaim: Scenario = async () => {
  const bench = new Bench();
  const { swarm, life } = await bench.serve();
  await bench.settle(life.wait(100));
  const episodeId = await bench.claim(swarm, 'c');
  life.kill();
  bench.disk.cutPower();
  const { swarm: next } = await bench.serve();
  const other = await bench.claim(next, 'c');
  const answer = await bench.codeOf(next.end(episodeId, endRequest(1)));
  return [
    ...when(other === episodeId, 'a lost claim got an episode with the id that its client knows'),
    ...when(answer !== 'gone', `an end of a lost claim was answered ${answer}`),
  ];
};

/** On a disk that is nearly full, claims and calls are refused first, so that there is still room for ends. */
const fullDisk: Scenario = async () => {
  const bench = new Bench();
  const { swarm } = await bench.serve();
  const episodeId = await bench.claim(swarm, 'c');
  bench.disk.isFull = true;
  const { reason } = await bench.settle(swarm.claim(claimRequest('d')));
  const call = await bench.codeOf(swarm.call(episodeId, '0', async () => ({})));
  const end = await bench.codeOf(swarm.end(episodeId, endRequest(1)));
  const answers = [reason, call, end].join();
  return when(
    answers !== 'store_full,store_full,ok',
    `a claim, a call and an end on a full disk were answered ${answers}`,
  );
};

/** A group is given up even if its first attempt never ends, because its patience is counted from the claim. */
const claimThatNeverEnds: Scenario = async () => {
  let now = 0;
  const ledger = new Ledger({ now: () => now, rules: { groupPatienceMs: 1000 }, journal: () => {} });
  ledger.openGroup({ groupId: 'g', taskId: 't', numPlaces: 1, draw: 0 });
  ledger.claim({ groupId: 'g', place: 0 }, { episodeId: 'e', seed: 0 });
  ledger.expire();
  now += 1001;
  ledger.expire();
  const status = ledger.statusOf('g');
  return when(status !== 'group_expired', `a group that was claimed long ago is ${status}`);
};

export const scenarios: Readonly<Record<string, Scenario>> = {
  'a failed sync is not believed': failedSync,
  'a deposed server owns no new file': deposedWhileRolling,
  'a manifest keeps what it names': manifestOfAnOlderGroup,
  'older rewards do not win by being late': delayedRescoring,
  'a deposed server refuses nothing': refusalOfADeposedServer,
  'an order is obeyed once': delayedOrder,
  'a sync does not wait for silence': busySync,
  'a lost claim is opened anew': lostClaim,
  'ends fit on a full disk': fullDisk,
  'a claim that never ends gives its group up': claimThatNeverEnds,
  'a drawn batch waits until the step before it is done': nextBatchWaits,
  'a place of a doomed group is tried once': doomedPlace,
  'a window of idle draws alone is trained': idleWindow,
  'an idle group is kept until its step is': idleGroupKept,
  'a draw ranks as it does in an ordinary run': rankOfADraw,
};
