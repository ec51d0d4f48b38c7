export { asLanguageModel as asModel } from './as-model.js';
export { TunedLanguageModel } from './tuned-language-model.js';
