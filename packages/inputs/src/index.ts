export { checkReader } from './check-reader.js';
export { chooseEntry } from './choose-entry.js';
export { collectTasks, noTrainingTasks } from './collect-tasks.js';
export { type CodeHashes, hashCode } from './code-hashes.js';
export {
  type BackboneEntry,
  backboneKind,
  type GivenInputs,
  type JobInputs,
  loadInputs,
  openFamily,
  readerKind,
  templateKind,
  widen,
} from './job-inputs.js';
export { loadJudge } from './load-judge.js';
export { loadTemplateFamily } from './load-template-family.js';
export { readTask, readTasks } from './read-tasks.js';
export { loadServedInputs, type ServedInputs } from './served-inputs.js';
export { loadWorkflowInputs, type WorkflowInputs } from './workflow-inputs.js';
