import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import type { LedgerRecord } from '../records.js';
import { decodeRecord, encodeRecord } from './entry.js';
import { Scratch } from './scratch.js';

const call: LedgerRecord = {
  kind: 'call',
  groupId: 'g',
  episodeId: 'e',
  requestId: 'r',
  version: 1,
  incarnation: 0,
  content: { text: 'a\u0000b', list: [1, 2] },
};

it('reads what it wrote, with its content and without', () => {
  const { content: _content, ...bare } = call;
  for (const record of [call, bare, { ...call, content: null }, { ...call, content: 'x' }])
    expect(decodeRecord(encodeRecord(record as LedgerRecord), 'it')).toEqual(record);
});

it('reads the content of earlier records, which was a part of them', () => {
  const text = Buffer.from(JSON.stringify(call));
  const bytes = Buffer.alloc(4 + text.length);
  bytes.writeUInt32LE(crc32(text), 0);
  text.copy(bytes, 4);
  expect(decodeRecord(bytes, 'it')).toEqual(call);
});

it('leaves the content of large records out if it is not asked for', () => {
  const { content: _content, ...bare } = call;
  expect(decodeRecord(encodeRecord(call), 'it', { isWhole: false })).toEqual(bare);
  const key: LedgerRecord = { kind: 'key', name: 'lab', content: { role: 'worker' } };
  expect(decodeRecord(encodeRecord(key), 'it', { isWhole: false })).toEqual(key);
});

it('keeps bytes as they are, with content and without, and leaves them out if they are not asked for', () => {
  const { content: _content, ...bare } = call;
  const bytes = [Buffer.from([0, 1, 0, 255]), Buffer.alloc(0), Buffer.from([7])];
  for (const record of [
    { ...call, bytes },
    { ...bare, bytes },
    { ...bare, bytes: [] },
  ] as LedgerRecord[]) {
    expect(decodeRecord(encodeRecord(record), 'it')).toEqual(record);
    expect(decodeRecord(encodeRecord(record, 4).subarray(4), 'it')).toEqual(record);
    expect(decodeRecord(encodeRecord(record), 'it', { isWhole: false })).toEqual(bare);
  }
});

it('keeps the records of a commit apart, however large they are, and uses their memory again', () => {
  const scratch = new Scratch(100);
  for (const letters of [1, 500, 20_000]) {
    const records = ['a', 'é', '語'].map((letter) => ({ ...call, content: letter.repeat(letters) }));
    const written = records.map((record) => encodeRecord(record, 4, scratch));
    expect(written.map((bytes) => decodeRecord(bytes.subarray(4), 'it'))).toEqual(records);
    scratch.clear();
  }
  const [first, second] = [0, 1].map(() => (scratch.clear(), scratch.take(7).byteOffset));
  expect(first).toBe(second);
});

it('finds a damaged content before it is asked for', () => {
  const bytes = encodeRecord(call);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 2) ^ 1, bytes.length - 2);
  expect(() => decodeRecord(bytes, 'it')).toThrow('it is damaged');
});
