import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { LmdbStore } from '../lmdb/lmdb-store.js';
import type { Lane } from '../store/store.js';
import { verifyStore, type StoreVerdict } from '../store/verify-store.js';

/**
 * Damages one file of a closed store, as a bad disk or a wrong command would. Returns a description of the damage.
 * `random` returns numbers from 0 to 1.
 */
export function drawDamage(dir: string, random: () => number): string {
  const draw = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const name = draw(readdirSync(dir).filter((each) => !each.endsWith('-lock')));
  const file = path.join(dir, name);
  const bytes = readFileSync(file);
  const numPages = Math.max(1, Math.floor(bytes.length / pageBytes));
  const [one, other] = [Math.floor(random() * numPages), Math.floor(random() * numPages)];
  switch (draw(kinds)) {
    case 'flip': {
      const at = Math.floor(random() * bytes.length);
      return rewrite(file, flip(bytes, at, random), `${name}: byte ${at} flipped`);
    }
    case 'flip in a header': {
      const at = Math.min(one * pageBytes + Math.floor(random() * 200), bytes.length - 1);
      return rewrite(file, flip(bytes, at, random), `${name}: byte ${at} of a page's head flipped`);
    }
    case 'cut': {
      const length = Math.floor(random() * bytes.length);
      return rewrite(file, bytes.subarray(0, length), `${name}: cut to ${length} bytes`);
    }
    case 'zero':
      pageOf(bytes, one).fill(0);
      return rewrite(file, bytes, `${name}: page ${one} zeroed`);
    case 'swap': {
      const first = Buffer.from(pageOf(bytes, one));
      pageOf(bytes, other).copy(bytes, one * pageBytes);
      first.copy(bytes, other * pageBytes);
      return rewrite(file, bytes, `${name}: pages ${one} and ${other} swapped`);
    }
    case 'empty':
      return rewrite(file, Buffer.alloc(0), `${name}: emptied`);
    case 'remove':
      rmSync(file);
      return `${name}: removed`;
  }
}

const kinds = ['flip', 'flip in a header', 'flip in a header', 'cut', 'zero', 'swap', 'empty', 'remove'] as const;
const pageBytes = 4096;

const pageOf = (bytes: Buffer, page: number): Buffer => bytes.subarray(page * pageBytes, (page + 1) * pageBytes);

function flip(bytes: Buffer, at: number, random: () => number): Buffer {
  bytes.writeUInt8((bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8)), at);
  return bytes;
}

function rewrite(file: string, bytes: Buffer, done: string): string {
  writeFileSync(file, bytes);
  return done;
}

/**
 * Verifies a store, and reads all of its entries with their content. Returns the verdict, and a hash of the entries.
 * Throws StoreError if the store reports damage.
 */
export async function readWhole(dir: string): Promise<{ readonly verdict: StoreVerdict; readonly hash: string }> {
  const store = await LmdbStore.open(dir, { isReadOnly: true });
  try {
    const verdict = verifyStore(store);
    const hash = createHash('sha256');
    for (const { number, isSealed } of store.files()) {
      hash.update(`${number} ${isSealed}`);
      for (const lane of lanes) {
        for (const entry of store.read(number, lane)) {
          hash.update(`${lane} ${JSON.stringify(entry)}`);
          if (lane !== 'carried') hash.update(JSON.stringify(store.find(entry.sequence, lane) ?? 'missing'));
        }
      }
    }
    return { verdict, hash: hash.digest('hex') };
  } finally {
    await store.close();
  }
}

const lanes: readonly Lane[] = ['events', 'carried', 'finished'];
