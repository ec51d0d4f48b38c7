// Measures how fast this machine is, so that the time budgets of the tests mean the same work on every machine.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** The budgets are for two cores, so two threads work at the same time. */
const threads = 2;
const milliseconds = 2000;

/**
 * The rounds a second of both threads on the machine of the budgets. It comes from another machine, which did 394 rounds
 * a second in a run whose tests took 20.7 minutes. On the machine of the budgets they take 8.1: 394 * 20.7 / 8.1.
 */
const referenceRounds = 1007;

/** Does a fixed piece of work like that of the tests: it makes, reads and sorts objects, and multiplies matrices. */
function workOnce() {
  const size = 96;
  const rows = Array.from({ length: 400 }, (_, index) => ({
    id: `episode-${(index * 7919) % 400}`,
    reward: index / 7,
  }));
  const read = JSON.parse(JSON.stringify(rows)).sort((left, right) => left.id.localeCompare(right.id));
  const [left, right, product] = Array.from({ length: 3 }, () => new Float32Array(size * size).fill(read.length));
  for (let row = 0; row < size; row++)
    for (let inner = 0; inner < size; inner++)
      for (let column = 0; column < size; column++)
        product[row * size + column] += left[row * size + inner] * right[inner * size + column];
}

/** Returns how many rounds a second the threads do together. */
async function roundsPerSecond() {
  const done = await Promise.all(
    Array.from({ length: threads }, async () => {
      const worker = new Worker(fileURLToPath(import.meta.url), { workerData: milliseconds });
      const [rounds] = await once(worker, 'message');
      await worker.terminate();
      return rounds;
    }),
  );
  return (done.reduce((sum, rounds) => sum + rounds, 0) * 1000) / milliseconds;
}

/** Returns the speed of this machine as a share of the speed for which the budgets are set. Takes two seconds. */
export const measureSpeed = async () => (await roundsPerSecond()) / referenceRounds;

if (!isMainThread && typeof workerData === 'number') {
  for (let round = 0; round < 20; round++) workOnce(); // lets the compiler finish
  const end = performance.now() + workerData;
  let rounds = 0;
  for (; performance.now() < end; rounds++) workOnce();
  parentPort.postMessage(rounds);
}
