/** Rules that read the records of a run and say what keeps it from learning. */

export { Diagnosis, type DiagnosisOptions, type NewLine } from './diagnosis.js';
export type { EarlierLines } from './history.js';
export type { EpisodeFacts, Finding, Rule } from './rule.js';
