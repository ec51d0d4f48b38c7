export {
  atifVersion,
  isAtif,
  type AtifAgent,
  type AtifCall,
  type AtifDocument,
  type AtifMetrics,
  type AtifPart,
  type AtifResult,
  type AtifStep,
} from './document.js';
export { BadAtif, readDocument } from './read-document.js';
export { toRowExtra, toTokenRow, type TokenRow } from './row.js';
export { toConversations } from './to-conversations.js';
