export { createLineListener, formatEvent } from './printing/event-lines.js';
export type { TranscriptStyle } from './printing/format-transcript.js';
