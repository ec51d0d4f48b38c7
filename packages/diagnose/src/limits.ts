/** Limits that the rules of a running job and the causes of a whole run share. */

/** The smallest share of cut answers that is reported. A few answers are cut in most runs. */
export const leastCut = 0.05;
/** With fewer answers, a share of 5% cannot be measured. */
export const leastAnswers = 20;
/** Below this success, a model hardly solves any task. */
export const lowestSuccess = 0.1;
/** A model has collapsed if its success is below half of its best success. */
export const hasCollapsed = (success: number, best: number): boolean => success < 0.5 * best;
/** From this success on, a model has learned its tasks. */
export const learnedSuccess = 0.9;
