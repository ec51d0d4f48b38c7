export { completedEpisode } from './testing/completed-episode.js';
export { judgeCases, type JudgeExample } from './testing/judge-cases.js';
export { readerCases } from './testing/reader-cases.js';
export {
  createScriptedEngine,
  type ScriptedEngine,
  type ScriptedEngineOptions,
  type ScriptedReply,
  type ScriptedRequest,
} from './testing/scripted-engine.js';
export {
  extendsPrevious,
  openScriptedEpisode,
  type ScriptedEpisode,
  type ScriptedEpisodeOptions,
} from './testing/scripted-episode.js';
export { toolCallText } from './testing/tool-call-text.js';
export { collectAll } from './testing/collect-all.js';
export { addingModel } from './testing/adding-model.js';
