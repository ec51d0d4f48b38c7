/** The known properties of servers with the Tinker API. The check at start measures all others (seam-check.ts). */

import { BackboneError } from '@agentjet/core';

export const wires = ['auto', 'json', 'protobuf'] as const;
export type Wire = (typeof wires)[number];

export const profileNames = ['auto', 'hosted', 'skyrl', 'verl', 'tuft', 'strict'] as const;
export type ProfileName = (typeof profileNames)[number];

export type Profile = {
  readonly name: ProfileName;
  /** The server accepts `grad_clip_norm`. */
  readonly clips: boolean;
  /** The server is refused if it reports no gradient norm, because its gradient cannot be checked. */
  readonly needsNorm: boolean;
  /** The server computes a repeated request again even if it has the same sequence number. */
  readonly ignoresNumbers: boolean;
  /** The format in which the server accepts rows. */
  readonly wire: Wire;
  /**
   * The settings of Adam that the server uses. SkyRL over FSDP and Megatron adds up gradients and uses only the rate.
   * SkyRL's JAX engine averages gradients and uses all settings.
   */
  readonly adam: 'all' | 'rate only if it adds up' | 'unknown';
  /**
   * Set if the server has one model, which `create_model` does not replace, for any rank. Null if the server creates
   * the requested model.
   */
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

/**
 * Throws BackboneError `bad_request` if the profile is for the hosted service and tinker.base_url names another server.
 */
export function findProfile(name: ProfileName, baseUrl: string | null): Profile {
  const chosen = name === 'auto' && baseUrl === null ? 'hosted' : name;
  if (baseUrl === null && chosen !== 'hosted' && chosen !== 'strict')
    throw new BackboneError('bad_request', `tinker.profile is "${name}", but tinker.base_url does not name a server.`);
  return { name: chosen, ...profiles[chosen] };
}
