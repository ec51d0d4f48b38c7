import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
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
  const head = new BinaryWriter().tag(1, WireType.Bit64).double(now() / 1000);
  await writeFile(
    file,
    frameRecord(Buffer.from(head.tag(3, WireType.LengthDelimited).string('brain.Event:2').finish())),
  );
  return {
    append: (rows) => appendFile(file, Buffer.concat(rows.map((row) => frameRecord(toEvent(row, now() / 1000))))),
  };
}

function toEvent({ step, values }: TrackedRow, seconds: number): Buffer {
  const event = new BinaryWriter();
  event.tag(1, WireType.Bit64).double(seconds).tag(2, WireType.Varint).int64(step);
  event.tag(5, WireType.LengthDelimited).fork();
  for (const [tag, value] of Object.entries(values)) {
    event.tag(1, WireType.LengthDelimited).fork();
    event.tag(1, WireType.LengthDelimited).string(tag).tag(2, WireType.Bit32).float(value).join();
  }
  return Buffer.from(event.join().finish());
}
