import { FileRetirement, Ledger, LmdbStore, recover, StoreWriter } from '@agentjet/ledger';

/**
 * Writes a store as a server does: groups, claims, calls of up to 20 kB, ends, steps and checkpoints. The store has
 * several files, and old files are removed. `rounds` may be infinite. Calls `onRound` after each synced round.
 */
export async function writeStore(dir: string, rounds: number, onRound: () => void = () => undefined): Promise<void> {
  const store = await LmdbStore.open(dir);
  const { state, nextSequence, conclusions } = await recover(store);
  const writer = new StoreWriter(store, { nextSequence, maxFileBytes: 2 ** 30, maxFileEntries: 300, onFailure: fail });
  const ledger = new Ledger({ now: () => 0, state, journal: (records) => writer.append(records) });
  const retirement = new FileRetirement({ store, ledger, writer });
  ledger.append(...conclusions);
  for (let round = 0; round < rounds; round++) {
    const groups = [0, 1, 2, 3].map((index) => playGroup(ledger, state.step * 4 + index + round * 1000));
    await writer.synced();
    const { step } = ledger.assign(groups.slice(0, 3).map((groupId) => ledger.group(groupId)));
    await writer.synced();
    ledger.conclude(step, 0, { isApplied: true });
    if (step % 4 === 0) ledger.append({ kind: 'checkpoint', step });
    await writer.synced();
    if (step % 8 === 0) await retirement.retire(step - 4);
    onRound();
  }
  await store.close();
}

function playGroup(ledger: Ledger, draw: number): string {
  const groupId = `group-${draw}`;
  ledger.openGroup({ groupId, taskId: `task-${draw % 50}`, numPlaces: 2, draw });
  for (const place of [0, 1]) {
    const episodeId = `${groupId}-${place}`;
    ledger.claim({ groupId, place }, { episodeId, seed: place });
    for (let call = 0; call < 2; call++) {
      const content = { text: 'word '.repeat((draw * 37 + call * 811) % 4000) };
      ledger.recordCall(episodeId, { requestId: `r${call}`, version: 0, incarnation: 0, content });
    }
    ledger.end(episodeId, { status: 'completed', reward: place, content: { rows: 'x'.repeat((draw * 91) % 9000) } });
  }
  return groupId;
}

const fail = (error: Error): void => {
  throw error;
};
