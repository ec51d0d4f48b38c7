/**
 * Parts of LMDB's file format: MDB_page_header and MDB_meta of lmdb-js's mdb.c. Pages 0 and 1 are the two metas.
 * Commits write them in turn.
 */
export type PageMeta = {
  readonly transaction: number;
  readonly lastPage: number;
  readonly main: PageTree;
  /** The list of free pages. */
  readonly free: PageTree;
};

export type PageTree = {
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  /** Undefined if the tree is empty. */
  readonly root: number | undefined;
};

export const pageBytes = 4096;
export const headerBytes = 24;
export const pageFlags = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;

/** Returns the meta of a page, or a description of the problem if the page is not a meta. */
export function metaOf(page: Buffer, pgno: number): PageMeta | string {
  const problem = problemOf(page, pgno);
  if (problem !== undefined) return problem;
  return {
    transaction: Number(page.readBigUInt64LE(at.transaction)),
    lastPage: Number(page.readBigUInt64LE(at.lastPage)),
    main: treeAt(page, at.main),
    free: treeAt(page, at.free),
  };
}

/** Returns the number of the last page that a meta names. Returns undefined if the page is not a meta. */
export function lastPageOf(page: Buffer, pgno: number): number | undefined {
  return problemOf(page, pgno) === undefined ? Number(page.readBigUInt64LE(at.lastPage)) : undefined;
}

function problemOf(page: Buffer, pgno: number): string | undefined {
  const isMeta = Number(page.readBigUInt64LE(0)) === pgno && page.readUInt16LE(18) === pageFlags.meta;
  if (!isMeta || page.readUInt32LE(24) !== magic) return 'is not the head of a file of LMDB';
  if ((page.readUInt32LE(28) & 0xff_ff) !== version) return `is of version ${page.readUInt32LE(28)}`;
  const isKnown = page.readUInt32LE(at.free) === pageBytes && page.readUInt16LE(at.main + 4) === 0;
  return isKnown ? undefined : `has pages of ${page.readUInt32LE(at.free)} bytes`;
}

function treeAt(page: Buffer, start: number): PageTree {
  const [branches = 0, leaves = 0, overflows = 0, entries = 0, root = 0] = [8, 16, 24, 32, 40].map((offset) =>
    Number(page.readBigUInt64LE(start + offset)),
  );
  const isEmpty = page.readBigUInt64LE(start + 40) === noPage;
  return {
    depth: page.readUInt16LE(start + 6),
    branches,
    leaves,
    overflows,
    entries,
    root: isEmpty ? undefined : root,
  };
}

const magic = 0xbeefc0de;
const version = 2;
const noPage = 0xffff_ffff_ffff_ffffn;
const at = { free: 48, main: 96, lastPage: 144, transaction: 152 } as const;
