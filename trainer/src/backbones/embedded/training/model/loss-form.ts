/** The settings of the loss that change the training graph. Coefficients do not change it, because they are inputs. */

import type { LossOptions } from '@agentjet/core';

/** Each form has a separate graph. */
export type LossForm =
  | { readonly kind: 'sft' }
  | { readonly kind: 'policy'; readonly klEstimator: 'none' | 'k1' | 'k2' | 'k3'; readonly hasEntropyBonus: boolean };

/** Terms whose coefficient is 0 are left out of the graph. */
export function lossForm(loss: LossOptions): LossForm {
  if (loss.kind === 'sft') return { kind: 'sft' };
  return {
    kind: 'policy',
    klEstimator: loss.klCoef === 0 ? 'none' : loss.klEstimator,
    hasEntropyBonus: loss.entropyCoef !== 0,
  };
}
