import type { Rule } from './rule.js';
import { cutAnswers } from './rules/cut-answers.js';
import { swallowedErrors } from './rules/swallowed-errors.js';

/** All rules, in the order in which the findings of one step are reported. */
export const rules: readonly Rule[] = [swallowedErrors, cutAnswers];
