export { asReActModel as asModel } from './as-model.js';
export { InMemoryMemory, type Memory } from './memory.js';
export type { Message, Reply } from './message.js';
export { MessageHub, withMessageHub } from './message-hub.js';
export {
  type Participant,
  ReActAgent,
  type ReActAgentOptions,
  type ReActHooks,
  type ReplyOptions,
} from './react-agent.js';
export { Toolkit, type Tool, type ToolArguments } from './toolkit.js';
