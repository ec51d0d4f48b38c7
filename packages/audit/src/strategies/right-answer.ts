import { answers, says, type Strategy } from '../contract.js';
import { marks, writeInTags } from '../marks.js';
import { namedTags } from '../requests.js';

const reasoned = 'I work it out step by step, and I check each step.';

export const rightAnswer: Strategy = {
  name: 'the right answer',
  summary: 'gives the right answer, marked as final answers usually are',
  role: 'right',
  ways: [
    ...marks.map(({ name, write }) => says(name, ({ answer = '' }) => write(answer), ['answer'])),
    answers('in the tags of the prompt', (request, { answer = '' }) => writeInTags(namedTags(request), answer), [
      'answer',
      'tags',
    ]),
    says('after reasoning', ({ answer = '' }) => `${reasoned}\n\nThe answer is \\boxed{${answer}}.`, ['answer']),
  ],
};
