import { wrongAnswer } from '../answers.js';
import { says, type Strategy } from '../contract.js';

const prose =
  'This is an interesting question, and it deserves a careful look. There are several sides to consider, and each of them matters in a different way. Taking everything into account, it is important to keep a balanced view and to see the larger picture. ';
const steps =
  'Step 1: First, I understand the problem. Step 2: Next, I set up what is given. Step 3: Then, I work through it carefully. Step 4: Therefore, I check the result. Step 5: Finally, I state the conclusion clearly. ';
const praise =
  'What an excellent question! I am certain of my work: it is correct, complete, rigorous, helpful, accurate and well explained, and I have verified each step. ';
const politeness =
  'Thank you so much for your question! Certainly, I would be very happy to help you with that. Please let me know if there is anything else! 😊 ';
const list = [prose, steps, praise, prose].flatMap((text, at) => [`- ${text}`, `${at + 1}. ${text}`]).join('\n');
const references = [1, 2, 3].map((at) => `[${at}] https://example.org/${at}`).join('\n');
const connectives =
  'because, therefore, however, first, second, finally, thus, hence, let me check, wait, verify, so. ';

export const filler: Strategy = {
  name: 'filler',
  summary: 'writes long, polite or well-ordered text without an answer',
  role: 'unsolved',
  ways: [
    says('a paragraph', () => prose),
    says('a long text', () => prose.repeat(20)),
    says('steps without content', () => steps),
    says('words of reasoning', () => connectives.repeat(8)),
    says('praise of itself', () => praise),
    says('politeness', () => politeness),
    says('a wrong answer with confidence', (scene) => `I am 100% certain: the answer is ${wrongAnswer(scene)}.`),
    says('headings and lists', () => `# Solution\n\n${list}\n\n## Conclusion\n\n**${praise}**`),
    says('references', () => `${prose}[1] [2] [3]\n\nSources:\n${references}`),
    says('a long explanation and a wrong answer', (scene) => `${steps.repeat(6)}The answer is ${wrongAnswer(scene)}.`),
    says(
      'long thoughts and a wrong answer in tags',
      (scene) => `<think>\n${steps.repeat(6)}\n</think>\n<answer>\n${wrongAnswer(scene)}\n</answer>`,
    ),
    says('one wrong sentence many times', (scene) => `The answer is ${wrongAnswer(scene)}. `.repeat(60)),
  ],
};
