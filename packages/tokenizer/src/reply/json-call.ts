import { isJsonObject, parseJsonObject } from '@agentjet/core';

/** Reads a tool call from JSON and keeps the arguments exactly as they were written. */

export type WrittenCall = { readonly name: string; readonly arguments: string };

/** Returns the index after the string literal that opens at `start`, or -1 if it does not close. */
function skipString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    if (text[index] === '\\') index++;
    else if (text[index] === '"') return index + 1;
  }
  return -1;
}

/**
 * Returns the index after the JSON object that opens at `start`, or -1 if the object does not close. It only matches
 * brackets and strings.
 */
export function findObjectEnd(text: string, start: number): number {
  const scanner = createJsonScanner();
  for (let index = start; index < text.length; index++) {
    scanner.step(text.charAt(index));
    if (scanner.depth === 0) return index + 1;
  }
  return -1;
}

function skipSpace(text: string, start: number): number {
  let index = start;
  while (/\s/.test(text[index] ?? '')) index++;
  return index;
}

/** Returns the index after the value that starts at `start`. The text must be valid JSON. */
function skipValue(text: string, start: number): number {
  const opening = text[start];
  if (opening === '"') return skipString(text, start);
  if (opening === '{' || opening === '[') return findObjectEnd(text, start);
  let index = start;
  while (/[^\s,}\]]/.test(text[index] ?? ' ')) index++;
  return index;
}

/**
 * Returns the source of the last top-level value under `key`, which is the value that JSON.parse chooses. `text` is a
 * valid JSON object.
 */
function sliceValue(text: string, key: string): string | undefined {
  let found: string | undefined;
  let index = skipSpace(text, text.indexOf('{') + 1);
  while (text[index] === '"') {
    const keyEnd = skipString(text, index);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = skipValue(text, valueStart);
    if (JSON.parse(text.slice(index, keyEnd)) === key) found = text.slice(valueStart, valueEnd);
    index = skipSpace(text, skipSpace(text, valueEnd) + 1);
  }
  return found;
}

/**
 * Returns the call in `text`. `text` must be one JSON object with a `name` and an object under one of `argumentKeys`;
 * otherwise the result is undefined.
 */
export function readCall(text: string, argumentKeys: readonly string[]): WrittenCall | undefined {
  const parsed = parseJsonObject(text);
  if (parsed === undefined || typeof parsed['name'] !== 'string' || parsed['name'] === '') return undefined;
  const key = argumentKeys.find((candidate) => isJsonObject(parsed[candidate]));
  const written = key === undefined ? undefined : sliceValue(text, key);
  return written === undefined ? undefined : { name: parsed['name'], arguments: written };
}

/** Reads JSON character by character. The text may come in pieces, and each piece is read once. */
export type JsonScanner = {
  /** Reads one more character. Only quotes and brackets are matched. */
  step(character: string): void;
  readonly isInString: boolean;
  /** Number of open brackets. */
  readonly depth: number;
};

export function createJsonScanner(): JsonScanner {
  let isInString = false;
  let isEscaped = false;
  let depth = 0;
  return {
    step(character) {
      if (isEscaped) isEscaped = false;
      else if (isInString && character === '\\') isEscaped = true;
      else if (character === '"') isInString = !isInString;
      else if (!isInString && (character === '{' || character === '[')) depth++;
      else if (!isInString && (character === '}' || character === ']')) depth--;
    },
    get isInString() {
      return isInString;
    },
    get depth() {
      return depth;
    },
  };
}
