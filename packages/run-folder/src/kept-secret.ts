import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { AgentJetError } from '@agentjet/core';

/**
 * The secret of 64 hex digits that a file keeps for its owner alone (mode 600); it is made if need be. `ifRemoved` says what removing the
 * file costs. Throws AgentJetError `bad_secret` if the file holds something else.
 */
export function keptSecret(file: string, ifRemoved: string): string {
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
  const secret = readFileSync(file, 'utf8').trim();
  if (/^[0-9a-f]{64}$/.test(secret)) return secret;
  throw new AgentJetError('bad_secret', `${file} does not hold 64 hex digits. Remove it: ${ifRemoved}`);
}
