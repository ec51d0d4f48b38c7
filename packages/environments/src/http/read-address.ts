import { ConfigError } from '@agentjet/core';

/** Returns the address without a trailing slash. Throws ConfigError with the key, the value and the repair. */
export function readAddress(value: string | null, key: string, example: string): string {
  const protocols = example.startsWith('ws') ? /^(https?|wss?):$/ : /^https?:$/;
  if (value !== null && URL.canParse(value) && protocols.test(new URL(value).protocol))
    return value.replace(/\/+$/, '');
  throw new ConfigError('bad_address', `${key} is ${JSON.stringify(value)}. Give an address such as ${example}.`);
}
