export { EmptySteps } from './training/empty-steps.js';
export { noticeSteps } from './training/notice-steps.js';
export { evaluationSampling, samplingDefaults } from './rollout/sampling-defaults.js';
export { findLedgerOfRun, hasLedger, type LedgerOfRun } from './served/ledger-places.js';
export { openServedRun, type ServedPolicy, type ServedRun, type ServedRunOptions } from './served/served-run.js';
export type { ServedWeights } from './served/served-weights.js';
export { requireCollection, requireOwnKey } from './served/policy-configs.js';
