export { asOpenAIClient as asModel } from './as-model.js';
export { createInProcessFetch } from './in-process-fetch.js';
