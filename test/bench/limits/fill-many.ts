import { FileRetirement, Ledger, LmdbStore, recover, scheduleOf, settleFinished, StoreWriter } from '@agentjet/ledger';

export const places = 8;
const groupsOfStep = 16;
/** The records of this many steps are one commit, so a fill that was killed continues at a whole step. */
const stepsOfCommit = 25;
const stepsOfCheckpoint = 50;
/** The files of the last steps are not removed, so that the server has to remove a whole one. */
const stepsKept = 1000;

/**
 * Writes a store as a long run does: with groups of 8, steps of 16 groups, and files that are removed after checkpoints.
 * If the store has some of the episodes already, only the others are written.
 */
export async function fillMany(dir: string, episodes: number): Promise<void> {
  const store = await LmdbStore.open(dir, { takeOver: true });
  const { state, nextSequence, conclusions } = await recover(store);
  const writer = new StoreWriter(store, {
    nextSequence,
    maxFileBytes: 256 * 2 ** 20,
    maxFileEntries: 200_000,
    onCommit: (entries) => settleFinished(state, entries),
    onFailure: (error) => {
      throw error;
    },
  });
  const ledger = new Ledger({ now: () => 0, state, journal: (records) => writer.append(records) });
  const retirement = new FileRetirement({ store, ledger, writer });
  if (conclusions.length > 0) ledger.append(...conclusions);
  const numSteps = Math.ceil(episodes / (places * groupsOfStep));
  for (let { step } = ledger.line; step < numSteps; step = ledger.line.step) {
    playStep(ledger, scheduleOf(state).nextDraw);
    const made = step + 1;
    if (made % stepsOfCheckpoint === 0 && made < numSteps) ledger.append({ kind: 'checkpoint', step: made });
    if (made % stepsOfCommit === 0) await writer.committed();
    if (made % stepsOfCheckpoint === 0 && made <= numSteps - stepsKept)
      await retirement.retire(made - stepsOfCheckpoint);
  }
  await writer.synced();
  await store.close();
}

const content = { rows: 'r'.repeat(300) };

/** Samples the groups of a step, and trains them. */
function playStep(ledger: Ledger, firstDraw: number): void {
  const groups = Array.from({ length: groupsOfStep }, (_none, at) => {
    const draw = firstDraw + at;
    const groupId = `g${draw}.0`;
    ledger.openGroup({ groupId, taskId: `t${draw % 2000}`, numPlaces: places, draw });
    for (let place = 0; place < places; place++) {
      const episodeId = `e${draw}-${place}-0123456789ab`;
      ledger.claim({ groupId, place }, { episodeId, claimId: `c${draw}-${place}`, client: 'fill', seed: place });
      ledger.end(episodeId, { status: 'completed', reward: place % 2, content });
    }
    return ledger.group(groupId);
  });
  const { step } = ledger.assign(groups);
  ledger.conclude(step, 0, { isApplied: true });
}
