import type { Rule } from './rule.js';
import { collapse } from './rules/collapse.js';
import { cutAnswers } from './rules/cut-answers.js';
import { noSignal } from './rules/no-signal.js';
import { oneKind } from './rules/one-kind.js';
import { swallowedErrors } from './rules/swallowed-errors.js';

/** All rules, in the order in which the findings of one step are reported. */
export const rules: readonly Rule[] = [swallowedErrors, collapse, noSignal, cutAnswers, oneKind];
