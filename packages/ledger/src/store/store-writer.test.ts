import { expect, it } from 'vitest';
import { MemoryDisk, MemoryStore } from '../testing/memory-store.js';
import { recover } from './recover.js';
import { StoreError } from './store-error.js';
import { StoreWriter } from './store-writer.js';

/** A writer that collects entries until the test releases it. */
async function openWriter() {
  const store = new MemoryStore(new MemoryDisk());
  const { nextSequence } = await recover(store);
  const commits: number[] = [];
  let goOn = (): void => undefined;
  const writer = new StoreWriter(store, {
    nextSequence,
    maxFileBytes: Infinity,
    maxFileEntries: Infinity,
    gather: () =>
      new Promise((resolve) => {
        goOn = resolve;
      }),
    onFailure: (error) => expect.fail(error.message),
    onCommit: (entries) => commits.push(entries.length),
  });
  const append = (step: number): Promise<void> => {
    writer.append([{ kind: 'checkpoint', step }]);
    return writer.committed();
  };
  return { writer, append, commits, goOn: () => goOn() };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('writes all records that arrive while it gathers in one transaction, and resolves nothing before', async () => {
  const { append, commits, goOn } = await openWriter();
  let numTold = 0;
  const first = append(1).then(() => numTold++);
  await turn();
  const second = append(2).then(() => numTold++);
  await turn();
  expect([numTold, commits]).toEqual([0, []]);
  goOn();
  await Promise.all([first, second]);
  expect(commits).toEqual([2]);
});

it('gathers no longer if a caller is in a hurry', async () => {
  const { writer, append, commits, goOn } = await openWriter();
  const first = append(1);
  await turn();
  const second = append(2);
  writer.hurry();
  await Promise.all([first, second]);
  const third = append(3);
  writer.hurry();
  await third;
  expect(commits).toEqual([2, 1]);
  const later = append(4);
  await turn();
  expect(commits).toEqual([2, 1]);
  goOn();
  await later;
  expect(commits).toEqual([2, 1, 1]);
});

it('writes nothing once it is closed, even if it was about to', async () => {
  const { writer, append, commits, goOn } = await openWriter();
  const refused = append(1).catch((error: StoreError) => error.code);
  await turn();
  writer.close(new StoreError('closed', 'The server is closing.'));
  goOn();
  await turn();
  expect([await refused, commits]).toEqual(['closed', []]);
});
