import { appendFile, mkdir, readFile, truncate } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, parseJsonObject, type JsonObject, sha256, codeOfError } from '@agentjet/core';

/**
 * Keeps answers on disk, one JSON object per line, by the hash of the whole question. If a kill truncated the last
 * line, that line is removed when the file is opened. A file with any other content causes an error and is not changed.
 */
export class AnswerCache<Answer extends object> {
  readonly #file: string;
  readonly #answers: Map<string, Answer>;

  private constructor(file: string, answers: Map<string, Answer>) {
    this.#file = file;
    this.#answers = answers;
  }

  /** `read` converts a kept value to an answer, or returns null. */
  static async open<Kept extends object>(
    file: string,
    read: (value: JsonObject) => Kept | null,
  ): Promise<AnswerCache<Kept>> {
    await mkdir(path.dirname(file), { recursive: true });
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (codeOfError(error) === 'ENOENT') return '';
      throw error;
    });
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const answers = new Map<string, Kept>();
    for (const [at, line] of whole.split('\n').slice(0, -1).entries()) {
      const entry = readLine(line, read);
      if (entry === null)
        throw new Error(`${file}:${at + 1} is not an answer of a model. Move the file away; it is not changed.`);
      answers.set(entry.key, entry.answer);
    }
    if (whole.length < text.length) await truncate(file, Buffer.byteLength(whole));
    return new AnswerCache(file, answers);
  }

  get(key: string): Answer | undefined {
    return this.#answers.get(key);
  }

  /** Resolves once the answer is written. */
  async set(key: string, answer: Answer): Promise<void> {
    this.#answers.set(key, answer);
    await appendFile(this.#file, `${JSON.stringify({ key, answer })}\n`);
  }
}

/**
 * Returns the key of a question. It covers every field and does not depend on the order of properties, so equal
 * questions have the same key.
 */
export function keyOf(question: object): string {
  return sha256(canonical(question));
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

function readLine<Kept>(
  line: string,
  read: (value: JsonObject) => Kept | null,
): { readonly key: string; readonly answer: Kept } | null {
  const { key, answer: value } = parseJsonObject(line) ?? {};
  const answer = isJsonObject(value) ? read(value) : null;
  return typeof key === 'string' && answer !== null ? { key, answer } : null;
}
