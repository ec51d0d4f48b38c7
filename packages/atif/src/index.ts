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
export { BadAtif, readTrajectory } from './read-document.js';
export { toRowExtra, toTokenRow, type AtifRow } from './row.js';
export { textOfAtif, toConversations } from './to-conversations.js';
