import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject } from '@agentjet/core';
import type { FileSum } from './file-sums.js';

/**
 * Length and SHA-256 of the records that a checkpoint was written after: metrics, evaluations and episodes. Their files are only ever
 * appended to, so what a file began with then, it must begin with for ever.
 */
export type RecordSums = Readonly<Record<string, FileSum>>;

/** By path below the run folder, with forward slashes. */
async function listRecords(dir: string): Promise<readonly string[]> {
  const episodes = await readdir(path.join(dir, 'episodes')).catch(() => []);
  const steps = episodes.filter((name) => /^step-\d+\.jsonl$/.test(name)).toSorted();
  return ['metrics.jsonl', 'evaluations.jsonl', ...steps.map((name) => `episodes/${name}`)];
}

/** Undefined if the file cannot be read, or has fewer bytes. */
async function sumBeginning(file: string, bytes: number): Promise<string | undefined> {
  const hash = createHash('sha256');
  let seen = 0;
  try {
    if (bytes > 0)
      for await (const piece of createReadStream(file, { end: bytes - 1 }) as AsyncIterable<Buffer>) {
        hash.update(piece);
        seen += piece.length;
      }
  } catch {
    return undefined;
  }
  return seen === bytes ? hash.digest('hex') : undefined;
}

/** Sums of all records of a run as they are. A file of the same length as in `known` is not read again. */
export async function sumRecords(dir: string, known: RecordSums = {}): Promise<RecordSums> {
  const sums: Record<string, FileSum> = {};
  for (const name of await listRecords(dir)) {
    const file = path.join(dir, name);
    const bytes = await stat(file).then(
      (entry) => (entry.isFile() ? entry.size : 0),
      () => 0,
    );
    const old = known[name];
    const sha256 = old?.bytes === bytes ? old.sha256 : await sumBeginning(file, bytes);
    if (sha256 !== undefined && bytes > 0) sums[name] = { bytes, sha256 };
  }
  return sums;
}

/** What was changed in the records since then, in words. */
export async function findChangedRecords(dir: string, sums: unknown): Promise<readonly string[]> {
  if (!isJsonObject(sums)) return []; // checkpoints of older versions say nothing of records
  const changed: string[] = [];
  for (const [name, sum] of Object.entries(sums)) {
    if (!isJsonObject(sum) || typeof sum['bytes'] !== 'number') continue;
    const file = path.join(dir, name);
    if ((await sumBeginning(file, sum['bytes'])) === sum['sha256']) continue;
    changed.push(`${file} has changed since it was written: curve, report and episodes may differ from what happened.`);
  }
  return changed;
}
