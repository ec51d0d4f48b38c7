import { expect, it } from 'vitest';
import { checkOptions } from './check-options.js';

it('takes seeds to keep results of, and minutes for the gate', () => {
  expect(checkOptions({ gate: false, seeds: '4,5' })).toEqual({ seeds: [4, 5], minutes: Infinity });
  expect(checkOptions({ gate: false })).toMatchObject({ seeds: [1, 2, 3] });
  expect(checkOptions({ gate: true, minutes: '80' })).toMatchObject({ minutes: 80 });
});

it.each([
  [{ gate: true, seeds: '4' }, '--seeds does not go with --gate, which chooses seeds that no kept result has used'],
  [{ gate: false, minutes: '80' }, '--minutes goes with --gate'],
  [{ gate: false, progress: true }, '--progress goes with --gate'],
  [{ gate: false, seeds: '1,x' }, '--seeds is "1,x"; it must be whole numbers such as 1,2,3'],
  [{ gate: true, out: '/tmp/one' }, '--out does not go with --gate'],
  [{ gate: false, join: '/tmp/one', seeds: '1' }, '--join takes finished results'],
  [{ gate: true, minutes: 'soon' }, '--minutes is "soon"; it must be a number such as 80'],
])('refuses %o with a message', (values, message) => {
  expect(() => checkOptions(values)).toThrow(message);
});
