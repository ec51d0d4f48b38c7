import { endOfString, TaskError, toErrorMessage } from '@agentjet/core';

/** The maximum depth of a value. Deeper values cannot be written into the records of an episode. */
const mostDepth = 500;

/**
 * Parses the JSON value of one row. Whole numbers beyond 2^53 become strings, because a double cannot represent them. Throws
 * TaskError for text that is not JSON, and for values that are nested too deep.
 */
export function parseRow(text: string, where: () => string): unknown {
  const value = parse(text, where);
  // Text of n characters cannot be nested more than n/2 deep.
  if (text.length > 2 * mostDepth && isDeeper(value, mostDepth))
    throw new TaskError(
      'bad_task',
      `${where()}: the task is nested more than ${mostDepth} levels deep. Make it flatter.`,
    );
  return value;
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  return Object.values(value).some((inner) => isDeeper(inner, depth - 1));
}

function parse(text: string, where: () => string): unknown {
  try {
    return JSON.parse(/\d{16}/.test(text) ? quoteLongIntegers(text) : text);
  } catch (error) {
    throw new TaskError(
      'bad_json',
      `${where()}: not JSON: ${toErrorMessage(error)}. The line starts with ${JSON.stringify(text.slice(0, 60))}.`,
      { cause: error },
    );
  }
}

const numbers = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const quoteLong = (token: string): string =>
  /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token;

/** Strings are skipped by hand, because a regular expression runs out of stack in a string of several megabytes. */
function quoteLongIntegers(text: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const opens = quote === -1 ? text.length : quote;
    parts.push(text.slice(at, opens).replace(numbers, quoteLong));
    at = Math.min(endOfString(text, opens) + 1, text.length);
    parts.push(text.slice(opens, at));
  }
  return parts.join('');
}
