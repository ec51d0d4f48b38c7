import { ConfigError } from '@agentjet/core';

/** Reads the port that an option gives. 0 means any free port. Throws ConfigError `wrong_type`, which names the option. */
export function toPort(text: string, option = '--port'): number {
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new ConfigError('wrong_type', `${option} is ${JSON.stringify(text)}, not a number from 0 to 65535.`);
}
