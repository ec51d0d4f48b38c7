import { describe, expect, it } from 'vitest';
import { checkNesting } from './check-nesting.js';

const nested = (depth: number): string => `${'['.repeat(depth)}${'{}'}${']'.repeat(depth)}`;

describe('the text of a body', () => {
  it('may be nested as deeply as requests are', () => {
    expect(() => checkNesting(nested(127))).not.toThrow();
    expect(() => checkNesting(nested(128))).toThrow('nested more than 128 levels deep');
  });

  it('may have as many lists and objects as requests have', () => {
    expect(() => checkNesting(`[${'{},'.repeat(99_998)}{}]`)).not.toThrow();
    expect(() => checkNesting(`[${'{},'.repeat(99_999)}{}]`)).toThrow('more than 100000 lists and objects');
  });

  it.each([
    ['brackets', '['.repeat(1_000)],
    ['quotes', '"['.repeat(1_000)],
    ['backslashes', '\\[\\'.repeat(1_000)],
    ['backslashes before quotes', '\\"[\\\\"'.repeat(1_000)],
  ])('may hold strings with %s', (_what, content) => {
    expect(() => checkNesting(JSON.stringify({ [content]: content }))).not.toThrow();
    expect(() => checkNesting(`{"text":${JSON.stringify(content)},"nested":${nested(200)}}`)).toThrow('nested');
  });

  it.each(['', ']]]}', '"open', '"open\\', 'null'])('that is not JSON is left to the parser: %j', (text) => {
    expect(() => checkNesting(text)).not.toThrow();
  });
});
