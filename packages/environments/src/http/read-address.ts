import { ConfigError } from '@agentjet/core';

/** The address without a slash at its end. Throws ConfigError naming the key, the value and the repair. */
export function readAddress(value: string | null, key: string, example: string): string {
  const protocols = example.startsWith('ws') ? /^(https?|wss?):$/ : /^https?:$/;
  if (value !== null && URL.canParse(value) && protocols.test(new URL(value).protocol))
    return value.replace(/\/+$/, '');
  throw new ConfigError('bad_address', `${key} is ${JSON.stringify(value)}. Give an address such as ${example}.`);
}
