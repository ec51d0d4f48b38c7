import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import tar from 'tar-stream';

/** Archives that go into a box and come out of one. What comes out was written by an agent. */

/** Returns true for a path, relative to the folder and with `/`, that stays outside. A folder ends with `/`. */
export type Leaves = (relative: string) => boolean;

export type TarOptions = {
  readonly leaves?: Leaves;
  /** Files that everybody may execute, by their path in the folder. */
  readonly programs?: readonly string[];
};

/**
 * Packs a folder. Every name in the archive begins with `prefix`. Owner is root, everybody may read, and symlinks stay
 * symlinks.
 */
export function packFolder(
  folder: string,
  prefix: string,
  { leaves = () => false, programs = [] }: TarOptions = {},
): Readable {
  const pack = tar.pack();
  const add = async (relative: string): Promise<void> => {
    const file = path.join(folder, relative);
    const name = path.posix.join(prefix, relative);
    const stat = await lstat(file);
    if (stat.isSymbolicLink()) {
      pack.entry({ name, type: 'symlink', linkname: await readlink(file), ...common(stat) });
    } else if (stat.isDirectory()) {
      if (name !== '.') pack.entry({ name, type: 'directory', ...common(stat), mode: 0o755 });
      for (const child of (await readdir(file)).sort()) {
        const below = relative === '' ? child : `${relative}/${child}`;
        const isFolder = (await lstat(path.join(folder, below))).isDirectory();
        if (!leaves(isFolder ? `${below}/` : below)) await add(below);
      }
    } else if (stat.isFile()) {
      const mode = common(stat).mode | (programs.includes(relative) ? 0o111 : 0);
      const entry = pack.entry({ name, type: 'file', size: stat.size, ...common(stat), mode });
      await pipeline(createReadStream(file, { end: Math.max(0, stat.size - 1) }), entry);
    }
  };
  add('').then(
    () => pack.finalize(),
    (error: unknown) => pack.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return toNode(pack);
}

const common = ({ mode, mtime }: { readonly mode: number; readonly mtime: Date }) => ({
  mode: (mode & 0o777) | 0o444,
  mtime,
  uid: 0,
  gid: 0,
});

/** Packs one file with the given text or bytes. */
export function packFile(name: string, content: string | Buffer, mode = 0o644): Readable {
  const pack = tar.pack();
  pack.entry({ name, mode, uid: 0, gid: 0 }, content);
  pack.finalize();
  return toNode(pack);
}

/** Makes a stream of Node from one of streamx. */
const toNode = (pack: tar.Pack): Readable => Readable.from(pack as AsyncIterable<Buffer>, { objectMode: false });

/** Thrown if an archive has more than the caller takes. */
export class TooLarge extends Error {}

/** Every archive ends with two empty blocks. */
const endBytes = 1024;

/** Passes an archive on, and fails if it breaks off. No bytes at all pass, for the caller to judge. */
export class WholeArchive extends Transform {
  hasBytes = false;
  #end: Buffer = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.hasBytes = true;
    this.#end = Buffer.concat([this.#end, chunk.subarray(-endBytes)]).subarray(-endBytes);
    done(null, chunk);
  }

  override _flush(done: TransformCallback): void {
    const isWhole = this.#end.length === endBytes && this.#end.every((byte) => byte === 0);
    done(isWhole || !this.hasBytes ? null : new Error('The archive broke off.'));
  }
}

/** Reads the only regular file of an archive. Returns null if it is something else. Throws TooLarge. */
export async function readOnlyFile(archive: Readable, mostBytes: number): Promise<Buffer | null> {
  const extract = tar.extract();
  let found: Buffer | null = null;
  const reading = (async () => {
    for await (const entry of extract) {
      if (entry.header.type === 'file') {
        if ((entry.header.size ?? 0) > mostBytes) throw new TooLarge(`The file has more than ${mostBytes} bytes.`);
        const parts: Buffer[] = [];
        for await (const part of entry) parts.push(part as Buffer);
        found = Buffer.concat(parts);
      } else {
        entry.resume();
      }
    }
  })();
  await Promise.all([pipeline(archive, extract as unknown as NodeJS.WritableStream), reading]);
  return found;
}

export type CleanOptions = {
  /** Where the archive's first name goes, as an absolute path without the first `/`. */
  readonly target: string;
  readonly leaves?: Leaves;
  readonly mostBytes: number;
};

/**
 * Copies an archive that an agent's machine made, without what could do harm on another one: devices, pipes, links that
 * leave the archive, and set-uid bits. Names move from the archive's own first part to `target`.
 */
export function cleanArchive(
  archive: Readable,
  { target, leaves = () => false, mostBytes }: CleanOptions,
): { readonly stream: Readable; readonly refused: readonly string[] } {
  const extract = tar.extract();
  const pack = tar.pack();
  const refused: string[] = [];
  let bytes = 0;
  const copy = async (): Promise<void> => {
    for await (const entry of extract) {
      const { header } = entry;
      const below = withoutFirst(header.name);
      const moved = { ...header, name: below === '' ? target : `${target}/${below}`, uid: 0, gid: 0, pax: null };
      const isLeft = below !== '' && leaves(header.type === 'directory' ? `${below}/` : below);
      const isKept = !isLeft && isHarmless(header, below);
      if (!isKept && !isLeft) refused.push(header.name);
      if (!isKept || header.type !== 'file') {
        if (isKept) pack.entry({ ...moved, mode: (header.mode ?? 0o755) & 0o777, ...linkOf(header, target) });
        entry.resume();
        continue;
      }
      bytes += header.size ?? 0;
      if (bytes > mostBytes) throw new TooLarge(`The artifacts have more than ${mostBytes} bytes.`);
      await pipeline(entry as unknown as Readable, pack.entry({ ...moved, mode: (header.mode ?? 0o644) & 0o777 }));
    }
    pack.finalize();
  };
  const fail = (error: unknown): void => pack.destroy(error instanceof Error ? error : new Error(String(error)));
  pipeline(archive, extract as unknown as NodeJS.WritableStream).catch(fail);
  copy().catch(fail);
  return { stream: toNode(pack), refused };
}

const withoutFirst = (name: string): string =>
  path.posix
    .normalize(name)
    .replace(/\/$/, '')
    .replace(/^\.?\/*[^/]*\/?/, '');

function isHarmless({ type, linkname, name }: tar.Header, below: string): boolean {
  if (name.split('/').includes('..')) return false;
  if (type === 'file' || type === 'directory') return true;
  if (type === 'link') return typeof linkname === 'string' && !linkname.split('/').includes('..');
  return type === 'symlink' && typeof linkname === 'string' && below !== '' && staysInside(linkname, below);
}

/**
 * Whether a symlink at `below` stays in the archive. ".." may only come first: after a name, which may be another link,
 * it could lead anywhere.
 */
function staysInside(linkname: string, below: string): boolean {
  const [, up = '', rest = ''] = /^((?:\.{1,2}(?:\/+|$))*)(.*)$/s.exec(linkname) ?? [];
  if (rest.startsWith('/') || rest.split('/').includes('..')) return false;
  return isInside(path.posix.join(path.posix.dirname(below), up));
}

const isInside = (relative: string): boolean => relative !== '..' && !relative.startsWith('../');

function linkOf({ type, linkname }: tar.Header, target: string): { readonly linkname?: string } {
  if (type !== 'link' || typeof linkname !== 'string') return {};
  const below = withoutFirst(linkname);
  return { linkname: below === '' ? target : `${target}/${below}` };
}

/** Lists what an archive has. */
export async function listArchive(
  archive: Readable,
): Promise<readonly { readonly name: string; readonly type: tar.Header['type'] }[]> {
  const extract = tar.extract();
  const found: { readonly name: string; readonly type: tar.Header['type'] }[] = [];
  const reading = (async () => {
    for await (const entry of extract) {
      if (found.length < 1000) found.push({ name: entry.header.name, type: entry.header.type });
      entry.resume();
    }
  })();
  await Promise.all([pipeline(archive, extract as unknown as NodeJS.WritableStream), reading]);
  return found;
}
