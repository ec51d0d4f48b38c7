/**
 * Runs in a child process, because LMDB may end the process if it cannot read a store. `write <dir>` writes a store
 * until the process is killed. `damage <sound> <copy> <seed> <count>` damages that many copies. It prints the damage
 * before it reads a copy, and the outcome after that.
 */
import { createHash } from 'node:crypto';
import { cpSync, rmSync, writeSync } from 'node:fs';
import { accountOf, LmdbStore, recover, StoreError } from '@agentjet/ledger';
import { drawDamage, readWhole } from '@agentjet/ledger/testing';
import { createRandom } from '@agentjet/core';
import { writeStore } from './write-store.js';

const print = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);

/** Returns the hash of everything that a reader reads, or `damaged` if the store reports damage. */
async function read(dir: string): Promise<string> {
  try {
    const { verdict, hash } = await readWhole(dir);
    return verdict.isSound ? hash : 'damaged';
  } catch (error) {
    return toOutcome(error);
  }
}

/** Returns the hash of the state from which a server continues, or `damaged` if it refuses the store. */
async function serve(dir: string): Promise<string> {
  let store: LmdbStore | undefined;
  try {
    store = await LmdbStore.open(dir, { takeOver: true });
    const { state, nextSequence } = await recover(store);
    const served = JSON.stringify([nextSequence, state.step, accountOf(state), [...state.episodes.values()]]);
    return createHash('sha256').update(served).digest('hex');
  } catch (error) {
    return toOutcome(error);
  } finally {
    await store?.close();
  }
}

/** Any named refusal counts as noticed. Other errors are findings about the code. */
function toOutcome(error: unknown): string {
  if (error instanceof StoreError || (error as Error).name === 'LedgerError') return 'damaged';
  throw error;
}

async function damage(sound: string, copy: string, seed: number, count: number): Promise<void> {
  const fresh = (): void => {
    rmSync(copy, { recursive: true, force: true });
    cpSync(sound, copy, { recursive: true });
  };
  fresh();
  const right = { read: await read(copy), served: await serve(copy) };
  for (let index = 0; index < count; index++) {
    fresh();
    const what = drawDamage(copy, createRandom(seed + index).next);
    print({ what });
    const found = { read: await read(copy), served: await serve(copy) };
    const wrong = (['read', 'served'] as const).filter((how) => ![right[how], 'damaged'].includes(found[how]));
    print({ noticed: found.read === 'damaged' || found.served === 'damaged', wrong });
  }
}

const [task, dir = '', copy = '', seed = '', count = ''] = process.argv.slice(2);
if (task === 'write') await writeStore(dir, Infinity, () => print({ round: true }));
else if (task === 'make') await writeStore(dir, Number(copy));
else if (task === 'check') print({ read: await read(dir), served: await serve(dir) });
else await damage(dir, copy, Number(seed), Number(count));
process.exit(0);
