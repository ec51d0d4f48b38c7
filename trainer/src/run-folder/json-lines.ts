import { createReadStream } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { replaceFile } from './replace-file.js';

/** A file of JSON objects, one per line. A last line without an end, left by a killed writer, is not there. */
export async function readJsonLines(file: string): Promise<Record<string, unknown>[]> {
  const lines = completeLines(await readTextFile(file));
  return lines.map((line, index) => {
    try {
      return JSON.parse(line) as Record<string, unknown>;
    } catch (cause) {
      throw new Error(`${file}:${index + 1} is not JSON: ${line.slice(0, 80)}`, { cause });
    }
  });
}

export async function appendJsonLine(file: string, value: unknown): Promise<void> {
  await appendFile(file, `${JSON.stringify(value)}\n`);
}

/** Keeps the lines that `keep` wants, as they are, in one atomic write; does nothing where it wants all. */
export async function filterJsonLines(file: string, keep: (value: Record<string, unknown>) => boolean): Promise<void> {
  const text = await readTextFile(file);
  const kept = completeLines(text).filter((line) => keep(JSON.parse(line) as Record<string, unknown>));
  const result = kept.map((line) => `${line}\n`).join('');
  if (result !== text) await replaceFile(file, result);
}

/** The first line that `matches`, parsed, reading no further than it. */
export async function findJsonLine(file: string, matches: (line: string) => boolean): Promise<Record<string, unknown> | undefined> {
  const input = createReadStream(file, 'utf8');
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      if (matches(line)) return JSON.parse(line) as Record<string, unknown>;
    }
    return undefined;
  } finally {
    input.destroy();
  }
}

function completeLines(text: string): string[] {
  return text.slice(0, text.lastIndexOf('\n') + 1).split('\n').slice(0, -1);
}

async function readTextFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return '';
    throw thrown;
  }
}
