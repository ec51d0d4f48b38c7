export { type AdapterReport, checkAdapter, formatReport, type PromiseResult } from './check-adapter.js';
export { expectContinuation } from './continuation.js';
export {
  features,
  type AdapterDriver,
  type DriverAnswer,
  type DriverCall,
  type Feature,
  type DriverToolResult,
} from './driver.js';
export {
  createScriptedEngine,
  openScriptedEpisode,
  type ScriptedEngine,
  type ScriptedEngineOptions,
  type ScriptedEpisode,
  type ScriptedEpisodeOptions,
  type ScriptedReply,
  type ScriptedRequest,
} from '@agentjet/rollout/testing';
