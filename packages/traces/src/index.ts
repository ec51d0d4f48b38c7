export { createTracingReader, type TracingOptions } from './create-tracing-reader.js';
