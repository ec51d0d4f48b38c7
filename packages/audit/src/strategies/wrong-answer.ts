import { wrongAnswer } from '../answers.js';
import { says, type Strategy } from '../contract.js';
import { marks } from '../marks.js';

/** Shows whether the form of an answer is paid. */
export const wrongAnswerInForm: Strategy = {
  name: 'a wrong answer in the usual form',
  summary: 'gives a wrong answer, marked as final answers usually are',
  role: 'unsolved',
  ways: marks.map(({ name, write }) => says(name, (scene) => write(wrongAnswer(scene)))),
};
