/**
 * What "works" means: an agent of a framework has a conversation of two turns, each with a tool call, in one piece and
 * as a stream. A scripted engine plays the model. What is trained must be exactly what this engine sampled, and each
 * prompt must continue the tokens of the call before. The arguments of the calls are written in an odd way, and one
 * turn has thinking, so that a framework that writes the history again would be noticed.
 */
import { openScriptedEpisode } from '@agentjet/adapter-kit';
import { startEndpointServer } from '@agentjet/endpoint';

export const questions = ['What is 2 + 3?', 'And what is 5 + 4?'];
export const callText = (name, args) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;
const answers = ['The sum of the two numbers\nis 5.', 'It is 9, my  friend.'];
const callTexts = [
  callText('add', '{"b": 3,  "a":2.0}'),
  `<think>\nFive and four.\n</think>\n\n${callText('add', '{"a":5, "b":  4}')}`,
];

/** The tool of every agent. `run` adds the two numbers. */
const createTool = (sums) => ({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  run: ({ a, b }) => {
    sums.push([a, b]);
    return String(a + b);
  },
});

/** Plays the model: makes the call of the turn after a question, and answers after the result. */
export const replyWith =
  (callsOfTurns) =>
  ({ text }) => {
    const turn = text.includes(questions[1]) ? 1 : 0;
    const after = text.slice(text.lastIndexOf(questions[turn]));
    const lastResult = after.slice(after.lastIndexOf('<tool_response>'));
    const isAnswered = lastResult.startsWith('<tool_response>') && !lastResult.includes('uccessfully transferred to');
    return isAnswered ? answers[turn] : callsOfTurns[turn];
  };

export const reply = replyWith(callTexts);

/**
 * Returns what is wrong with the agent of a case, whole and streamed. A case exports `open`, which gets a tuner and a
 * tool and returns `ask(question, onText)`. Without `onText` the answer comes in one piece. The other exports of a case
 * are optional: `isStreaming: false`, `tokenDelayMs`, and the expected `calls`, `rows`, `forks`, `side` calls that are not trained, and
 * `reply`.
 */
export async function check(given) {
  const complaints = [];
  const ways = given.isStreaming === false ? [false] : [false, true];
  for (const isStreamed of ways) {
    const found = await converse(given, isStreamed);
    const wanted = wantedOf(given, isStreamed);
    const label = isStreamed ? 'streamed' : 'whole';
    for (const [name, value] of Object.entries(wanted))
      if (JSON.stringify(found[name]) !== JSON.stringify(value))
        complaints.push(`${label}, ${name}: ${JSON.stringify(found[name])} instead of ${JSON.stringify(value)}`);
  }
  return complaints;
}

const wantedOf = ({ calls = 4, rows = 1, forks = {}, side = 0 }, isStreamed) => ({
  error: undefined,
  answers,
  sums: [
    [2, 3],
    [5, 4],
  ],
  outcomes: ['answered'],
  calls,
  side,
  rows,
  forks,
  untracked: [],
  trainedTokensNotSampled: 0,
  pieces: isStreamed ? 'several, equal to the answers' : 'none',
});

async function converse(given, isStreamed) {
  const host = await startEndpointServer();
  const sums = [];
  const episode = openScriptedEpisode({
    replies: (request) => ({ text: (given.reply ?? reply)(request), tokenDelayMs: given.tokenDelayMs ?? 0 }),
    endpointHost: host,
    contextLength: 1_000_000,
    untrainedModels: ['*:untrained'],
  });
  const said = [];
  const pieces = [];
  let error;
  try {
    const agent = await given.open({ tuner: episode.tuner, tool: createTool(sums) });
    for (const [turn, question] of questions.entries()) {
      pieces[turn] = [];
      const onText = (piece) => pieces[turn].push(piece);
      said.push(await agent.ask(question, isStreamed ? onText : undefined));
    }
    await agent.close?.();
  } catch (thrown) {
    error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  }
  const record = episode.finish();
  await host.close();
  return {
    error,
    answers: said.map((text) => text?.trim()),
    sums,
    pieces: describe(pieces, said),
    ...track(episode, record),
  };
}

function describe(pieces, said) {
  if (pieces.every((list) => list.length === 0)) return 'none';
  if (pieces.some((list) => list.length < 2)) return 'one for an answer';
  const isEqual = pieces.every((list, turn) => list.join('').trim() === said[turn]?.trim());
  return isEqual ? 'several, equal to the answers' : `others: ${JSON.stringify(pieces)}`;
}

/** Compares what the engine sampled with the rows that are trained. */
function track({ engine }, { samples, stats, calls }) {
  const trained = engine.requests.filter((request) => isIn(samples, request));
  const numSampled = trained.reduce((sum, { completion }) => sum + completion.ids.length, 0);
  const numTrained = samples.reduce((sum, { lossMask }) => sum + lossMask.reduce((count, bit) => count + bit, 0), 0);
  return {
    outcomes: [...new Set(engine.requests.map(({ outcome }) => outcome))],
    calls: trained.length,
    side: calls.untrained,
    rows: samples.length,
    forks: stats.forks,
    untracked:
      engine.requests.length - calls.untrained === trained.length
        ? []
        : engine.requests.filter((request) => !trained.includes(request)).map(({ text }) => text.slice(-2000)),
    trainedTokensNotSampled: numTrained - numSampled,
  };
}

/** Whether a row has the prompt of a call, its sampled ids with their logprobs, and trains exactly these ids. */
function isIn(samples, { request: { promptIds }, completion }) {
  if (completion === undefined) return false;
  const { ids, logprobs } = completion;
  const start = promptIds.length;
  return samples.some(
    (sample) =>
      promptIds.every((id, at) => sample.ids[at] === id) &&
      ids.every(
        (id, at) =>
          sample.ids[start + at] === id &&
          sample.lossMask[start + at] === 1 &&
          sample.logprobs[start + at] === logprobs[at],
      ),
  );
}
