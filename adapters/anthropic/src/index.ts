export { asAnthropicClient as asModel } from './as-model.js';
