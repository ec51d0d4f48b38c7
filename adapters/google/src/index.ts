export { asGoogleClient as asModel } from './as-model.js';
