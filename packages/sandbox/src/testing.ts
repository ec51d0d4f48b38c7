export { openWithoutControlGroups } from './testing/without-control-groups.js';
export { findControlGroups, openControlGroup, type ControlGroup } from './process/control-group.js';
export { containerPrograms, javascriptPrograms, pythonPrograms } from './testing/programs.js';
export { runnerCases, type RunnerPrograms } from './testing/runner-cases.js';
export { scriptCluster, type ScriptedCluster } from './testing/scripted-cluster.js';
export { serveExec } from './testing/serve-exec.js';
export { scriptEngine, type ScriptedEngine } from './testing/scripted-engine.js';
