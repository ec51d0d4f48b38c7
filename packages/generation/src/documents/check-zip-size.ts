import { inflateRawSync } from 'node:zlib';
import { codeOfError } from '@agentjet/core';

/** The maximum size of a document when it is unpacked. Documents for people are smaller. */
const mostBytes = 256 * 2 ** 20;

const directoryEnd = 0x06054b50;
const directoryEntry = 0x02014b50;
const deflated = 8;

/**
 * Throws an error for a ZIP archive whose entries unpack to more than a document may have. The entries are unpacked to
 * measure them, because an archive may declare a smaller size. A file that is not such an archive is ignored here,
 * because the reader of the document reports it.
 */
export function checkZipSize(bytes: Uint8Array): void {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let left = mostBytes;
  for (const { packed, method } of listEntries(zip)) {
    left -= method === deflated ? inflatedSize(packed, left) : packed.length;
    if (left < 0) throw tooLarge();
  }
}

function inflatedSize(packed: Buffer, most: number): number {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, most) }).length;
  } catch (error) {
    if (codeOfError(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    return 0; // the entry is broken, and the reader of the document reports that
  }
}

function* listEntries(zip: Buffer): Generator<{ readonly packed: Buffer; readonly method: number }> {
  const end = zip.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'));
  if (end === -1 || end + 22 > zip.length || zip.readUInt32LE(end) !== directoryEnd) return;
  let at = zip.readUInt32LE(end + 16);
  while (at + 46 <= zip.length && zip.readUInt32LE(at) === directoryEntry) {
    const start = zip.readUInt32LE(at + 42);
    if (start + 30 > zip.length) return;
    const data = start + 30 + zip.readUInt16LE(start + 26) + zip.readUInt16LE(start + 28);
    yield { method: zip.readUInt16LE(at + 10), packed: zip.subarray(data, data + zip.readUInt32LE(at + 20)) };
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
}

function tooLarge(): Error {
  return new Error(`it unpacks to more than ${mostBytes} bytes`);
}
