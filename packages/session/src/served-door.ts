export { evaluationSampling, samplingDefaults } from './rollout/sampling-defaults.js';
export { openServedRun, type ServedPolicy, type ServedRun, type ServedRunOptions } from './served/served-run.js';
export type { ServedWeights, StepRecipe } from './served/served-weights.js';
export { packFloats, packInts, unpackFloats, unpackInts } from './served/packed-numbers.js';
export {
  openRows,
  sealRows,
  type RowHead,
  type RowSpans,
  type SealedRow,
  type SealedRows,
} from './served/sealed-rows.js';
export { countAnswers } from './schedule/count-answers.js';
export { toLeftOut } from './served/to-left-out.js';
export { requireCollection, requireOwnKey } from './served/policy-configs.js';
