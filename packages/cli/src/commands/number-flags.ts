import { ConfigError } from 'agentjet';

/** Reads numbers of the command line. */

export function toNumber(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new ConfigError('wrong_type', `${flag} is ${JSON.stringify(text)}, not a number.`);
}

/** Reads `--tasks`. */
export function toCount(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 100_000) return value;
  throw new ConfigError('wrong_type', `--tasks is ${JSON.stringify(text)}, not a number of tasks such as 32.`);
}
