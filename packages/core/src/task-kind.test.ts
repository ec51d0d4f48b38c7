import { expect, it } from 'vitest';
import { kindOf } from './task-kind.js';

it('the kind of a task is a short value of its metadata', () => {
  const metadata = { kind: ' sum ', level: 3, isHard: false, text: 'x'.repeat(101), empty: ' ', list: ['sum'] };
  const kinds = ['kind', 'level', 'isHard', 'text', 'empty', 'list', 'toString', null].map((field) =>
    kindOf({ metadata }, field),
  );
  expect(kinds).toEqual(['sum', '3', 'false', undefined, undefined, undefined, undefined, undefined]);
});

it('is one line without control characters', () => {
  expect(kindOf({ metadata: { kind: ' a\n\u001b[2Jb\u0000 ' } }, 'kind')).toBe('a [2Jb');
  expect(kindOf({ metadata: { kind: '\u0007\n' } }, 'kind')).toBeUndefined();
});
