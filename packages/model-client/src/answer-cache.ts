import { createHash } from 'node:crypto';
import { appendFile, mkdir, readFile, truncate } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject } from '@agentjet/core';
import type { ModelAnswer } from './model-client.js';

/**
 * Answers on disk, one JSON object per line, by the hash of the whole question. A line that a kill cut short is cut away when the
 * file is opened. A file that holds anything else is left alone, with an error.
 */
export class AnswerCache {
  readonly #file: string;
  readonly #answers: Map<string, ModelAnswer>;

  private constructor(file: string, answers: Map<string, ModelAnswer>) {
    this.#file = file;
    this.#answers = answers;
  }

  static async open(file: string): Promise<AnswerCache> {
    await mkdir(path.dirname(file), { recursive: true });
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
      throw error;
    });
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const answers = new Map<string, ModelAnswer>();
    for (const [at, line] of whole.split('\n').slice(0, -1).entries()) {
      const entry = readLine(line);
      if (entry === null)
        throw new Error(`${file}:${at + 1} is not an answer of a model. Move the file away; it is not changed.`);
      answers.set(entry.key, entry.answer);
    }
    if (whole.length < text.length) await truncate(file, Buffer.byteLength(whole));
    return new AnswerCache(file, answers);
  }

  get(key: string): ModelAnswer | undefined {
    return this.#answers.get(key);
  }

  /** Resolves once the answer is written. */
  async set(key: string, answer: ModelAnswer): Promise<void> {
    this.#answers.set(key, answer);
    await appendFile(this.#file, `${JSON.stringify({ key, answer })}\n`);
  }
}

/** The same question has the same key: every field of it, in any order of properties. */
export function keyOf(question: object): string {
  return createHash('sha256').update(canonical(question)).digest('hex');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return `{${entries
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`)
    .join(',')}}`;
}

function readLine(line: string): { readonly key: string; readonly answer: ModelAnswer } | null {
  try {
    const value: unknown = JSON.parse(line);
    if (!isJsonObject(value) || typeof value['key'] !== 'string' || !isJsonObject(value['answer'])) return null;
    const { text, finishReason, promptTokens, completionTokens } = value['answer'];
    if (typeof text !== 'string' || typeof finishReason !== 'string') return null;
    if (typeof promptTokens !== 'number' || typeof completionTokens !== 'number') return null;
    return { key: value['key'], answer: { text, finishReason, promptTokens, completionTokens } };
  } catch {
    return null;
  }
}
