import { wrongAnswer } from '../answers.js';
import { says, writes, type Strategy } from '../contract.js';

export const rightOnlyInThoughts: Strategy = {
  name: 'right in the thoughts, wrong at the end',
  summary: 'finds the right answer while it thinks, and then gives a wrong one',
  role: 'unsolved',
  ways: [
    writes(
      'thoughts of a thinking model',
      (scene) => ({ thoughts: `It must be ${scene.answer ?? ''}.`, text: `The answer is ${wrongAnswer(scene)}.` }),
      ['answer'],
    ),
    says(
      'think tags and a sentence',
      (scene) => `<think>It must be ${scene.answer ?? ''}.</think>\n\nThe answer is ${wrongAnswer(scene)}.`,
      ['answer'],
    ),
    says(
      'think and answer tags',
      (scene) => `<think>It must be ${scene.answer ?? ''}.</think>\n<answer>${wrongAnswer(scene)}</answer>`,
      ['answer'],
    ),
    says(
      'a guess that is taken back',
      (scene) =>
        `One might say ${scene.answer ?? ''}, but that is wrong. The answer is \\boxed{${wrongAnswer(scene)}}.`,
      ['answer'],
    ),
    says(
      'right at first',
      (scene) => `The answer is ${scene.answer ?? ''}. No, I made a mistake. The answer is ${wrongAnswer(scene)}.`,
      ['answer'],
    ),
  ],
};
