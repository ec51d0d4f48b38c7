import { createHash } from 'node:crypto';
import { isJsonObject } from '@agentjet/core';
import { answer, word } from './programs.js';
import type { Exchange } from './recorder.js';

/**
 * The requests of a program in an episode. The texts belong to the program's makers, so only their lengths and hashes
 * are kept. Equal texts have equal hashes. An id from an earlier answer becomes a name such as `<answer 0.2>`, the
 * second id of the first answer.
 */
export type Transcript = {
  readonly package: string;
  readonly version: string;
  readonly requests: readonly { readonly path: string; readonly body: unknown }[];
};

export function toRequests(exchanges: readonly Exchange[]): Transcript['requests'] {
  const names = new Map<string, string>();
  return exchanges.map(({ path, body, answer: said }, index) => {
    const request = { path, body: abridge(JSON.parse(body), names) };
    for (const [place, id] of readIds(said).entries()) if (!names.has(id)) names.set(id, `<answer ${index}.${place}>`);
    return request;
  });
}

/** Returns the body with the ids that the answers of this episode gave. */
export function fillIds(body: unknown, answers: readonly string[]): unknown {
  const ids = answers.map(readIds);
  const fill = (text: string): string =>
    text.replaceAll(/<answer (\d+)\.(\d+)>/g, (name, index, place) => ids[Number(index)]?.[Number(place)] ?? name);
  return mapStrings(body, fill);
}

/** Returns every id in an answer, streamed or whole, in the order in which they come first. */
function readIds(said: string): readonly string[] {
  const found = said.matchAll(/"(?:id|call_id)":"([^"]+)"/g);
  return [...new Set([...found].map(([, id = '']) => id))];
}

const longestKept = 60;

function abridge(body: unknown, names: ReadonlyMap<string, string>): unknown {
  return mapStrings(body, (text, key) => {
    const named = names.get(text);
    if (named !== undefined) return named;
    if (text === answer || (key !== 'description' && text.length <= longestKept)) return text;
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
    return `${text.length} characters, ${hash}${text.includes(word) ? `, ${word}` : ''}`;
  });
}

/**
 * Returns the same value with other strings. `key` is the name of the property that holds the string, or that holds the
 * list with the string.
 */
function mapStrings(value: unknown, change: (text: string, key: string) => string, key = ''): unknown {
  if (typeof value === 'string') return change(value, key);
  if (Array.isArray(value)) return value.map((entry) => mapStrings(entry, change, key));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, mapStrings(entry, change, name)]));
}
