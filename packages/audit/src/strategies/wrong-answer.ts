import { wrongAnswer } from '../answers.js';
import { answers, says, type Strategy } from '../contract.js';
import { marks, writeInTags } from '../marks.js';
import { namedTags } from '../requests.js';

/** Shows whether the form of an answer is paid. */
export const wrongAnswerInForm: Strategy = {
  name: 'a wrong answer in the usual form',
  summary: 'gives a wrong answer, marked as final answers usually are',
  role: 'unsolved',
  ways: [
    ...marks.map(({ name, write }) => says(name, (scene) => write(wrongAnswer(scene)))),
    answers('in the tags of the prompt', (request, scene) => writeInTags(namedTags(request), wrongAnswer(scene)), [
      'tags',
    ]),
  ],
};
