#!/usr/bin/env node
/**
 * A small coding agent: coder.mjs "Make test.js pass." It reads, writes and runs files of the current folder. Like larger agents it uses
 * any model with a Chat Completions API, and finds it through three environment variables.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import vm from 'node:vm';

const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL } = process.env;
const maxAnswers = 4;

const file = { type: 'string' };
const tool = (name, description, properties) => ({
  type: 'function',
  function: { name, description, parameters: { type: 'object', properties, required: Object.keys(properties) } },
});
const tools = [
  tool('run', 'Runs a file.', { file }),
  tool('read', 'Reads a file.', { file }),
  tool('write', 'Writes a file.', { file, text: { type: 'string' } }),
];

/** Allows only files in the folder. */
function locate(name) {
  const found = path.resolve(String(name));
  if (path.dirname(found) !== process.cwd()) throw new Error(`no file ${name}`);
  return found;
}

const acts = {
  read: ({ file: name }) => readFileSync(locate(name), 'utf8'),
  write: ({ file: name, text }) => {
    writeFileSync(locate(name), text);
    return 'ok';
  },
  run: ({ file: name }) => {
    const context = vm.createContext({ load });
    function load(other) {
      vm.runInContext(readFileSync(locate(other), 'utf8'), context, { timeout: 1000 });
    }
    load(name);
    return 'ok';
  },
};

function act({ name, arguments: written }) {
  try {
    return acts[name](JSON.parse(written));
  } catch (error) {
    return String(error.message).slice(0, 200);
  }
}

/** Sends the request by hand, because `fetch` would take longer to load than the rest of the program takes. */
function post(url, body) {
  const headers = { authorization: `Bearer ${OPENAI_API_KEY}`, 'content-type': 'application/json' };
  const { request } = url.startsWith('https:') ? https : http;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode, text }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

async function ask(messages) {
  const { status, text } = await post(`${OPENAI_BASE_URL}/chat/completions`, { model: OPENAI_MODEL, messages, tools });
  if (status !== 200) throw new Error(`The model answered ${status}: ${text}`);
  return JSON.parse(text).choices[0].message;
}

const messages = [
  { role: 'system', content: 'You are a coder. Call the tools.' },
  { role: 'user', content: process.argv[2] },
];
for (let answers = 0; answers < maxAnswers; answers++) {
  const message = await ask(messages);
  messages.push(message);
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) break;
  for (const call of calls) messages.push({ role: 'tool', tool_call_id: call.id, content: act(call.function) });
}
console.log(messages.at(-1).content);
