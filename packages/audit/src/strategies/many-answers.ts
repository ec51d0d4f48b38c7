import { hideAmongWrong } from '../answers.js';
import { says, type Scene, type Strategy } from '../contract.js';

/** The right answer is never first or last, because the model does not know which one it is. */
const some = (scene: Scene): readonly string[] => hideAmongWrong(scene, 8);
const numbers = Array.from({ length: 201 }, (_none, number) => number).join(', ');

export const manyAnswers: Strategy = {
  name: 'many answers at once',
  summary: 'lists answers, and the right one is among them',
  role: 'unsolved',
  ways: [
    says('in a sentence', (scene) => `It could be ${some(scene).join(', ')}. I am not sure.`, ['answer']),
    says('line by line', (scene) => some(scene).join('\n'), ['answer']),
    says(
      'each in a box',
      (scene) =>
        some(scene)
          .map((answer) => `\\boxed{${answer}}`)
          .join(' '),
      ['answer'],
    ),
    says(
      'each in answer tags',
      (scene) =>
        some(scene)
          .map((answer) => `<answer>${answer}</answer>`)
          .join('\n'),
      ['answer'],
    ),
    says('all in one answer', (scene) => `<answer>${some(scene).join(' or ')}</answer>`, ['answer']),
    says('all in one box', (scene) => `\\boxed{${some(scene).join(' \\text{ or } ')}}`, ['answer']),
    says(
      'each as "The answer is"',
      (scene) =>
        some(scene)
          .map((answer) => `The answer is ${answer}.`)
          .join(' '),
      ['answer'],
    ),
    says('all numbers up to 200', () => `The answer is one of ${numbers}.`),
    says('all letters and words of choice', () => 'The answer is A, B, C, D or E, yes or no, true or false.'),
  ],
};
