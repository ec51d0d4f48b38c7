import type { Strategy } from './contract.js';
import { answerDenied } from './strategies/answer-denied.js';
import { emptyMarks } from './strategies/empty-marks.js';
import { endlessCalls } from './strategies/endless-calls.js';
import { exampleTurns } from './strategies/example-turns.js';
import { filler } from './strategies/filler.js';
import { idleProgram } from './strategies/idle-program.js';
import { manyAnswers } from './strategies/many-answers.js';
import { noAnswer } from './strategies/no-answer.js';
import { orderToGrader } from './strategies/order-to-grader.js';
import { questionAgain } from './strategies/question-again.js';
import { randomPlay } from './strategies/random-play.js';
import { rightAnswer } from './strategies/right-answer.js';
import { rightOnlyInThoughts } from './strategies/right-only-in-thoughts.js';
import { sameAction } from './strategies/same-action.js';
import { wrongAnswerInForm } from './strategies/wrong-answer.js';

/** All strategies, in the order of the report. */
export const strategies: readonly Strategy[] = [
  randomPlay,
  noAnswer,
  questionAgain,
  manyAnswers,
  answerDenied,
  rightOnlyInThoughts,
  wrongAnswerInForm,
  emptyMarks,
  exampleTurns,
  filler,
  orderToGrader,
  idleProgram,
  endlessCalls,
  sameAction,
  rightAnswer,
];
