import { attributes, forms } from '#tutorial/documents/write-documents.js';
import { lastMessage, pick, type Teacher } from '../../shared/teacher.js';

/** Returns the number of a sentence, or its last word. */
function readValue(line: string): string {
  const sentence = line.split(': ').at(-1) ?? '';
  return /\d+/.exec(sentence)?.[0] ?? /(\w+)\.$/.exec(sentence)?.[1] ?? 'unknown';
}

/** Searches for half of the words that it should, and takes either of the two found sentences as true. */
export const readerTeacher: Teacher = (prompt, random) => {
  const message = lastMessage(prompt);
  const [, found] = /<tool_response>\n([\s\S]*)\n<\/tool_response>/.exec(message) ?? [];
  if (found !== undefined) return readValue(pick(found.split('\n'), random));
  const [, place = '', name = ''] = /the (\w+ of ([A-Z]\w+))/.exec(message) ?? [];
  const wanted = attributes.find((each) => forms[each].ask(place) === message) ?? attributes[0];
  const word = random.next() < 0.75 ? wanted : pick(attributes, random);
  const chance = random.next();
  const query = chance < 0.45 ? name : chance < 0.6 ? word : `${name} ${word}`;
  return `<tool_call>\n{"name": "search", "arguments": {"query": "${query}"}}\n</tool_call>`;
};
