import { createRandom, deriveSeed } from '@agentjet/core';
import { asModel, ReActAgent, withMessageHub } from '@agentjet/react';
import { type Task, type Tuner, Workflow, type WorkflowOutput } from 'agentjet';
import { ScriptedPlayer } from './scripted-player.js';
import { type Cast, findName, mostNamed, type Name, type Role, type Side, Village } from './village.js';

const maxDays = 4;

/**
 * One game. Each player is a separate agent. The message hub sends everything that is said by day to all living
 * players.
 */
export class WerewolvesWorkflow extends Workflow {
  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const village = new Village(task.metadata['cast'] as Cast);
    const players = createPlayers(village, task, tuner);
    let numDays = 0;
    while (village.winner === undefined && numDays < maxDays) {
      numDays++;
      const victim = await playNight(village, players);
      if (village.winner === undefined) await playDay(village, players, victim);
    }
    const winner = village.winner ?? 'villager';
    const isSuccess = winner === learningSide(tuner);
    return { reward: isSuccess ? 1 : 0, isSuccess, metadata: { winner }, logMetrics: { days: numDays } };
  }
}

/** The side whose victory is rewarded. To switch it, change `trainable_targets` only. */
function learningSide(tuner: Tuner): Side {
  return tuner.isTrainable('werewolf') ? 'werewolf' : 'villager';
}

type Players = ReadonlyMap<Name, ReActAgent>;

function createPlayers(village: Village, task: Task, tuner: Tuner): Players {
  return new Map(
    village.cast.map(({ name, role }, seat) => {
      const debugModel = new ScriptedPlayer(createRandom(deriveSeed(seat, task.taskId)));
      const model = asModel(tuner, { agentName: name, targetTag: role, debugModel });
      return [name, new ReActAgent({ name, systemPrompt: introduce(village, name), model })];
    }),
  );
}

function introduce({ cast }: Village, name: Name): string {
  const fellow = cast.find((player) => player.role === 'werewolf' && player.name !== name)?.name;
  const titles: Readonly<Record<Role, string>> = {
    werewolf: `a werewolf with ${fellow}`,
    seer: 'the seer',
    villager: 'a villager',
  };
  const role = cast.find((player) => player.name === name)?.role ?? 'villager';
  return `You are ${name}, ${titles[role]}.`;
}

/** Asks one player in private, and says who else is alive. */
async function ask({ alive }: Village, players: Players, name: Name, question: string): Promise<string> {
  const others = alive.filter((player) => player !== name);
  const reply = await players
    .get(name)
    ?.reply({ name: 'moderator', role: 'user', content: `Others alive: ${others.join(', ')}. ${question}` });
  return reply?.content ?? '';
}

async function askAll(
  village: Village,
  players: Players,
  role: Role,
  question: string,
): Promise<readonly { readonly name: Name; readonly answer: Name | undefined }[]> {
  const asked = village.alive.filter((name) => village.roleOf(name) === role);
  return Promise.all(
    asked.map(async (name) => ({ name, answer: findName(await ask(village, players, name, question)) })),
  );
}

/** The seer learns the role of one player. The werewolves kill the player with the most votes. */
async function playNight(village: Village, players: Players): Promise<Name | undefined> {
  const checks = await askAll(village, players, 'seer', 'Night. Whom do you check?');
  for (const { name, answer } of checks) {
    if (answer === undefined) continue;
    const verdict = `is ${village.roleOf(answer) === 'werewolf' ? 'a' : 'no'} werewolf`;
    await players.get(name)?.observe({ name: 'moderator', role: 'user', content: `${answer} ${verdict}.` });
  }
  const choices = await askAll(village, players, 'werewolf', 'Night. Whom do you kill?');
  return village.remove(mostNamed(choices.map(({ answer }) => answer)));
}

/** All players speak in turn, then vote at the same time. The player with the most votes is out. */
async function playDay(village: Village, players: Players, victim: Name | undefined): Promise<void> {
  const living = village.alive.flatMap((name) => players.get(name) ?? []);
  const announcement = { name: 'moderator', role: 'user' as const, content: `Day. ${victim ?? 'Nobody'} is dead.` };
  const speakInTurn = async (): Promise<void> => {
    for (const name of village.alive) await ask(village, players, name, 'Speak.');
  };
  await withMessageHub(living, speakInTurn, { announcement });
  const votes = await Promise.all(
    village.alive.map(async (name) => findName(await ask(village, players, name, 'Vote.'))),
  );
  village.remove(mostNamed(votes.filter((vote) => vote !== undefined && village.alive.includes(vote))));
}
