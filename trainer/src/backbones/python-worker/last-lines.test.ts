import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { LastLines } from './last-lines.js';

it('keeps the last lines of a log, and the first line in which a process says why it ends', async () => {
  const lines = new LastLines(2);
  const stream = new PassThrough();
  lines.follow(stream);
  stream.write('2026-11-28 21:49:33,415 ajet_torch INFO rank 0 is ready\n');
  stream.write('2026-11-28 21:49:33,415 ajet_torch ERROR rank 1 ended (out_of_mem');
  stream.write('ory): The device ran out of memory.\nRuntimeError: Connection closed by peer\n');
  stream.end('2026-11-28 21:49:33,415 ajet_torch ERROR rank 2 ended (failed): RuntimeError\nChildFailedError');
  await expect.poll(() => lines.toString()).toMatch(/rank 2 ended.*\nChildFailedError$/);
  expect(lines.words).toEqual({ code: 'out_of_memory', message: 'The device ran out of memory.' });
});
