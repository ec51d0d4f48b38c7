import { inflateSync } from 'node:zlib';
import { codeOfError } from '@agentjet/core';

/**
 * The limit for each picture, and for all other streams together. Only the other streams are unpacked to read the text.
 */
const mostBytes = 256 * 2 ** 20;
/** The maximum number of layers. A stream may be compressed several times. */
const mostLayers = 8;
/** The dictionary of a stream is expected within this number of bytes before the stream. */
const dictionaryBytes = 2048;

/**
 * Throws an error for a PDF whose streams unpack to more than a document may have. The streams are unpacked to measure
 * them, because a file may declare a smaller size. A stream that cannot be unpacked is ignored here, because the reader
 * of the document reports it.
 */
export function checkPdfSize(bytes: Uint8Array): void {
  const pdf = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let left = mostBytes;
  for (const { packed, isPicture } of listStreams(pdf)) {
    const size = unpackedSize(packed, isPicture ? mostBytes : left);
    if (!isPicture) left -= size;
  }
}

function* listStreams(pdf: Buffer): Generator<{ readonly packed: Buffer; readonly isPicture: boolean }> {
  for (let at = pdf.indexOf('stream'); at !== -1; at = pdf.indexOf('stream', at + 6)) {
    if (pdf.subarray(at - 3, at).toString('latin1') === 'end') continue;
    const start = at + (pdf[at + 6] === 0x0d ? 8 : 7);
    const before = pdf.subarray(Math.max(0, at - dictionaryBytes), at).toString('latin1');
    const dictionary = before.slice(before.lastIndexOf(' obj') + 1);
    yield { packed: pdf.subarray(start), isPicture: /\/Subtype\s*\/Image\b/.test(dictionary) };
  }
}

/** Returns the size of all layers in bytes. */
function unpackedSize(packed: Buffer, most: number): number {
  let size = 0;
  let layer = packed;
  for (let layers = 0; layers < mostLayers && isZlib(layer); layers++) {
    layer = inflate(layer, most - size);
    size += layer.length;
  }
  return size;
}

const isZlib = (bytes: Buffer): boolean =>
  bytes.length > 2 && (bytes[0] ?? 0) % 16 === 8 && bytes.readUInt16BE(0) % 31 === 0;

/** Unpacks one layer. Ignores data after the compressed bytes. */
function inflate(packed: Buffer, most: number): Buffer {
  try {
    return inflateSync(packed, { maxOutputLength: Math.max(1, most) });
  } catch (error) {
    if (codeOfError(error) === 'ERR_BUFFER_TOO_LARGE')
      throw new Error(`it unpacks to more than ${mostBytes} bytes`, { cause: error });
    return Buffer.alloc(0); // the stream is broken, and the reader of the document reports that
  }
}
