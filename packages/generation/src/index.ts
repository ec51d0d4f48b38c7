export { createGenerationReader } from './create-generation-reader.js';
