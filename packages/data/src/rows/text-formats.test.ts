import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { collectRows } from '../testing/collect-rows.js';
import { formatOf } from './formats.js';

const dir = mkdtempSync(path.join(tmpdir(), 'text-formats-'));
let numFiles = 0;

async function valuesOf(end: string, text: string | Uint8Array): Promise<readonly unknown[]> {
  const file = path.join(dir, `${numFiles++}.${end}`);
  writeFileSync(file, text);
  return (await collectRows(formatOf(file), file)).map(({ value }) => value);
}

it('reads CSV with quotes, commas and line ends within fields, a byte order mark, and any line end', async () => {
  const rows = ['id,question,answer', 'a,"What is 1 + 1, ""please""?",2', '', 'b,"two\nlines",'];
  for (const end of ['\n', '\r\n'])
    expect(await valuesOf('csv', `\uFEFF${rows.join(end)}${end}`)).toEqual([
      { id: 'a', question: 'What is 1 + 1, "please"?', answer: '2' },
      { id: 'b', question: 'two\nlines', answer: '' },
    ]);
});

it('reads tabs in .tsv, and many rows in order', async () => {
  const lines = Array.from({ length: 2500 }, (_, at) => `${at}\tq, ${at}`);
  const rows = await valuesOf('tsv', `id\tq\n${lines.join('\n')}`);
  expect(rows).toHaveLength(2500);
  expect(rows.at(-1)).toEqual({ id: '2499', q: 'q, 2499' });
});

it.each([
  ['a row with too many fields', 'a,b\n1,2\n1,2,3\n', /:3: not CSV: .*[Cc]olumns?/],
  ['a quote in the wrong place', 'a,b\n1,2\n1,"x"y\n', /:3: not CSV/],
  ['a quote without an end', 'a,b\n1,"x\n', /not CSV/],
  ['two columns of one name', 'a,b,a\n1,2,3\n', /:1: the first line names two columns "a"/],
  ['a column without a name', 'a,\n1,2\n', /a column without a name/],
  ['zero bytes', 'a\0,b', /zero bytes/],
  ['another encoding', Buffer.from('a,b\n1,2\ncaf\u00e9,2\n', 'latin1'), /not UTF-8\. Save the file as UTF-8/],
  ['half a character at its end', Buffer.from('a,b\n1,\u00e9').subarray(0, -1), /not UTF-8/],
])('refuses CSV with %s', async (_, text, message) => {
  await expect(valuesOf('csv', text)).rejects.toThrow(message);
});

it('reads a list of JSON, and JSON Lines that are named .json', async () => {
  expect(await valuesOf('json', '\uFEFF[{"a": 1}, {"a": [2]}]\n')).toEqual([{ a: 1 }, { a: [2] }]);
  expect(await valuesOf('json', '{"a": 1}\n{"a": 2}\n')).toEqual([{ a: 1 }, { a: 2 }]);
});

it.each([
  ['an object', '{\n"a": 1}', /which is not a list\. Write \[/],
  ['nothing', '', /not JSON/],
  ['half a list', '[{"a": 1}, ', /not JSON/],
  ['gzip', Buffer.from([0x1f, 0x8b, 8, 0]), /compressed with gzip/],
  ['another encoding', Buffer.from('[{"a": "caf\u00e9"}]', 'latin1'), /not UTF-8/],
])('refuses a JSON file with %s', async (_, text, message) => {
  await expect(valuesOf('json', text)).rejects.toThrow(message);
});

it('keeps whole numbers of 64 bits as strings if a double cannot hold them', async () => {
  const text =
    '{"a": 9007199254740993, "b": 9007199254740991, "c": -9223372036854775808, "d": 0.1234567890123456, "e": 1e30, "f": "9007199254740993"}';
  expect(await valuesOf('jsonl', text)).toEqual([
    {
      a: '9007199254740993',
      b: 9007199254740991,
      c: '-9223372036854775808',
      d: 0.1234567890123456,
      e: 1e30,
      f: '9007199254740993',
    },
  ]);
});
