import { expect, it } from 'vitest';
import { findAnswer, withoutThoughts } from './find-answer.js';

const find = (text: string, after: string | null = null) =>
  findAnswer(text, { after, isReadable: (answer) => /^[^\s]{1,20}$/.test(answer) });

it.each([
  ['It is \\boxed{5}, no, \\boxed{\\frac{1}{2}}.', '\\frac{1}{2}'],
  ['<answer>3</answer> wait <answer>\n4\n</answer>', '4'],
  ['Reason.\n#### 42\n', '42'],
  ['So the answer is **Paris**', 'Paris'],
  ['Answer: 7', '7'],
  ['The answer is 7. I hope it helps.', '7'],
  ['The answer is 7, because 3 + 4 = 7.', '7'],
  ['The answer is simple: 3 + 4.\n#### 7', '7'],
  ['#### 7\nThe answer is as you see.', '7'],
  ['7 is the answer.', '7'],
  ['## Final answer\n\n7', '7'],
  ['<think>\\boxed{1}</think>\\boxed{2}', '2'],
  ['\\boxed{\\{1,{2}\\}}', '\\{1,{2}\\}'],
  ['\\boxed{\\boxed{7}}', '7'],
  ['7', '7'],
  ['```\n7\n```', '7'],
  ['{"steps": "3 + 4", "answer": 7}', '7'],
  ['```json\n{"answer": "7"}\n```', '7'],
  ['<answer>The answer is 7</answer>', '7'],
  ['The answer is 7<|im_end|>', '7'],
  ['The answer is 7!!! I am sure.', '7'],
  ['La respuesta es 7. Gracias.', '7'],
  ['答案是7。 谢谢', '7'],
  ['Answer choice: B', 'B'],
  ['Ans. B', 'B'],
  ['__Answer__: 7', '7'],
  ['<final_answer>7</final_answer>', '7'],
  ['The answer is:\n```\n7\n```', '7'],
  ['Answer: ~~8~~ 7', '7'],
  ['<b>Answer: 7</b>', '7'],
  ['The answer corresponds to 7.', '7.'],
  ['The length of the side is 7.', '7.'],
  ['The difference between 9 and 2 is 7.', '7.'],
  ['La respuesta correcta es la B.', 'B.'],
  ['A resposta correta é a letra B.', 'B.'],
  ['La risposta è 7.', '7.'],
  ['Ответ: 7', '7'],
  ['因为A不对，所以选B。', 'B。'],
  ['(B) is the right one.', '(B)'],
  ['B is correct and the others are wrong.', 'B'],
  ['The answer is B because A or D would need heat.', 'B'],
  ['The answer is 7 because for Tom it is 3 and for Ann it is 4.', '7'],
])('finds the answer of %j', (text, answer) => {
  expect(find(text)).toBe(answer);
});

it.each([
  '',
  'no mark',
  '\\boxed{open',
  '<answer>never closed',
  '####',
  'The answer is not 7.',
  'If the answer is 7, then I am wrong.',
  'The answer could be 7.',
  'The answer is 7. No, that is wrong.',
  '\\boxed{7} or \\boxed{8}',
  '\\boxed{7}\n\\boxed{8}',
  'Is the answer 7?',
  'The user says the answer is 7, but it is 8.',
  '7 is the answer to a different question.',
  'Answer: 7, but it could also be 8',
  '[{"answer": 7}, {"answer": 8}]',
  'The answer is C because D is wrong, or D because C is wrong',
  'The answer is 7 for adults, 3 for children.',
  'For adults the answer is 7. For children the answer is 3.',
  'If x > 0, the answer is 7. Otherwise, the answer is 3.',
  '(a) \\boxed{7} (b) \\boxed{3}',
  'The answer is 7. But that ignores tax.',
  'The answer is 7.\n\nEdit: it should be 8.',
  'Die Antwort ist 7. Nein, 8.',
  '可能答案是7。',
  'The square of the answer is 49.',
  "Tom's answer is 7. Mine is 8.",
  'The user says the total is 7.',
  'The letter to avoid is B.',
  'A friend told me the answer is 7.',
  'Had we known, the answer would be 7.',
  'A naive count gives \\boxed{7}.',
  "The answer is 7. My mistake, it's 8.",
  '\\boxed{7}, but we counted twice, so it is 3.',
  '7 is the answer? No.',
])('finds none in %j', (text) => {
  expect(find(text)).toBeNull();
});

it('reads after the given mark, and nothing else', () => {
  expect(find('\\boxed{1}\nResult => 9\nmore', 'Result =>')).toBe('9');
  expect(find('\\boxed{1}', 'Result =>')).toBeNull();
  expect(find('1', 'Result =>')).toBeNull();
});

it.each([
  ['<think>a</think>b', 'b'],
  ['a</think>b', 'b'],
  ['x<think>never closed', 'x'],
  ['x<think>1</think>y<think>2</think>z', 'xyz'],
  ['<THINK>a</THINK>b', 'b'],
])('takes the thoughts out of %j', (text, rest) => {
  expect(withoutThoughts(text)).toBe(rest);
});
