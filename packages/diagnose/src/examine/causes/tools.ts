import type { Cause } from '../cause.js';
import { episodeIds, trainingEpisodes } from '../episode-sets.js';
import type { EpisodeOf } from '../examined-run.js';
import { isGood } from '../outcome.js';
import { percent } from '../words.js';

const leastAnswers = 20;
/** A share of the answers to requests with tools. An agent that needs one call calls a tool in half of its answers. */
const mostCalling = 0.02;
const leastRefused = 0.2;

type Counts = Readonly<Record<'withTools' | 'callingTools' | 'badCalls' | 'malformedCalls', number>>;

function countCalls(episodes: readonly EpisodeOf[]): Counts {
  const sum = (name: keyof Counts): number => episodes.reduce((total, episode) => total + episode[name], 0);
  return {
    withTools: sum('withTools'),
    callingTools: sum('callingTools'),
    badCalls: sum('badCalls'),
    malformedCalls: sum('malformedCalls'),
  };
}

const usesNone = ({ withTools, callingTools }: Counts): boolean => callingTools < mostCalling * withTools;

export const toolsNotCalled: Cause = {
  name: 'tools_not_called',
  needs: ['episodes'],
  threshold:
    'under 2% of the answers to requests with tools call one so that it can be read, while success is below 0.8',
  explains: ['never_solved', 'no_spread', 'no_gain', 'stopped_learning', 'format_not_met', 'zero_gradients'],
  look(run) {
    if (isGood(run)) return undefined;
    const late = trainingEpisodes(run, 0.5).filter(({ withTools }) => withTools > 0);
    const counts = countCalls(late);
    const { withTools: offered, callingTools: calling, malformedCalls: malformed } = counts;
    if (offered < leastAnswers || !usesNone(counts)) return undefined;
    const tried = malformed === 0 ? '' : ` ${malformed} of the others begin a call that cannot be read.`;
    return {
      summary: `The model does not use its tools: ${calling} of ${offered} answers to requests with tools (${percent(calling / offered)}) call one.${tried}`,
      cure: 'See with ajet inspect whether the prompt shows the tools; if it does not, the chat template has no place for them, and model.tools: system writes them into the system prompt. If it does, say in the prompt when to call which tool, and give an example; or imitate transcripts with calls first (ajet sft).',
      episodes: episodeIds(late.filter(({ callingTools }) => callingTools === 0)),
      taken: 1 - calling / offered,
    };
  },
};

export const toolsRefused: Cause = {
  name: 'tools_refused',
  needs: ['episodes'],
  threshold: 'a fifth of the tool calls in the last half of the run cannot be used',
  explains: ['never_solved', 'no_spread', 'no_gain', 'stopped_learning', 'format_not_met', 'zero_gradients'],
  explainsFrom: 0.4,
  look(run) {
    if (isGood(run)) return undefined;
    const late = trainingEpisodes(run, 0.5);
    const bad = late.filter(({ badCalls }) => badCalls > 0);
    const counts = countCalls(late);
    const { badCalls: refused } = counts;
    const tried = counts.callingTools + counts.malformedCalls;
    if (usesNone(counts) || tried < leastAnswers || refused < leastRefused * tried) return undefined;
    return {
      summary: `${refused} of about ${tried} tool calls (${percent(Math.min(1, refused / tried))}) could not be used: they are not readable, name an unknown tool, or have wrong arguments.`,
      cure: 'Look at such a call with ajet inspect. model.tool_calls: lenient reads calls without tags; simpler schemas, fewer tools and an example in the prompt help small models.',
      episodes: episodeIds(bad),
      taken: Math.min(1, refused / tried),
    };
  },
};
