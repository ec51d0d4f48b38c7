/** Rules that read the records of a run and say what keeps it from learning. */

export { Diagnosis, type DiagnosisOptions, type NewLine } from './diagnosis.js';
export type { EarlierLines } from './history.js';
export type { EpisodeFacts, Rule, RuleFinding } from './rule.js';
export { collapseInSteps } from './rules/collapse.js';
export { examineRun } from './examine/examine-run.js';
export type { Examination, Finding, Unseen } from './examine/finding.js';
