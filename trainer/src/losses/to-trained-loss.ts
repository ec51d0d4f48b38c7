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
  const { correction, klCoef, klEstimator, entropyCoef, temperature, truncation } = loss;
  return {
    kind: 'slope',
    slope: createPolicySlope(loss),
    temperature,
    needsProximal: correction !== undefined,
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
