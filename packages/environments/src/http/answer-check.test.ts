import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AnswerCheck, mostAnswerBytes } from './answer-check.js';

const bytes = (text: string): Buffer => Buffer.from(text);
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

it('treats brackets in strings as text, even if answers are cut', () => {
  const check = new AnswerCheck();
  for (const part of ['{"a": "\\', `"${'['.repeat(1000)}\\\\`, `", "b": ${nested(200)}, "c": ${nested(200)}}`])
    check.read(bytes(part));
});

it('refuses lists in lists, and what is too large', () => {
  expect(() => new AnswerCheck().read(bytes(nested(257)))).toThrow('nests more than 256');
  const check = new AnswerCheck();
  check.read(Buffer.alloc(mostAnswerBytes));
  expect(() => check.read(bytes('x'))).toThrow('more than 33554432 bytes');
});

it('counts each event of a stream anew', () => {
  const check = new AnswerCheck({ isStream: true });
  const half = `data: ["${'x'.repeat(mostAnswerBytes / 2)}`; // ended although the list is not closed
  for (let count = 0; count < 3; count++) check.read(bytes(`${half}\r\n\r\n`));
  expect(() => check.read(bytes(half + half))).toThrow('more than 33554432 bytes');
});

it('says the same wherever an answer is cut', () => {
  const text = fc.string({ unit: fc.constantFrom('"', '\\', '[', ']', '\n', '\r', 'x', 'yy'), maxLength: 60 });
  const says = (parts: readonly string[], isStream: boolean): string => {
    const check = new AnswerCheck({ isStream });
    try {
      for (const part of parts) check.read(bytes(part));
      return 'nothing';
    } catch (error) {
      return String(error);
    }
  };
  const begin = '['.repeat(255);
  fc.assert(
    fc.property(text, fc.boolean(), (end, isStream) => {
      expect(says([begin + end], isStream)).toBe(says([begin, ...end], isStream));
    }),
  );
});
