import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { TaskError, toErrorMessage } from '@agentjet/core';

/** A file is read whole; more than this does not fit into memory with what is made of it. */
const mostBytes = 2 ** 30;
const mostLineBytes = 64 * 2 ** 20;

const newline = 10;

/** How files begin that are no text in UTF-8, and what to do about them. */
const beginnings: readonly (readonly [bytes: readonly number[], problem: string])[] = [
  [[0x1f, 0x8b], 'is compressed with gzip. Unpack it: gunzip <file>'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'is compressed with zstd. Unpack it: unzstd <file>'],
  [[0x50, 0x4b, 0x03, 0x04], 'is a zip archive. Unpack it'],
  [[0x50, 0x41, 0x52, 0x31], 'is a Parquet file. Save its rows as JSON Lines'],
  [[0xff, 0xfe], 'is UTF-16. Save it as UTF-8'],
  [[0xfe, 0xff], 'is UTF-16. Save it as UTF-8'],
];

/** The lines of a file in UTF-8 with their numbers, from 1, without those that are blank. Throws TaskError with file and line. */
export async function* readTextLines(file: string): AsyncGenerator<readonly [line: number, text: string]> {
  await checkFile(file);
  let number = 0;
  for await (const bytes of readLines(file)) {
    if (number === 0) checkBeginning(file, bytes);
    // A carriage return ends a line as well: old editors write nothing else.
    for (const raw of decode(bytes, `${file}:${number + 1}`).split(/\r(?!$)/)) {
      number++;
      const text = raw.trim();
      if (text !== '') yield [number, text];
    }
  }
}

/** Devices and pipes have no end, or make the reader wait for ever. */
async function checkFile(file: string): Promise<void> {
  const entry = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (!entry.isFile())
    throw new TaskError(
      'unreadable_file',
      `Task file ${file} is ${entry.isDirectory() ? 'a folder' : 'a device or a pipe'}. Name a file with one JSON object per line.`,
    );
  if (entry.size > mostBytes)
    throw new TaskError(
      'unreadable_file',
      `Task file ${file} has ${entry.size} bytes; a task file may have ${mostBytes}. Give its tasks through a reader that yields them one by one (task_reader.type: customized_protocol).`,
    );
}

async function* readLines(file: string): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  let lines = 0;
  for await (const chunk of readChunks(file)) {
    for (let from = 0; from < chunk.length; ) {
      const found = chunk.indexOf(newline, from);
      const piece = chunk.subarray(from, found === -1 ? chunk.length : found);
      pieces.push(piece);
      length += piece.length;
      if (length > mostLineBytes) throw tooLong(`${file}:${lines + 1}`);
      if (found === -1) break;
      yield Buffer.concat(pieces);
      [pieces, length, from] = [[], 0, found + 1];
      lines++;
    }
  }
  if (length > 0) yield Buffer.concat(pieces);
}

async function* readChunks(file: string): AsyncGenerator<Buffer> {
  const stream = createReadStream(file, { highWaterMark: 1 << 20 });
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    throw error instanceof TaskError ? error : unreadable(file, error);
  } finally {
    stream.destroy();
  }
}

function checkBeginning(file: string, bytes: Uint8Array): void {
  const found = beginnings.find(([beginning]) => beginning.every((byte, at) => bytes[at] === byte));
  if (found !== undefined) throw new TaskError('unreadable_file', `Task file ${file} ${found[1]}.`);
  if (bytes.subarray(0, 1024).includes(0))
    throw new TaskError(
      'unreadable_file',
      `Task file ${file} holds zero bytes: it is not text, or text in UTF-16. Save it as UTF-8.`,
    );
}

/** A byte order mark at the beginning goes. */
function decode(bytes: Uint8Array, where: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new TaskError('unreadable_file', `${where}: not UTF-8. Save the file as UTF-8.`, { cause });
  }
}

function tooLong(where: string): TaskError {
  return new TaskError(
    'bad_json',
    `${where}: the line is longer than ${mostLineBytes} bytes. A task file holds one JSON object per line.`,
  );
}

function unreadable(file: string, error: unknown): TaskError {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const message = isMissing
    ? `Task file ${file} does not exist. Check task_reader.jsonl_dataset_file.`
    : `Task file ${file} cannot be read: ${toErrorMessage(error)}`;
  return new TaskError(isMissing ? 'missing_file' : 'unreadable_file', message, { cause: error });
}
