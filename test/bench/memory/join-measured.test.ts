import { expect, it } from 'vitest';
import { joinMeasured, type CasePeak } from './join-measured.js';
import { memoryCases } from './memory-cases.js';

const [first = '', second = '', third = '', fourth = ''] = memoryCases.map(({ name }) => name);
const row = (name: string, ratio: number, commit?: string): CasePeak => ({
  case: name,
  predicted_bytes: ratio * 1000,
  measured_bytes: 1000,
  ratio,
  ...(commit !== undefined && { commit }),
});

const kept = JSON.stringify({
  bench: 'memory',
  commit: 'new',
  measured: [row(first, 1.1), row('a removed case', 2), row(second, 1.2, 'old')],
  left_out_cases: [third, fourth],
});

it('keeps the other cases of the kept result, in the order of all cases and with their commits', () => {
  const { measured, leftOut } = joinMeasured(kept, { measured: [row(third, 1.3)], leftOut: [] });
  expect(measured).toEqual([row(first, 1.1, 'new'), row(second, 1.2, 'old'), row(third, 1.3)]);
  expect(leftOut).toEqual([fourth]);
});

it('replaces a case that was measured again, and keeps one that was left out now', () => {
  const { measured, leftOut } = joinMeasured(kept, { measured: [row(second, 1.4)], leftOut: [first] });
  expect(measured).toEqual([row(first, 1.1, 'new'), row(second, 1.4)]);
  expect(leftOut).toEqual([third, fourth]);
});

it('begins without a kept result', () => {
  const now = { measured: [row(second, 1.4)], leftOut: [third] };
  expect(joinMeasured(undefined, now)).toEqual(now);
});
