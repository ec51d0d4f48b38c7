export { createScriptedEngine, type ScriptedEngine, type ScriptedEngineOptions, type ScriptedReply, type ScriptedRequest } from './testing/scripted-engine.js';
