export { evaluationSampling, samplingDefaults } from './rollout/sampling-defaults.js';
export { findLedgerOfRun, hasLedger, type LedgerOfRun } from './served/ledger-places.js';
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
export { shortenQuery } from './records/episode-line.js';
export { toGroupLines, toGroupReport, type SampledGroup } from './records/group-report.js';
export { contentOf, readEnd, type EndContent, type Ended } from './records/read-end.js';
export { toManifestSteps } from './records/manifest-steps.js';
export { summarizeEvaluation, toEvaluationRecord } from './records/summarize-evaluation.js';
export { toLeftOut } from './served/to-left-out.js';
export { requireCollection, requireOwnKey } from './served/policy-configs.js';
