import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import type { TrackedRow } from '../tracker.js';
import { frameRecord } from './record.js';

/**
 * TensorBoard's event file: records (`record.ts`) of the protocol buffer `Event` { 1: double wall_time, 2: int64 step,
 * 3: string file_version, 5: Summary }, where Summary { 1: Value* } and Value { 1: string tag, 2: float simple_value }
 * (tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto).
 */
type EventFile = { append(rows: readonly TrackedRow[]): Promise<void> };

/** Creates a file in the folder. `now` returns milliseconds since 1970. */
export async function openEventFile(folder: string, now: () => number): Promise<EventFile> {
  await mkdir(folder, { recursive: true });
  const begun = Math.floor(now() / 1000);
  const file = path.join(folder, `events.out.tfevents.${String(begun).padStart(10, '0')}.${hostname()}.${process.pid}`);
  const version = bytesField(3, Buffer.from('brain.Event:2'));
  await writeFile(file, frameRecord(Buffer.concat([doubleField(1, now() / 1000), version])));
  return {
    append: (rows) => appendFile(file, Buffer.concat(rows.map((row) => frameRecord(toEvent(row, now() / 1000))))),
  };
}

function toEvent({ step, values }: TrackedRow, seconds: number): Buffer {
  const summary = Object.entries(values).map(([tag, value]) =>
    bytesField(1, Buffer.concat([bytesField(1, Buffer.from(tag)), floatField(2, value)])),
  );
  return Buffer.concat([
    doubleField(1, seconds),
    Buffer.from([(2 << 3) | 0, ...toVarint(step)]),
    bytesField(5, Buffer.concat(summary)),
  ]);
}

function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes.writeUInt8((field << 3) | 1);
  bytes.writeDoubleLE(value, 1);
  return bytes;
}

function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8((field << 3) | 5);
  bytes.writeFloatLE(value, 1);
  return bytes;
}

function bytesField(field: number, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...toVarint(value.length)]), value]);
}

/** Writes seven bits per byte, the lowest bits first. */
function toVarint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return [...bytes, rest];
}
