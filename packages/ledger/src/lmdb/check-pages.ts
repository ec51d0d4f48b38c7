import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { StoreError } from '../store/store-error.js';
import { requireFreePages } from './free-pages.js';
import { headerBytes, metaOf, pageBytes, pageFlags, type PageMeta, type PageTree } from './page-meta.js';
import { restore } from './open-database.js';

/**
 * Reads all pages of an LMDB file without LMDB. Throws StoreError `damaged` unless the pages form whole trees. LMDB
 * does not check this: it crashes on some damaged pages and silently skips entries on others. `visit` is called with
 * every key and a function that reads its value. Values are not checked here, because each has a checksum.
 *
 * If other processes may write the file, hold a read transaction of LMDB during the check. LMDB then does not overwrite
 * the pages of the transaction's snapshot and of later snapshots.
 */
export function checkPages(file: string, visit: VisitEntry): void {
  const handle = openSync(file, 'r');
  try {
    new PageWalk(handle, file).check(visit);
  } finally {
    closeSync(handle);
  }
}

/**
 * Throws StoreError `damaged` unless LMDB can open the file. LMDB may crash if the file is not an LMDB file, or is
 * shorter than its head states. Another process may write the file during the check, so a problem counts only if it is
 * found three times.
 */
export function requireHead(file: string): void {
  const handle = openSync(file, 'r');
  try {
    for (let tries = 1; ; tries++) {
      try {
        return void new PageWalk(handle, file);
      } catch (error) {
        if (tries === 3) throw error;
      }
    }
  } finally {
    closeSync(handle);
  }
}

export type VisitEntry = (key: Buffer, readValue: () => Buffer) => void;

type Bounds = { readonly low: Buffer; readonly high: Buffer | undefined };
type Compare = (a: Buffer, b: Buffer) => number;
type Node = { readonly key: Buffer; readonly flags: number; readonly low32: number; readonly data: Buffer };
type Counts = { branches: number; leaves: number; overflows: number; entries: number };

class PageWalk {
  readonly #handle: number;
  readonly #file: string;
  readonly #meta: PageMeta;
  /** One byte for each page: 1 if a tree uses the page or the list of free pages has it. */
  readonly #used: Uint8Array;
  /** The page that is being read at each depth. */
  readonly #levels: Buffer[] = [];
  #counts: Counts = noCounts();

  constructor(handle: number, file: string) {
    this.#handle = handle;
    this.#file = file;
    this.#meta = this.#readMeta();
    const needed = this.#meta.lastPage + 1;
    if (fstatSync(handle).size < needed * pageBytes) this.#refuse('it is cut short');
    this.#used = new Uint8Array(needed);
    this.#used.fill(1, 0, 2);
  }

  check(visit: VisitEntry): void {
    this.#walk(this.#meta.main, Buffer.compare, visit);
    const free: Buffer[] = [];
    this.#walk(this.#meta.free, compareNumbers, (_key, readValue) => free.push(Buffer.from(readValue())));
    const problem = requireFreePages(free, this.#used);
    if (problem !== undefined) this.#refuse(problem);
  }

  /** Returns the newer of the two metas. Its transaction must have written the newest of the roots that it names. */
  #readMeta(): PageMeta {
    const metas = [0, 1].map((pgno) => {
      const meta = metaOf(this.#read(pgno, Buffer.alloc(pageBytes)), pgno);
      return typeof meta === 'string' ? this.#refuse(`page ${pgno} ${meta}`) : meta;
    });
    const [older, newest] = metas.sort((a, b) => a.transaction - b.transaction) as [PageMeta, PageMeta];
    const written = [older, newest].map((meta) => Math.max(this.#writtenAt(meta.main), this.#writtenAt(meta.free)));
    if ((written[0] as number) > older.transaction || written[1] !== newest.transaction)
      this.#refuse('its newest transaction is missing');
    return newest;
  }

  #writtenAt({ root }: PageTree): number {
    if (root === undefined) return 0;
    return Number(this.#read(root, Buffer.alloc(pageBytes)).readBigUInt64LE(8));
  }

  #walk(tree: PageTree, compare: Compare, visit: VisitEntry): void {
    this.#counts = noCounts();
    if (tree.root !== undefined) {
      const bounds: Bounds = { low: Buffer.alloc(0), high: undefined };
      this.#descend(tree.root, bounds, { depth: tree.depth, level: 0, compare, visit });
    }
    const { branches, leaves, overflows, entries } = this.#counts;
    const isWhole =
      entries === tree.entries && leaves === tree.leaves && branches === tree.branches && overflows === tree.overflows;
    if (!isWhole) this.#refuse(`it has ${entries} of ${tree.entries} entries`);
  }

  #descend(pgno: number, bounds: Bounds, path: Path): void {
    const isLeaf = path.level === path.depth - 1;
    const page = this.#take(pgno, isLeaf ? pageFlags.leaf : pageFlags.branch, path.level);
    this.#counts[isLeaf ? 'leaves' : 'branches']++;
    const nodes = this.#nodesOf(page, pgno, isLeaf);
    if (isLeaf) this.#readLeaf(pgno, nodes, bounds, path);
    else this.#readBranch(pgno, nodes, bounds, path);
  }

  #readLeaf(pgno: number, nodes: readonly Node[], { low, high }: Bounds, { compare, visit }: Path): void {
    let before: Buffer | undefined;
    for (const node of nodes) {
      const { key } = node;
      const isAfter = before === undefined ? low.length === 0 || compare(key, low) >= 0 : compare(key, before) > 0;
      if (!isAfter || (high !== undefined && compare(key, high) >= 0)) this.#refuse(`page ${pgno} is out of order`);
      before = key;
      this.#counts.entries++;
      visit(key, this.#valueOf(pgno, node));
    }
  }

  #readBranch(pgno: number, nodes: readonly Node[], bounds: Bounds, path: Path): void {
    if (nodes.length < 2) this.#refuse(`page ${pgno} leads to one page`);
    for (const [index, { key, low32, flags }] of nodes.entries()) {
      const low = index === 0 ? bounds.low : key;
      const high = nodes[index + 1]?.key ?? bounds.high;
      const isInOrder = high === undefined || low.length === 0 || path.compare(low, high) < 0;
      if (!isInOrder) this.#refuse(`page ${pgno} is out of order`);
      this.#descend(low32 + flags * 2 ** 32, { low, high }, { ...path, level: path.level + 1 });
    }
  }

  /** Returns a function that reads the value of a node. Checks the pages of a value that has separate pages. */
  #valueOf(pgno: number, { flags, low32, data }: Node): () => Buffer {
    if (flags === 0) return () => data;
    if (flags !== bigData || data.length !== 24) this.#refuse(`page ${pgno} has an entry of an unknown kind`);
    const start = Number(data.readBigUInt64LE(0));
    const pages = Number(data.readBigUInt64LE(16));
    if (pages !== Math.floor((headerBytes - 1 + low32) / pageBytes) + 1)
      this.#refuse(`page ${pgno} has an entry of ${low32} bytes in ${pages} pages`);
    const header = this.#take(start, pageFlags.overflow, overflowLevel, pages);
    if (header.readUInt32LE(20) !== pages || header.readBigUInt64LE(8) !== data.readBigUInt64LE(8))
      this.#refuse(`page ${start} is not the one that page ${pgno} names`);
    this.#counts.overflows += pages;
    return () => {
      const value = Buffer.alloc(low32);
      readSync(this.#handle, value, 0, low32, start * pageBytes + headerBytes);
      return value;
    };
  }

  #nodesOf(page: Buffer, pgno: number, isLeaf: boolean): readonly Node[] {
    const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
    const count = lower >> 1;
    const room = pageBytes - headerBytes;
    if (lower > upper || upper > room || lower % 2 === 1)
      this.#refuse(`page ${pgno} has no room for its ${count} entries`);
    let total = 0;
    const nodes = Array.from({ length: count }, (_none, index) => {
      const start = page.readUInt16LE(headerBytes + 2 * index);
      const at = headerBytes + start;
      const isInside = start >= upper && start <= room - nodeBytes;
      if (!isInside) return this.#refuse(`page ${pgno} points outside of itself`);
      const low32 = page.readUInt32LE(at);
      const flags = page.readUInt16LE(at + 4);
      const keyBytes = page.readUInt16LE(at + 6);
      const dataBytes = !isLeaf ? 0 : flags === bigData ? 24 : low32;
      const end = at + nodeBytes + keyBytes + dataBytes;
      if (end > pageBytes) return this.#refuse(`page ${pgno} has an entry beyond its end`);
      total += nodeBytes + keyBytes + dataBytes;
      total += total % 2;
      const keyEnd = at + nodeBytes + keyBytes;
      return { key: page.subarray(at + nodeBytes, keyEnd), flags, low32, data: page.subarray(keyEnd, end) };
    });
    if (total !== room - upper) this.#refuse(`page ${pgno} has entries that overlap`);
    return nodes;
  }

  /** Reads a page and marks it as used. Refuses a page that is already used. */
  #take(pgno: number, flags: number, level: number, pages = 1): Buffer {
    if (!(pgno >= 2 && pgno + pages <= this.#used.length)) this.#refuse(`there is no page ${pgno}`);
    for (let each = pgno; each < pgno + pages; each++) {
      if (this.#used[each] !== 0) this.#refuse(`page ${each} is used twice`);
      this.#used[each] = 1;
    }
    const page = this.#read(pgno, (this.#levels[level] ??= Buffer.alloc(pageBytes)));
    const isRight = Number(page.readBigUInt64LE(0)) === pgno && page.readUInt16LE(18) === flags;
    if (!isRight || Number(page.readBigUInt64LE(8)) > this.#meta.transaction)
      this.#refuse(`page ${pgno} has a wrong header`);
    return page;
  }

  #read(pgno: number, page: Buffer): Buffer {
    const found = pgno * pageBytes < 2 ** 52 ? readSync(this.#handle, page, 0, pageBytes, pgno * pageBytes) : 0;
    return found === pageBytes ? page : this.#refuse(`it is cut short before page ${pgno}`);
  }

  #refuse(problem: string): never {
    throw new StoreError('damaged', `${this.#file} is damaged: ${problem}. ${restore}`);
  }
}

type Path = {
  readonly depth: number;
  readonly level: number;
  readonly compare: Compare;
  readonly visit: VisitEntry;
};

const noCounts = (): Counts => ({ branches: 0, leaves: 0, overflows: 0, entries: 0 });

/** Compares keys of the list of free pages, which are numbers. */
function compareNumbers(a: Buffer, b: Buffer): number {
  if (a.length !== 8 || b.length !== 8) return -1;
  const [left, right] = [a.readBigUInt64LE(0), b.readBigUInt64LE(0)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The number of bytes before the key of an entry. */
const nodeBytes = 8;
/** The flag of an entry whose value has separate pages. */
const bigData = 1;
/** The index of the buffer for the pages of values. It is greater than the depth of any tree. */
const overflowLevel = 64;
