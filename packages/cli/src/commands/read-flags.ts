import { ConfigError } from '@agentjet/core';

/** Reads the values of flags. Every function throws a ConfigError that names the flag, its value and what it takes. */

type Range = { readonly least?: number; readonly most?: number };

export function toNumber(text: string, flag: string, range: Range = {}): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return checkRange(value, `${flag} is ${JSON.stringify(text)}, not a number`, range);
}

export function toWhole(text: string, flag: string, range: Range = {}): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return checkRange(value, `${flag} is ${JSON.stringify(text)}, not a whole number`, { least: 0, ...range });
}

function checkRange(value: number, problem: string, { least = -Infinity, most = Infinity }: Range): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  const from = least === -Infinity ? '' : ` from ${least}`;
  throw new ConfigError('wrong_type', `${problem}${from}${most === Infinity ? '' : ` to ${most}`}.`);
}

/** Reads a port. 0 means any free port. */
export const toPort = (text: string, flag = '--port'): number => toWhole(text, flag, { most: 65_535 });

/** Reads `--step`, the number of a step. */
export const readStep = (text: string): number => toWhole(text, '--step');

/** Reads numbers with commas between them, such as 0.7,0.5. */
export const toNumbers = (text: string, flag: string, range?: Range): readonly number[] =>
  text.split(',').map((part) => toNumber(part, flag, range));

export function toChoice<const Value extends string>(text: string, flag: string, values: readonly Value[]): Value {
  const value = values.find((each) => each === text);
  if (value !== undefined) return value;
  throw new ConfigError('wrong_value', `${flag} is ${JSON.stringify(text)}, not one of: ${values.join(', ')}.`);
}

/** Returns the flag of an option: `maxTokens` is `--max-tokens`. */
export const toFlag = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
