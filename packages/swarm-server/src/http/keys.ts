import { randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256 } from '@agentjet/core';
import { isSameSecret } from '@agentjet/core/servers';
import type { LedgerState } from '@agentjet/ledger';
import { roles, WireError, type KeyAnswer, type KeyLimits, type KeyRequest, type Role } from '@agentjet/swarm-wire';

/**
 * Keys `ajk_<role>_<id>_<secret>` with 256 random bits. Only their hashes are kept, in the ledger, so that the keys are
 * still valid after a restart. A commander may do everything, a worker claims and ends episodes, and an observer reads.
 */

/** The stored part of a key. */
export type StoredKey = {
  readonly name: string;
  readonly role: Role;
  readonly id: string;
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  readonly expiresAt?: string;
  /** Shares that the key may claim. Default: all. */
  readonly shares?: readonly string[];
  readonly scores?: readonly string[];
  readonly rewardBounds?: readonly [number, number];
  readonly maxEpisodes?: number;
  readonly limits?: KeyLimits;
};

export function createKey(request: KeyRequest): { readonly stored: StoredKey; readonly answer: KeyAnswer } {
  const id = randomBytes(6).toString('hex');
  const secret = randomBytes(32).toString('hex');
  const { name, role } = request;
  const stored: StoredKey = {
    name,
    role,
    id,
    hash: sha256(secret),
    ...(request.expires_at !== undefined && { expiresAt: request.expires_at }),
    ...(request.shares !== undefined && { shares: request.shares }),
    ...(request.scores !== undefined && { scores: request.scores }),
    ...(request.reward_bounds !== undefined && { rewardBounds: request.reward_bounds }),
    ...(request.max_episodes !== undefined && { maxEpisodes: request.max_episodes }),
    ...(request.limits !== undefined && { limits: request.limits }),
  };
  return { stored, answer: { ...describeKey(stored), key: `ajk_${role}_${id}_${secret}` } };
}

/** Returns a key without its secret. */
export function describeKey({ name, role, ...limits }: StoredKey): KeyAnswer {
  const { expiresAt, shares, scores, rewardBounds, maxEpisodes, limits: more } = limits;
  return {
    name,
    role,
    ...(shares !== undefined && { shares: [...shares] }),
    ...(scores !== undefined && { scores: [...scores] }),
    ...(rewardBounds !== undefined && { reward_bounds: [...rewardBounds] }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(maxEpisodes !== undefined && { max_episodes: maxEpisodes }),
    ...(more !== undefined && { limits: { ...more } }),
  };
}

/**
 * Returns the key of an Authorization header if the key may act in the role.
 * @throws WireError `missing_key`, `unknown_key`, `expired_key`, `wrong_role`
 */
export function requireKey(state: LedgerState, header: string | undefined, role: Role, now = Date.now()): StoredKey {
  const text = /^Bearer (\S+)$/i.exec(header ?? '')?.[1];
  if (text === undefined) {
    throw new WireError('missing_key', 'No key. Send it as "Authorization: Bearer ajk_...".');
  }
  const stored = findKey(state, text);
  if (stored === undefined) throw unknownKey();
  requireCurrent(stored, now);
  if (roles.indexOf(stored.role) < roles.indexOf(role)) {
    throw new WireError('wrong_role', `The key "${stored.name}" has the role ${stored.role}; this needs ${role}.`);
  }
  return stored;
}

/**
 * Throws WireError `unknown_key` or `expired_key` if the key was deleted or has expired since a request was let in. Call
 * this for requests that last long.
 */
export function requireStillValid(state: LedgerState, key: StoredKey | undefined, now = Date.now()): void {
  if (key === undefined) return;
  const stored = state.keys.get(key.name)?.content as StoredKey | undefined;
  if (stored?.id !== key.id) throw unknownKey();
  requireCurrent(stored, now);
}

function requireCurrent({ name, expiresAt }: StoredKey, now: number): void {
  if (expiresAt === undefined || Date.parse(expiresAt) > now) return;
  throw new WireError('expired_key', `The key "${name}" expired at ${expiresAt}. Ask for another one.`);
}

const unknownKey = (): WireError => new WireError('unknown_key', 'This key is not known here, or was deleted.');

/** Whether an Authorization header has this key. */
export function hasKey(header: string | undefined, key: string): boolean {
  return isSameSecret(header ?? '', `Bearer ${key}`);
}

function findKey(state: LedgerState, text: string): StoredKey | undefined {
  const [prefix, , id, secret = ''] = text.split('_');
  if (prefix !== 'ajk') return undefined;
  const hash = Buffer.from(sha256(secret));
  for (const { content } of state.keys.values()) {
    const stored = content as StoredKey;
    if (stored.id === id && timingSafeEqual(Buffer.from(stored.hash), hash)) return stored;
  }
  return undefined;
}
