export { findConverted, openGguf, type OpenedGguf, type OpenGgufOptions } from './open-gguf.js';
export type { GgufSource, WheelName } from './model-source.js';
