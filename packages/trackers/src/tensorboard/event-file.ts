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
  const version = beginEvent(now() / 1000)
    .tag(3, WireType.LengthDelimited)
    .string('brain.Event:2');
  await writeFile(file, frameRecord(version.finish()));
  return {
    append: (rows) => appendFile(file, Buffer.concat(rows.map((row) => frameRecord(toEvent(row, now() / 1000))))),
  };
}

const beginEvent = (seconds: number): BinaryWriter => new BinaryWriter().tag(1, WireType.Bit64).double(seconds);

function toEvent({ step, values }: TrackedRow, seconds: number): Uint8Array {
  const event = beginEvent(seconds).tag(2, WireType.Varint).int64(step).tag(5, WireType.LengthDelimited).fork();
  for (const [tag, value] of Object.entries(values)) {
    const summary = event.tag(1, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string(tag);
    summary.tag(2, WireType.Bit32).float(Math.fround(value)).join(); // a float that is too large becomes infinite
  }
  return event.join().finish();
}
