import { createReadStream } from 'node:fs';
import { appendFile, open } from 'node:fs/promises';
import { BackboneError, parseJsonObject, replaceFile, codeOfError } from '@agentjet/core';
import { reading } from './file-error.js';
import { readRegularFile } from './read-regular-file.js';

/** Reads a file of JSON objects, one per line. A last line without an end, which a killed writer left, is ignored. */
export async function readJsonLines(file: string): Promise<Record<string, unknown>[]> {
  return completeLines(await readTextFile(file)).map((line, index) => parseLine(line, `${file}:${index + 1}`));
}

function parseLine(line: string, place: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch (cause) {
    throw new BackboneError(
      'run_folder',
      `${place} is not JSON: ${JSON.stringify(line.slice(0, 80))}. Remove that line.`,
      { cause },
    );
  }
}

export async function appendJsonLine(file: string, value: unknown): Promise<void> {
  await appendFile(file, `${JSON.stringify(value)}\n`);
}

/**
 * The result of cutting a file to complete records. `broken`: how many removed lines were not JSON objects. `torn`:
 * whether an incomplete last line was removed.
 */
export type KeptLines = { readonly broken: number; readonly torn: boolean };

/**
 * Keeps the lines for which `keep` is true, unchanged, in one atomic write. It writes nothing if it keeps all lines. An
 * incomplete last line and lines that are not JSON objects are also removed.
 */
export async function filterJsonLines(
  file: string,
  keep: (value: Record<string, unknown>) => boolean,
): Promise<KeptLines> {
  const text = await readTextFile(file);
  let broken = 0;
  const kept = completeLines(text).filter((line) => {
    const value = parseJsonObject(line);
    if (value === undefined) broken++;
    return value !== undefined && keep(value);
  });
  const result = kept.map((line) => `${line}\n`).join('');
  if (result !== text) await replaceFile(file, result);
  return { broken, torn: !text.endsWith('\n') && text !== '' };
}

/** A complete line: its position in the file, and its beginning. */
export type LineBeginning = { readonly start: number; readonly end: number; readonly beginning: string };

/** Returns the complete lines of a file with the first `length` bytes of each, without keeping or parsing the rest. */
export async function* readLineBeginnings(file: string, length: number): AsyncGenerator<LineBeginning> {
  let offset = 0;
  let start = 0;
  let beginning = Buffer.alloc(0);
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    for (let from = 0; from < chunk.length; ) {
      const lineEnd = chunk.indexOf(newline, from);
      const end = lineEnd === -1 ? chunk.length : lineEnd;
      if (beginning.length < length)
        beginning = Buffer.concat([beginning, chunk.subarray(from, Math.min(end, from + length - beginning.length))]);
      from = end + 1;
      if (lineEnd === -1) continue;
      yield { start, end: offset + end, beginning: beginning.toString() };
      start = offset + from;
      beginning = Buffer.alloc(0);
    }
    offset += chunk.length;
  }
}

const newline = 10;

/** Returns the parsed line at this position of the file. */
export async function readJsonLineAt(file: string, { start, end }: LineBeginning): Promise<Record<string, unknown>> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
    return JSON.parse(buffer.toString()) as Record<string, unknown>;
  } finally {
    await handle.close();
  }
}

function completeLines(text: string): string[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
}

/**
 * Reads a text file. Returns an empty string if the file does not exist. Throws BackboneError `run_folder` if it cannot
 * be read.
 */
export function readTextFile(file: string): Promise<string> {
  return reading(file, async () => {
    try {
      return await readRegularFile(file);
    } catch (thrown) {
      if (codeOfError(thrown) === 'ENOENT') return '';
      throw thrown;
    }
  });
}
