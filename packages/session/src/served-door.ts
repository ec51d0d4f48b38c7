export { evaluationSampling, samplingDefaults } from './rollout/sampling-defaults.js';
export { openServedRun, type ServedRun, type ServedRunOptions } from './served/served-run.js';
export type { ServedWeights, StepRecipe } from './served/served-weights.js';
