import type { Random } from '@agentjet/core';
import { findName, names } from '../../../../tutorial/03-werewolves/village.js';
import { lastMessage, pick, type Teacher } from './teacher.js';

/** Names somebody who lives, itself included; a werewolf gives its own fellow away every other time. */
function nameSomebody(prompt: string, random: Random): string {
  const lastCount = prompt.slice(prompt.lastIndexOf('Alive:')).split('\n', 1)[0] ?? '';
  const alive = names.filter((name) => lastCount.includes(name));
  const fellow = findName(/a werewolf with (\w+)\./.exec(prompt)?.[1] ?? '');
  return fellow !== undefined && alive.includes(fellow) && random.next() < 0.5 ? fellow : pick(alive, random);
}

export const villageTeacher: Teacher = (prompt, random) => {
  const name = nameSomebody(prompt, random);
  if (!lastMessage(prompt).endsWith('Speak.')) return name;
  return random.next() < 0.25 ? `I am the seer. ${name} is a werewolf.` : `I suspect ${name}.`;
};
