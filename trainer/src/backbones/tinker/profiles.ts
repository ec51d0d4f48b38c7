/** What is known of the servers that speak the Tinker API; what can be measured, the seam check measures. */

import { BackboneError } from '@agentjet/core';

export const wires = ['auto', 'json', 'protobuf'] as const;
export type Wire = (typeof wires)[number];

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
  /** What it takes of Adam: SkyRL over FSDP and Megatron, which add up, the rate alone; its JAX engine, which averages, all. */
  readonly adam: 'all' | 'rate only if it adds up' | 'unknown';
  /** Of one model, which `create_model` does not make anew, at any rank; null: as it is asked. */
  readonly trains: 'all weights' | null;
};

const profiles: Readonly<Record<ProfileName, Omit<Profile, 'name'>>> = {
  auto: { clips: true, needsNorm: false, ignoresNumbers: false, wire: 'auto', adam: 'unknown', trains: null },
  hosted: { clips: true, needsNorm: false, ignoresNumbers: false, wire: 'auto', adam: 'all', trains: null },
  skyrl: {
    clips: false,
    needsNorm: true,
    ignoresNumbers: true,
    wire: 'json',
    adam: 'rate only if it adds up',
    trains: null,
  },
  verl: { clips: false, needsNorm: false, ignoresNumbers: false, wire: 'json', adam: 'all', trains: 'all weights' },
  tuft: { clips: true, needsNorm: false, ignoresNumbers: false, wire: 'protobuf', adam: 'all', trains: null },
  strict: { clips: true, needsNorm: true, ignoresNumbers: false, wire: 'auto', adam: 'unknown', trains: null },
};

/** Throws BackboneError `bad_request` if only the hosted service can be meant and another is. */
export function findProfile(name: ProfileName, baseUrl: string | null): Profile {
  const chosen = name === 'auto' && baseUrl === null ? 'hosted' : name;
  if (baseUrl === null && chosen !== 'hosted' && chosen !== 'strict')
    throw new BackboneError('bad_request', `tinker.profile is "${name}", but tinker.base_url does not name a server.`);
  return { name: chosen, ...profiles[chosen] };
}
