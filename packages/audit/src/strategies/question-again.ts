import type { Strategy } from '../contract.js';
import { lastQuestion } from '../requests.js';

export const questionAgain: Strategy = {
  name: 'the question again',
  summary: 'repeats the question',
  role: 'unsolved',
  ways: [
    { name: 'word for word', open: () => (request) => ({ text: lastQuestion(request) }) },
    {
      name: 'with an announcement',
      open: () => (request) => ({ text: `The question is: ${lastQuestion(request)} Let me think about that.` }),
    },
    {
      name: 'the whole prompt',
      open: () => (request) => ({ text: request.messages.map(({ content }) => content).join('\n') }),
    },
  ],
};
