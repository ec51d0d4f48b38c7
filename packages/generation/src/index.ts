export { createGenerationReader, type GenerationOptions } from './create-generation-reader.js';
