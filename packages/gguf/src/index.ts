export { findConverted, openGguf, type OpenedGguf, type OpenGgufOptions } from './open-gguf.js';
export type { GgufSource, WheelName } from './model-source.js';
export { exportGguf, type ExportedGguf, type ExportGgufOptions } from './write/export-gguf.js';
export type { ExportType } from './write/plan-tensors.js';
