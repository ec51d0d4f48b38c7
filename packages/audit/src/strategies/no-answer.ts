import { says, writes, type Strategy } from '../contract.js';

export const noAnswer: Strategy = {
  name: 'no answer',
  summary: 'writes nothing, or says that it does not know',
  role: 'unsolved',
  ways: [
    says('only spaces', () => ' \n\n '),
    writes('only thoughts', () => ({ text: '', thoughts: 'I have to think about this for a while.' })),
    says('"I do not know"', () => 'I do not know.'),
    says('a refusal', () => "I'm sorry, but I cannot help with that."),
  ],
};
