import { expect, it } from 'vitest';
import type { CellResult } from './cell-result.js';
import { joinResults } from './join-results.js';
import { listVersions, readResults } from './store.js';

const kept = listVersions()
  .flatMap((version) => readResults(version))
  .find(({ seeds }) => seeds.length === 3);
if (kept === undefined) throw new Error('no result with three seeds is kept');

const whole: CellResult = kept;
const part = (index: number): CellResult => ({ ...whole, seeds: whole.seeds.slice(index, index + 1) });
const failed: CellResult = { ...whole, config_sha256: '', seeds: [], failed: [{ seed: 9, error: 'no disk' }] };

it('three seeds that ran apart become the result of one run of three seeds', () => {
  expect(joinResults([part(2), part(0), part(1)])).toEqual([whole]);
});

it('cells stay apart, and a seed that failed is counted', () => {
  const other = { ...part(1), tutorial: 'other' };
  expect(joinResults([failed, part(0), other])).toEqual([
    { ...part(0), failed: failed.failed },
    { ...other, seeds: [whole.seeds[1]] },
  ]);
});

it.each([
  ['commit', { commit: '012345678901' }],
  ['machine', { machine: { cpu: 'another' } }],
  ['model_sha256', { model_sha256: 'ff' }],
  ['config_sha256', { config_sha256: 'ff' }],
])('results with another %s are refused', (field, other) => {
  expect(() => joinResults([part(0), { ...part(1), ...other }])).toThrow(`${field} is `);
});

it('a seed that is there twice is refused, and so is a cell without any finished seed', () => {
  expect(() => joinResults([part(0), part(1), part(0)])).toThrow(`seed ${whole.seeds[0]?.seed} is in two results`);
  expect(() => joinResults([failed])).toThrow('every seed failed');
});
