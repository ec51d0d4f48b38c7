import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, type JsonObject } from '@agentjet/core';
import type { SystemRecord } from '@agentjet/run-folder';
import { objectsIn } from './episode-times.js';
import type { DiskPart, EpisodeTimes, SystemPoint } from '../wire.js';

/** Returns the newest row of each step, with the time since the step before. Rows without all fields are left out. */
export function toSystemPoints(lines: readonly JsonObject[]): readonly SystemPoint[] {
  const rows = new Map<number, SystemRecord>();
  for (const line of lines) if (isSystemRecord(line)) rows.set(line.step, line);
  const sorted = [...rows.values()].sort((a, b) => a.step - b.step);
  return sorted.map((row, at) => {
    const before = sorted[at - 1];
    const wall = before === undefined ? undefined : (Date.parse(row.time) - Date.parse(before.time)) / 1000;
    const isNext = before !== undefined && row.step === before.step + 1 && wall !== undefined && wall > 0;
    const cpu = before === undefined ? undefined : row.cpu_seconds - before.cpu_seconds;
    return {
      step: row.step,
      rssMb: row.rss_mb,
      peakRssMb: row.peak_rss_mb,
      diskFreeMb: row.disk_free_mb ?? null,
      wallSeconds: isNext ? wall : null,
      // A resumed run is another process, whose CPU seconds begin at 0.
      cores: isNext && cpu !== undefined && cpu >= 0 ? cpu / wall : null,
    };
  });
}

const isSystemRecord = (line: JsonObject): line is JsonObject & SystemRecord =>
  typeof line['step'] === 'number' &&
  typeof line['time'] === 'string' &&
  typeof line['rss_mb'] === 'number' &&
  typeof line['peak_rss_mb'] === 'number' &&
  typeof line['cpu_seconds'] === 'number';

/** Returns the bytes of each file and folder of a run, the largest first. */
export async function measureDisk(runDir: string): Promise<readonly DiskPart[]> {
  const names = await readdir(runDir).catch(() => []);
  const parts = await Promise.all(names.map(async (name) => ({ name, bytes: await sizeOf(path.join(runDir, name)) })));
  return parts.filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
}

async function sizeOf(place: string): Promise<number> {
  const found = await lstat(place).catch(() => undefined); // removed in the meantime
  if (found === undefined) return 0;
  if (!found.isDirectory()) return found.size;
  const names = await readdir(place).catch(() => []);
  const sizes = await Promise.all(names.map((name) => sizeOf(path.join(place, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Adds up how episodes spent their time, in seconds. Time outside of calls, spans and judges counts for the agent. */
export function sumEpisodeTimes(records: readonly JsonObject[]): EpisodeTimes {
  const sums = { waiting: 0, prompt: 0, sampling: 0, call: 0, untrained: 0, spans: 0, judging: 0, rest: 0 };
  let [seconds, timed] = [0, 0];
  for (const record of records) {
    const whole = numberOf(record['seconds']);
    const calls = objectsIn(record['turns']).flatMap(({ times }) => (isJsonObject(times) ? [times] : []));
    seconds += whole;
    if (calls.length > 0) timed++;
    for (const { waited_ms: waited, prompt_ms: prompt, sampling_ms: sampling } of calls) {
      sums.waiting += numberOf(waited) / 1000;
      sums.prompt += numberOf(prompt) / 1000;
      sums.sampling += numberOf(sampling) / 1000;
    }
    sums.judging += numberOf(record['seconds_judging']);
    sums.call += lengthOf(calls);
    sums.untrained += lengthOf(objectsIn(record['untrained_calls']));
    sums.spans += lengthOf(objectsIn(record['spans']));
  }
  const { call, ...parts } = sums;
  const engine = parts.waiting + parts.prompt + parts.sampling;
  return {
    episodes: records.length,
    timed,
    seconds,
    parts: {
      ...parts,
      answering: Math.max(0, call - engine),
      rest: Math.max(0, seconds - Math.max(call, engine) - parts.untrained - parts.spans - parts.judging),
    },
  };
}

const numberOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);

const lengthOf = (times: readonly JsonObject[]): number =>
  times.reduce((sum, { began_ms: began, ended_ms: ended }) => sum + (numberOf(ended) - numberOf(began)) / 1000, 0);
