/** What is known of the servers that speak the Tinker API; what can be measured, the seam check measures. */

import { BackboneError } from '@agentjet/core';
import type { Wire } from './tinker-client.js';

export const profileNames = ['auto', 'hosted', 'skyrl', 'verl', 'tuft', 'strict'] as const;
export type ProfileName = (typeof profileNames)[number];

export type Profile = {
  readonly name: ProfileName;
  /** Takes `grad_clip_norm`. */
  readonly clips: boolean;
  /** Is refused if it reports no gradient norm, so that its gradient cannot be checked. */
  readonly needsNorm: boolean;
  /** Computes a request again that is sent again with its sequence number. */
  readonly ignoresNumbers: boolean;
  /** What it takes rows as. */
  readonly wire: Wire;
};

const profiles: Readonly<Record<ProfileName, Omit<Profile, 'name'>>> = {
  auto: { clips: true, needsNorm: false, ignoresNumbers: false, wire: 'auto' },
  hosted: { clips: true, needsNorm: false, ignoresNumbers: false, wire: 'auto' },
  skyrl: { clips: false, needsNorm: true, ignoresNumbers: true, wire: 'json' },
  verl: { clips: false, needsNorm: false, ignoresNumbers: false, wire: 'json' },
  tuft: { clips: true, needsNorm: false, ignoresNumbers: false, wire: 'protobuf' },
  strict: { clips: true, needsNorm: true, ignoresNumbers: false, wire: 'auto' },
};

/** Throws BackboneError `bad_request` if only the hosted service can be meant and another is. */
export function findProfile(name: ProfileName, baseUrl: string | null): Profile {
  const chosen = name === 'auto' && baseUrl === null ? 'hosted' : name;
  if (baseUrl === null && chosen !== 'hosted' && chosen !== 'strict')
    throw new BackboneError('bad_request', `tinker.profile is "${name}", but tinker.base_url does not name a server.`);
  return { name: chosen, ...profiles[chosen] };
}
