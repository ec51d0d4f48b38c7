import { type ChatMessage, type ChatModel, createRandom, type Task } from '@agentjet/core';
import { runEpisode } from '@agentjet/rollout';
import { describe, expect, it } from 'vitest';
import { ScriptedPlayer } from './scripted-player.js';
import { type Cast, findName, mostNamed, Village } from './village.js';
import { drawTasks, splitOf, toKey, villageTasks } from './village-tasks.js';
import { WerewolvesWorkflow } from './werewolves-workflow.js';

const cast: Cast = [
  { name: 'Ada', role: 'werewolf' },
  { name: 'Bo', role: 'villager' },
  { name: 'Cy', role: 'seer' },
  { name: 'Dee', role: 'werewolf' },
  { name: 'Eli', role: 'villager' },
  { name: 'Fay', role: 'villager' },
];
const task: Task = { taskId: 'a', mainQuery: 'Win the game.', initMessages: [], metadata: { cast } };

function castsOf(tasks: readonly Task[]): readonly Cast[] {
  return tasks.map((drawn) => drawn.metadata['cast'] as Cast);
}

async function collect(tasks: AsyncIterable<Task>): Promise<readonly Cast[]> {
  const collected: Task[] = [];
  for await (const drawn of tasks) collected.push(drawn);
  return castsOf(collected);
}

type Answer = (messages: readonly ChatMessage[]) => string | Promise<string>;

/** Plays one game in which the side that learns says what `answer` says. */
async function play(answer: Answer, trainableTargets: readonly string[], gameIndex = 0) {
  const model: ChatModel = {
    name: 'test',
    generate: async ({ messages }) => ({
      id: 'answer',
      model: 'test',
      message: { role: 'assistant', content: await answer(messages) },
      finishReason: 'stop',
      usage: { promptTokens: 0, completionTokens: 0 },
    }),
  };
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 64 };
  const options = {
    workflow: WerewolvesWorkflow,
    policy: { kind: 'chat' as const, model },
    sampling,
    timeoutMs: 10_000,
    trainableTargets,
  };
  const episode = await runEpisode(task, options, { episodeId: `game-${gameIndex}`, repeatIndex: 0, seed: 1 });
  if (episode.status === 'failed') throw new Error(episode.error.message);
  return episode;
}

/** Returns how many of 40 games the side that learns wins. */
async function countWins(
  createAnswer: (gameIndex: number) => Answer,
  trainableTargets: readonly string[],
): Promise<number> {
  const games = Array.from({ length: 40 }, (_, gameIndex) =>
    play(createAnswer(gameIndex), trainableTargets, gameIndex),
  );
  return (await Promise.all(games)).filter(({ isSuccess }) => isSuccess).length;
}

const nobody = (): Answer => () => 'Nobody.';

function byRules(gameIndex: number): Answer {
  const player = new ScriptedPlayer(createRandom(gameIndex));
  return async (messages) => (await player.generate({ messages })).message.content;
}

describe('the rules', () => {
  it('give the werewolves the village as soon as they are half of it', () => {
    const village = new Village(cast);
    expect(village.winner).toBeUndefined();
    village.remove('Bo');
    expect(village.winner).toBeUndefined();
    village.remove('Cy');
    expect(village.winner).toBe('werewolf');
  });

  it('give the village to the villagers when no werewolf lives', () => {
    const village = new Village(cast);
    village.remove('Ada');
    village.remove('Dee');
    expect(village.winner).toBe('villager');
  });

  it('leave the dead dead', () => {
    const village = new Village(cast);
    expect(village.remove('Bo')).toBe('Bo');
    expect(village.remove('Bo')).toBeUndefined();
    expect(village.alive).toEqual(['Ada', 'Cy', 'Dee', 'Eli', 'Fay']);
  });

  it('count votes, the first named among equals', () => {
    expect(mostNamed(['Bo', 'Cy', undefined, 'Cy'])).toBe('Cy');
    expect(mostNamed(['Bo', 'Cy'])).toBe('Bo');
    expect(mostNamed([undefined])).toBeUndefined();
  });

  it('read a name out of what is said', () => {
    expect(findName('I suspect Dee.')).toBe('Dee');
    expect(findName('Boris')).toBeUndefined();
  });
});

describe('a game', () => {
  it('rewards the side that learns, which trainable_targets alone decides', async () => {
    const asWerewolves = await play(byRules(1), ['werewolf']);
    expect(asWerewolves.reward).toBe(asWerewolves.metadata['winner'] === 'werewolf' ? 1 : 0);
    const asVillagers = await play(byRules(1), ['villager', 'seer']);
    expect(asVillagers.reward).toBe(asVillagers.metadata['winner'] === 'villager' ? 1 : 0);
  });

  it('is lost more often by those who say nothing', async () => {
    expect(await countWins(nobody, ['werewolf'])).toBeLessThan(await countWins(byRules, ['werewolf']));
    expect(await countWins(nobody, ['villager', 'seer'])).toBeLessThan(await countWins(byRules, ['villager', 'seer']));
  });

  it('gives each player its own role, and only werewolves their fellow', async () => {
    const seen = new Map<string, string>();
    const remember: Answer = ([system]) => {
      const text = system?.content ?? '';
      seen.set(findName(text) ?? '', text);
      return 'Nobody.';
    };
    await play(remember, ['werewolf', 'villager', 'seer']);
    expect(seen.get('Ada')).toBe('You are Ada, a werewolf with Dee.');
    expect(seen.get('Cy')).toBe('You are Cy, the seer.');
    expect(seen.get('Bo')).toBe('You are Bo, a villager.');
  });

  it('lets all that live hear what is said by day, and nobody hear the night', async () => {
    const heard: (readonly string[])[] = [];
    const listen: Answer = (messages) => {
      if (messages[0]?.content.includes('Eli')) heard.push(messages.map(({ content }) => content));
      return messages.at(-1)?.content.endsWith('Speak.') === true ? 'I suspect Fay.' : 'I vote for Bo.';
    };
    await play(listen, ['werewolf', 'villager', 'seer']);
    const last = heard.at(-1) ?? [];
    expect(last).toContain('Ada: I suspect Fay.');
    expect(last.some((text) => text.includes('kill?') || text.includes('check?'))).toBe(false);
  });
});

describe('its tasks', () => {
  it('give training and evaluation no cast in common, for any seed', async () => {
    const evaluation = new Set((await collect(villageTasks.evaluationTasks())).map(toKey));
    expect(evaluation.size).toBe(200);
    for (const drawn of [
      ...(await collect(villageTasks.trainingTasks())),
      ...castsOf(drawTasks('training', { seed: 99, count: 500 })),
    ]) {
      expect(splitOf(drawn)).toBe('training');
      expect(evaluation.has(toKey(drawn))).toBe(false);
    }
  });
});
