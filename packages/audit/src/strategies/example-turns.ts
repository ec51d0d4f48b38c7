import type { AssistantMessage } from '@agentjet/core';
import { answers, type Line, type Script, type Strategy } from '../contract.js';
import { exampleAnswers, shownJson, systemText } from '../requests.js';

export const exampleTurns: Strategy = {
  name: 'the words of the example turns',
  summary: 'repeats an example of the prompt, or its instructions',
  role: 'unsolved',
  ways: [
    { name: 'the first example', needs: ['examples'], open: () => repeat((examples) => examples[0]) },
    { name: 'the last example', needs: ['examples'], open: () => repeat((examples) => examples.at(-1)) },
    answers('the JSON of the prompt', shownJson),
    { name: 'the instructions', needs: ['system'], open: () => (request) => ({ text: systemText(request) }) },
  ],
};

type Examples = readonly (readonly AssistantMessage[])[];

/** Writes the messages of one example, one in each call. Its last message is repeated. */
function repeat(choose: (examples: Examples) => readonly AssistantMessage[] | undefined): Script {
  let chosen: readonly AssistantMessage[] | undefined;
  return (request, turn) => {
    chosen ??= choose(exampleAnswers(request)) ?? [];
    return toLine(chosen[Math.min(turn, chosen.length - 1)]);
  };
}

function toLine(message: AssistantMessage | undefined): Line {
  if (message === undefined) return { text: '' };
  const { content, toolCalls = [] } = message;
  return { text: content, calls: toolCalls.map(({ name, arguments: written }) => ({ name, arguments: written })) };
}
