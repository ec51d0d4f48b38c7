import { expect, it } from 'vitest';
import { tellDownload } from './tell-download.js';

const gib = 2 ** 30;

it('says nothing of a short download, and a line for each tenth of a long one', () => {
  let now = 0;
  const lines: string[] = [];
  const tell = tellDownload('acme/large', (line) => lines.push(line), { clock: () => now });
  for (let done = 0; done <= 100; done++) {
    now = done * 1000; // 1% each second
    tell({ doneBytes: (done / 100) * gib, totalBytes: gib });
  }
  expect(lines).toHaveLength(9);
  expect(lines[0]).toBe('downloading acme/large: 10% of 1.0 GiB, 10.2 MiB/s, 1 min 30 s left');
  const quick: string[] = [];
  const tellQuick = tellDownload('acme/small', (line) => quick.push(line), { clock: () => now });
  for (let done = 0; done <= 10; done++) {
    now += 200;
    tellQuick({ doneBytes: done, totalBytes: 10 });
  }
  expect(quick).toEqual([]);
});

it('speaks at least every half minute, and counts speed without what was there before', () => {
  let now = 0;
  const lines: string[] = [];
  const tell = tellDownload('acme/huge', (line) => lines.push(line), { clock: () => now });
  tell({ doneBytes: 50 * gib, totalBytes: 100 * gib });
  for (let second = 1; second <= 60; second++) {
    now = second * 1000;
    tell({ doneBytes: 50 * gib + second * 2 ** 20, totalBytes: 100 * gib });
  }
  expect(lines).toEqual([expect.stringContaining('50% of 100 GiB, 1.0 MiB/s'), expect.stringContaining(' left')]);
});
