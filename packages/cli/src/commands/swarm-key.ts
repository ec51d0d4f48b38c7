import { closeSync, openSync, readFileSync } from 'node:fs';
import { ConfigError, toErrorMessage } from '@agentjet/core';
import { hideVariable } from './hide-variable.js';

export type SwarmKeyFlags = { readonly keys?: boolean; readonly keyFile?: string };

const variable = 'AJET_SWARM_KEY';

/**
 * Reads the key of the swarm once, from `--key-file` or AJET_SWARM_KEY, and removes it from the environment of this
 * process. There is no option for the key itself, because every user of the machine can read the command line.
 */
export function takeSwarmKey({ keys, keyFile }: SwarmKeyFlags, warn: (message: string) => void): string | undefined {
  const given = process.env[variable];
  const isHidden = hideVariable(variable);
  const key = keyFile === undefined ? given : readKeyFile(keyFile);
  if (key === undefined || key === '') {
    if (keys === false) return undefined;
    throw new ConfigError(
      'no_key',
      "There is no key. Put a worker's key into the environment variable AJET_SWARM_KEY or into a file for --key-file, or pass --no-keys if the server needs no key.",
    );
  }
  if (!isHidden)
    warn(
      'On this system, programs can read AJET_SWARM_KEY from the environment of this process. Leave it unset, and use --key-file.',
    );
  return key;
}

/** Reads a file, or standard input for `-`. Closes it, because agents can see the open files of this process. */
function readKeyFile(file: string): string {
  try {
    const key = readFileSync(file === '-' ? 0 : file, 'utf8').trim();
    if (file === '-' && process.platform !== 'win32') {
      closeSync(0);
      openSync('/dev/null', 'r'); // gets the descriptor of standard input
    }
    if (key !== '') return key;
  } catch (error) {
    throw new ConfigError('no_key', `--key-file ${file} cannot be read: ${toErrorMessage(error)}.`, { cause: error });
  }
  throw new ConfigError('no_key', `--key-file ${file} is empty. It must contain a worker's key.`);
}
