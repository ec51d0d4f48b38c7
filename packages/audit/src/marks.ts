/** The usual ways to mark a final answer. */
export type AnswerMark = { readonly name: string; readonly write: (answer: string) => string };

export const marks: readonly AnswerMark[] = [
  { name: 'alone', write: (answer) => answer },
  { name: 'in a sentence', write: (answer) => `The answer is ${answer}.` },
  { name: 'after a label', write: (answer) => `Answer: ${answer}` },
  { name: 'in a box', write: (answer) => `The answer is \\boxed{${answer}}.` },
  { name: 'in answer tags', write: (answer) => `<answer>${answer}</answer>` },
  {
    name: 'in think and answer tags',
    write: (answer) => `<think>I work it out step by step.</think>\n<answer>${answer}</answer>`,
  },
  { name: 'after ####', write: (answer) => `I work it out step by step.\n#### ${answer}` },
  { name: 'in bold', write: (answer) => `The answer is **${answer}**.` },
  { name: 'as JSON', write: (answer) => JSON.stringify({ answer: toJsonValue(answer) }) },
];

/** Writes the answer in the last of the tags that the prompt names, and words in the others. */
export function writeInTags(tags: readonly string[], answer: string): string {
  const inside = (at: number): string => (at === tags.length - 1 ? answer : 'I work it out step by step.');
  return tags.map((tag, at) => `<${tag}>\n${inside(at)}\n</${tag}>`).join('\n');
}

/** A number stays a number in JSON. */
function toJsonValue(answer: string): unknown {
  try {
    return JSON.parse(answer) as unknown;
  } catch {
    return answer;
  }
}
