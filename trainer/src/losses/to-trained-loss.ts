import type { BackboneCapabilities, LossOptions, SlopeLoss } from '@agentjet/core';
import { createPolicySlope } from './policy-slope.js';

/** What a backbone computes itself. */
type Computes = Pick<BackboneCapabilities, 'objectives' | 'truncatesImportance'>;

type PolicyLoss = Extract<LossOptions, { kind: 'policy' }>;

/**
 * Returns the loss as the backbone trains it. If the backbone computes the objective and the correction itself, the
 * loss is returned unchanged. Otherwise it becomes a slope.
 */
export function toTrainedLoss(loss: LossOptions, capabilities: Computes): LossOptions | SlopeLoss {
  if (loss.kind === 'sft') return loss;
  if (isComputed(loss, capabilities)) return loss;
  const { klCoef, klEstimator, entropyCoef, temperature, truncation } = loss;
  return {
    kind: 'slope',
    slope: createPolicySlope(loss),
    temperature,
    needsProximal: needsProximal(loss),
    ...((klCoef !== 0 || entropyCoef !== 0) && { penalties: { klCoef, klEstimator, entropyCoef } }),
    ...(truncation && { truncation }),
  };
}

/** Returns whether the backbone computes the objective and the correction of the loss itself. */
export function isComputed(
  { objective = 'ppo', correction }: PolicyLoss,
  { objectives = ['ppo'], truncatesImportance = false }: Computes,
): boolean {
  const isTruncated = correction?.mode === 'truncate' && correction.level === 'token' && correction.lower === 0;
  return objectives.includes(objective) && (correction === undefined || (isTruncated && truncatesImportance));
}

/**
 * Returns whether the loss takes its ratio against the weights that the batch began with: with a correction always, and
 * with `gspo` if these weights sampled the batch. Its clip range near 3e-4 is narrower than the difference between a
 * sampler in 16 or 8 bits and the trainer, so the clip would remove tokens at random.
 */
export function needsProximal(loss: LossOptions): boolean | 'on-policy' {
  if (loss.kind === 'sft') return false;
  return loss.correction !== undefined || (loss.objective === 'gspo' && 'on-policy');
}
