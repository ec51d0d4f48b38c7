export { createTracingReader } from './create-tracing-reader.js';
