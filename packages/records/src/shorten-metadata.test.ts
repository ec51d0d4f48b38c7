import { expect, it } from 'vitest';
import { shortenMetadata } from './shorten-metadata.js';

it('short metadata is kept unchanged, and empty metadata is not recorded', () => {
  expect(shortenMetadata({ answer: 42, steps: ['a', { b: null }] })).toEqual({ answer: 42, steps: ['a', { b: null }] });
  expect(shortenMetadata({})).toBeUndefined();
});

it('of long metadata, the beginnings of long values and all short values are kept', () => {
  const document = 'x'.repeat(10_000);
  const kept = shortenMetadata({ document, list: Array.from({ length: 999 }, () => 'item'), answer: 42, kind: 'sum' });
  expect(kept).toMatchObject({ answer: 42, kind: 'sum' });
  expect(kept?.['document']).toMatch(/^x{400,500} \.\.\. \(10000 characters\)$/);
  expect(kept?.['list']).toMatch(/^\["item",/);
});

it('many long values do not make a long record, and short ones stay', () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`text${at}`, 'y'.repeat(1000)]));
  const kept = shortenMetadata({ ...many, answer: 'yes' });
  expect(kept).toHaveProperty('answer', 'yes');
  expect(JSON.stringify(kept).length).toBeLessThan(5000);
});

it('values that JSON does not have become text', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  expect(shortenMetadata({ big: 10n, cyclic, when: new Date(0), missing: undefined })).toEqual({
    big: '10',
    cyclic: '[object Object]',
    when: '1970-01-01T00:00:00.000Z',
    missing: null,
  });
});
