export { asTunedChatModel as asModel, type LangGraphModelOptions } from './as-model.js';
export { type TunedCallOptions, TunedChatModel } from './tuned-chat-model.js';
