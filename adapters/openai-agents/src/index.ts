export { asModel } from './as-model.js';
export { TunedModel } from './tuned-model.js';
