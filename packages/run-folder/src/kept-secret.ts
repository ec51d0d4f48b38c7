import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { AgentJetError } from '@agentjet/core';

/**
 * Returns the secret of 64 hex digits in a file that only its owner can read (mode 600). The file is made if it is
 * missing. `ifRemoved` describes the effect of removing the file. Throws AgentJetError `bad_secret` if the file
 * contains anything else.
 */
export function keptSecret(file: string, ifRemoved: string): string {
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
  const secret = readFileSync(file, 'utf8').trim();
  if (/^[0-9a-f]{64}$/.test(secret)) return secret;
  throw new AgentJetError('bad_secret', `${file} does not contain 64 hex digits. Remove it: ${ifRemoved}`);
}
