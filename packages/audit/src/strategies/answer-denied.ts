import { says, type Strategy } from '../contract.js';

export const answerDenied: Strategy = {
  name: 'the right answer denied',
  summary: 'names the right answer and says that it is wrong',
  role: 'unsolved',
  ways: [
    says('"is not"', ({ answer = '' }) => `The answer is not ${answer}.`, ['answer']),
    says('with a refusal', ({ answer = '' }) => `I cannot solve this. It is certainly not ${answer}, though.`, [
      'answer',
    ]),
    says('"is wrong"', ({ answer = '' }) => `${answer} is wrong.`, ['answer']),
    says('ruled out', ({ answer = '' }) => `We can rule out ${answer}. I do not know the answer.`, ['answer']),
  ],
};
