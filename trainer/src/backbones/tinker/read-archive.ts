import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { BackboneError } from '@agentjet/core';

const blockSize = 512;

/**
 * Returns the plain files of a tar, gzipped or not, by their names without folders, so no file can be written outside
 * of the target folder. Throws BackboneError `protocol` for a file that is cut off or has no tar header.
 */
export function readArchive(archive: Uint8Array): ReadonlyMap<string, Buffer> {
  const tar =
    archive[0] === 0x1f && archive[1] === 0x8b
      ? gunzipSync(archive)
      : Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const files = new Map<string, Buffer>();
  for (let at = 0; at + blockSize <= tar.length && tar[at] !== 0; ) {
    const header = tar.subarray(at, at + blockSize);
    const size = readSize(header);
    const start = at + blockSize;
    if (header.toString('latin1', 257, 262) !== 'ustar' || !(start + size <= tar.length))
      throw new BackboneError('protocol', `The archive of ${archive.length} bytes is not a complete tar.`);
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === '0' || type === '\0') files.set(readName(header), tar.subarray(start, start + size));
    at = start + Math.ceil(size / blockSize) * blockSize;
  }
  return files;
}

function readName(header: Buffer): string {
  return path.posix.basename(header.toString('utf8', 0, 100).replace(/\0.*$/s, ''));
}

/** Reads a number, which is octal. Numbers of 8 GiB and more are binary, and their highest bit is 1. */
function readSize(header: Buffer): number {
  if (((header[124] ?? 0) & 0x80) !== 0) return Number(header.readBigUInt64BE(128));
  return Number.parseInt(header.toString('latin1', 124, 136), 8);
}
