export { openServedRun, type ServedPolicy, type ServedRun } from './served/served-run.js';
export type { ServedWeights } from './served/served-weights.js';
