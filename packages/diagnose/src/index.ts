/** Rules that read the records of a run and say what keeps it from learning. */

export { Diagnosis } from './diagnosis.js';
export type { EpisodeFacts, Rule } from './rule.js';
