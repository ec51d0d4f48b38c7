export { says, scriptedHost, type ScriptedAnswer, type SeenRequest } from './testing/scripted-model.js';
