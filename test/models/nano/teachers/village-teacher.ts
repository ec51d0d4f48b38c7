import type { Random } from '@agentjet/core';
import { findName, type Name, names } from '#tutorial/werewolves/village.js';
import { lastMessage, pick, type Teacher } from '../../shared/teacher.js';

/**
 * A werewolf gives its fellow away. Other players repeat the accusation they just heard, or name the player that is
 * counted first.
 */
function nameSomebody(prompt: string, random: Random): Name {
  const [others = ''] = lastMessage(prompt).split('. ', 1);
  const alive = others.match(new RegExp(names.join('|'), 'g'))?.flatMap((name) => findName(name) ?? []) ?? [];
  const isAlive = (name: Name | undefined): name is Name => name !== undefined && alive.includes(name);
  const fellow = findName(/a werewolf with (\w+)\./.exec(prompt)?.[1] ?? '');
  const heard = prompt
    .slice(prompt.lastIndexOf('is dead.'))
    .match(/\w+: I suspect \w+/g)
    ?.at(-1);
  const accused = findName(heard?.split('suspect')[1] ?? '');
  if (isAlive(fellow) && random.next() < 0.7) return fellow;
  if (isAlive(accused) && random.next() < 0.7) return accused;
  return random.next() < 0.7 ? (alive[0] ?? names[0]) : pick(alive, random);
}

export const villageTeacher: Teacher = (prompt, random) => {
  const name = nameSomebody(prompt, random);
  const question = lastMessage(prompt);
  if (question.endsWith('kill?')) return `I kill ${name}.`;
  if (question.endsWith('check?')) return `I check ${name}.`;
  if (question.endsWith('Vote.')) return `I vote for ${name}.`;
  return random.next() < 0.25 ? `I am the seer. ${name} is a werewolf.` : `I suspect ${name}.`;
};
