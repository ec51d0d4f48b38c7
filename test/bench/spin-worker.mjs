// Counts as fast as it can for the requested milliseconds. See measure-noise.ts.
import { parentPort } from 'node:worker_threads';

parentPort?.on('message', (milliseconds) => {
  const end = performance.now() + milliseconds;
  let rounds = 0;
  while (performance.now() < end) rounds += 1;
  parentPort?.postMessage(rounds);
});
