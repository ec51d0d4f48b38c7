import { BackboneError } from '@agentjet/core';
import type { Sharing } from './sharing.js';
import type { Normalization, Weighting } from './supervision.js';

export type PackOptions = {
  /** The token budget of one pack. The memory of a forward pass grows with it. A longer row gets a separate pack. */
  readonly maxPackTokens: number;
  /** Defaults to `episode`. */
  readonly weighting?: Weighting;
  /** Defaults to `token`. */
  readonly normalization?: Normalization;
  /** Defaults to `tree`. The other values are baselines for measurements of tree training. */
  readonly sharing?: Sharing;
};

/**
 * Throws BackboneError `bad_pack_options`. Without this check, an invalid budget or denominator would only show when
 * weights become NaN.
 */
export function checkOptions({
  maxPackTokens,
  weighting = 'episode',
  normalization = 'token',
  sharing = 'tree',
}: PackOptions): void {
  if (!(maxPackTokens >= 1)) throw badOptions(`maxPackTokens is ${maxPackTokens}; it must be at least 1.`);
  checkChoice('weighting', weighting, ['episode', 'row']);
  checkChoice('sharing', sharing, ['tree', 'prompt', 'linear', 'none']);
  if (typeof normalization === 'string') return checkChoice('normalization', normalization, ['token', 'sequence']);
  const { constantLength } = normalization;
  if (!(constantLength > 0 && Number.isFinite(constantLength)))
    throw badOptions(`normalization.constantLength is ${constantLength}; it must be a number of tokens above 0.`);
}

function checkChoice(option: string, value: string, choices: readonly string[]): void {
  if (!choices.includes(value)) throw badOptions(`${option} is "${value}"; choose one of ${choices.join(', ')}.`);
}

function badOptions(problem: string): BackboneError {
  return new BackboneError('bad_pack_options', `The samples cannot be packed: ${problem}`);
}
