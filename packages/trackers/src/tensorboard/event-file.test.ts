import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openEventFile } from './event-file.js';
import { crc32c, frameRecord } from './record.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'events-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it('has the checksum of RFC 3720', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa);
});

it('writes what TensorFlow writes, byte for byte', async () => {
  const file = await openEventFile(dir, () => 1500);
  await file.append([{ step: 300, values: { 'train/a': 0.5 } }]);
  const [name = ''] = readdirSync(dir);
  expect(name).toMatch(/^events\.out\.tfevents\.0000000001\./);
  // Event(wall_time=1.5, file_version='brain.Event:2') and Event(wall_time=1.5, step=300, summary=...), by protobuf's
  // own encoder.
  const version = Buffer.from('09000000000000f83f1a0d627261696e2e4576656e743a32', 'hex');
  const row = Buffer.from('09000000000000f83f10ac022a100a0e0a07747261696e2f61150000003f', 'hex');
  expect(readFileSync(path.join(dir, name)).toString('hex')).toBe(
    Buffer.concat([frameRecord(version), frameRecord(row)]).toString('hex'),
  );
});
