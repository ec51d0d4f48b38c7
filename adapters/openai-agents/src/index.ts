export { asAgentsModel as asModel } from './as-model.js';
export { TunedAgentsModel } from './tuned-agents-model.js';
