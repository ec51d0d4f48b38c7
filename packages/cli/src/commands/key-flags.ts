import { ConfigError } from '@agentjet/core';
import type { SwarmOperator } from '@agentjet/swarm-client';
import { toNumbers } from './read-flags.js';

type KeyRequest = Parameters<SwarmOperator['makeKey']>[0];

/** Reads `--reward-bounds -1,1`. */
export function readBounds(text: string | undefined): Pick<KeyRequest, 'reward_bounds'> {
  if (text === undefined) return {};
  const [least, most, ...others] = toNumbers(text, '--reward-bounds');
  if (least !== undefined && most !== undefined && others.length === 0) return { reward_bounds: [least, most] };
  throw new ConfigError('wrong_type', `--reward-bounds is ${JSON.stringify(text)}. Give two numbers, such as -1,1.`);
}

const names = ['requests_per_second', 'bytes_per_second', 'metadata_bytes', 'metric_names', 'event_streams'] as const;

/** Reads `--limits requests_per_second=10,metric_names=20`. */
export function readLimits(text: string | undefined): Pick<KeyRequest, 'limits'> {
  if (text === undefined) return {};
  const limits = text.split(',').map((part) => {
    const [given = '', value = ''] = part.split('=').map((word) => word.trim());
    const name = names.find((each) => each === given);
    if (name !== undefined && /^[1-9]\d*$/.test(value)) return [name, Number(value)] as const;
    throw new ConfigError(
      'wrong_type',
      `--limits has ${JSON.stringify(part)}. Give <name>=<number> with a whole number; the names are ${names.join(', ')}.`,
    );
  });
  return { limits: Object.fromEntries(limits) };
}
