import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';

export type TranscriptLine = {
  /** The number of the line, from 1. */
  readonly number: number;
  /** Undefined if its bytes are not UTF-8. */
  readonly text: string | undefined;
};

/**
 * Yields the lines of a file that are not blank. Only a line feed ends a line, because a JSON string may contain
 * U+2028, and `node:readline` treats it as a line end since Node 24. `onBytes` gets the whole file, piece by piece.
 */
export async function* readTranscriptLines(
  file: string,
  onBytes: (bytes: Uint8Array) => void,
): AsyncGenerator<TranscriptLine> {
  let number = 0;
  let pieces: Buffer[] = [];
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    onBytes(chunk);
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const line = toLine(++number, Buffer.concat([...pieces, chunk.subarray(from, end)]));
      [pieces, from] = [[], end + 1];
      if (line.text !== '') yield line;
    }
    pieces.push(chunk.subarray(from));
  }
  const last = toLine(number + 1, Buffer.concat(pieces));
  if (last.text !== '') yield last;
}

function toLine(number: number, bytes: Buffer): TranscriptLine {
  if (!isUtf8(bytes)) return { number, text: undefined };
  const text = bytes.toString('utf8');
  return { number, text: (number === 1 ? text.replace(/^\uFEFF/, '') : text).trim() };
}
