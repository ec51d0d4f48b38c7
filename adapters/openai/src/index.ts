export { asOpenAIClient as asModel } from './as-model.js';
