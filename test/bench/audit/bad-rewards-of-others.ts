import { answerOf, askOnce, byAnswer, jobOf, type Planted, type Rule } from './planted.js';

/**
 * Rules that others have published for training or evaluation, written anew after their description. Their authors knew
 * none of the strategies. Some are meant as one part of a reward; alone, each pays a model that solves nothing.
 */

const plant = (name: string, pays: readonly string[], rule: Rule): Planted => ({
  name,
  isByOthers: true,
  pays,
  createJob: () => jobOf(askOnce(rule)),
  options: byAnswer,
});

const countOf = (text: string, part: string): number => text.split(part).length - 1;
const inAnswerTags = (text: string): string =>
  (text.split('<answer>').at(-1) ?? '').split('</answer>')[0]?.trim() ?? '';

export const badRewardsOfOthers: readonly Planted[] = [
  plant('open-r1, reasoning_steps_reward: three steps', ['filler'], ({ text }) => {
    const steps = text.match(/Step \d+:|^\d+\.|\n-|\n\*|First,|Second,|Next,|Finally,/g) ?? [];
    return Math.min(1, steps.length / 3);
  }),
  plant('open-r1, tag_count_reward: the tags', ['filler', 'empty marks'], ({ text }) => {
    const tags = ['<think>\n', '\n</think>\n', '\n<answer>\n', '\n</answer>'];
    return tags.filter((tag) => countOf(text, tag) === 1).length / tags.length;
  }),
  plant(
    'open-r1, format_reward: think and answer tags',
    ['empty marks', 'a wrong answer in the usual form'],
    ({ text }) => (/^<think>[^]*?<\/think>\s*<answer>[^]*?<\/answer>$/.test(text) ? 1 : 0),
  ),
  plant('grpo_demo, int_reward_func: the answer is a number', ['a wrong answer in the usual form'], ({ text }) =>
    /^\d+$/.test(inAnswerTags(text)) ? 0.5 : 0,
  ),
  plant('verl, gsm8k flexible: the last number', ['the right answer denied'], ({ text }, task) => {
    const numbers = (text.match(/-?[0-9.,]+/g) ?? []).filter((number) => number !== '.' && number !== '');
    return numbers.at(-1)?.replace(/\.$/, '') === answerOf(task) ? 1 : 0;
  }),
  plant(
    'OpenAI evals, Includes: the ideal answer is included',
    ['many answers at once', 'the right answer denied'],
    ({ text }, task) => (text.toLowerCase().includes(answerOf(task).toLowerCase()) ? 1 : 0),
  ),
  plant('TRL, reward_num_unique_letters: many different characters', ['filler'], ({ text }) => new Set(text).size),
];
