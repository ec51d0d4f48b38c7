import type { Random } from '@agentjet/core';
import { names } from '../../../../tutorial/03-werewolves/village.js';
import { lastMessage, pick, type Teacher } from './teacher.js';

/** Names anybody, the dead and itself included; as a werewolf it gives its own fellow away more often than not. */
function nameSomebody(prompt: string, random: Random): string {
  const [, fellow] = /a werewolf with (\w+)\./.exec(prompt) ?? [];
  return fellow !== undefined && random.next() < 0.4 ? fellow : pick(names, random);
}

export const villageTeacher: Teacher = (prompt, random) => {
  const name = nameSomebody(prompt, random);
  if (!lastMessage(prompt).endsWith('Speak.')) return name;
  return random.next() < 0.25 ? `I am the seer. ${name} is a werewolf.` : `I suspect ${name}.`;
};
