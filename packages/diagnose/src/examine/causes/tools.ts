import type { Cause } from '../cause.js';
import { idsOf, trainingEpisodes } from '../episode-sets.js';
import { isGood } from '../outcome.js';
import { percent } from '../words.js';

const leastAnswers = 20;
/** Of the answers to requests with tools. Agents of one call each call a tool in half of their answers. */
const mostCalling = 0.02;
const leastRefused = 0.2;

export const toolsNotCalled: Cause = {
  name: 'tools_not_called',
  needs: ['episodes'],
  threshold: 'under 2% of the answers to requests with tools call one, while success is below 0.8',
  explains: ['never_solved', 'no_spread', 'no_gain', 'stopped_learning', 'format_not_met', 'zero_gradients'],
  look(run) {
    if (isGood(run)) return undefined;
    const late = trainingEpisodes(run, 0.5).filter(({ withTools }) => withTools > 0);
    const [offered, calling, refused] = (['withTools', 'callingTools', 'badCalls'] as const).map((name) =>
      late.reduce((sum, episode) => sum + episode[name], 0),
    ) as [number, number, number];
    if (offered < leastAnswers || calling >= mostCalling * offered || refused >= leastRefused * offered)
      return undefined;
    return {
      summary: `The model does not use its tools: ${calling} of ${offered} answers to requests with tools (${percent(calling / offered)}) call one.`,
      cure: 'See with ajet inspect whether the prompt shows the tools; if it does not, the chat template has no place for them, and model.tools: system writes them into the system prompt. If it does, say in the prompt when to call which tool, and give an example; or imitate transcripts with calls first (ajet sft).',
      episodes: idsOf(late.filter(({ callingTools }) => callingTools === 0)),
      taken: 1 - calling / offered,
    };
  },
};

export const toolsRefused: Cause = {
  name: 'tools_refused',
  needs: ['episodes'],
  threshold: 'a fifth of the tool calls in the last half of the run cannot be used',
  explains: ['never_solved', 'no_spread', 'no_gain', 'stopped_learning', 'format_not_met', 'zero_gradients'],
  look(run) {
    if (isGood(run)) return undefined;
    const late = trainingEpisodes(run, 0.5);
    const bad = late.filter(({ badCalls }) => badCalls > 0);
    const refused = bad.reduce((sum, { badCalls }) => sum + badCalls, 0);
    const tried = late.reduce((sum, { callingTools, malformedCalls }) => sum + callingTools + malformedCalls, 0);
    if (tried < leastAnswers || refused < leastRefused * tried) return undefined;
    return {
      summary: `${refused} of about ${tried} tool calls (${percent(Math.min(1, refused / tried))}) could not be used: they are not readable, name an unknown tool, or have wrong arguments.`,
      cure: 'Look at such a call with ajet inspect. model.tool_calls: lenient reads calls without tags; simpler schemas, fewer tools and an example in the prompt help small models.',
      episodes: idsOf(bad),
      taken: Math.min(1, refused / tried),
    };
  },
};
