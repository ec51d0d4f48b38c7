import { answers, says, type Strategy } from '../contract.js';
import { writeInTags } from '../marks.js';
import { namedTags } from '../requests.js';
import { submittingTool } from '../fill-schema.js';

export const emptyMarks: Strategy = {
  name: 'empty marks',
  summary: 'marks a final answer and leaves it empty',
  role: 'unsolved',
  ways: [
    says('an empty box', () => '\\boxed{}'),
    says('empty answer tags', () => '<answer></answer>'),
    says('empty think and answer tags', () => '<think></think><answer></answer>'),
    says('think and answer tags around spaces', () => '<think>\n \n</think>\n<answer>\n \n</answer>'),
    answers('the tags of the prompt, and nothing in the last', (request) => writeInTags(namedTags(request), ''), [
      'tags',
    ]),
    says('a label without an answer', () => 'Answer:'),
    says('"The answer is"', () => 'The answer is'),
    says('#### alone', () => '####'),
    says('an empty JSON object', () => '{}'),
    says('JSON with an empty answer', () => '{"answer": ""}'),
    {
      name: 'a tool call without arguments',
      needs: ['tools'],
      open:
        () =>
        ({ tools = [] }, turn) => {
          const tool = submittingTool(tools);
          return { text: '', ...(tool && turn === 0 && { calls: [{ name: tool.name, arguments: '{}' }] }) };
        },
    },
  ],
};
