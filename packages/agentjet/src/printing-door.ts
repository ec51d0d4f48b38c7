export { createLineListener, formatEvent } from './printing/event-lines.js';
export { describeTunnel, showCommand } from './printing/see-run.js';
export type { TranscriptStyle } from './printing/format-transcript.js';
