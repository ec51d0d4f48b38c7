import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import openSql from 'sql.js';
import { afterAll, expect, it } from 'vitest';
import { readPythonLiteral } from './python-literal.js';
import { readTraces } from './read-traces.js';

const dir = mkdtempSync(path.join(tmpdir(), 'studio-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Writes a file as AgentScope Studio does: each value of a row is in the column of its name. */
async function writeDatabase(rows: readonly Readonly<Record<string, string>>[], table = 'span_table'): Promise<string> {
  const database = new (await openSql()).Database();
  const columns = Object.keys(rows[0] ?? { id: '' });
  database.run(`CREATE TABLE ${table} (${columns.join(', ')})`);
  for (const row of rows)
    database.run(
      `INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`,
      columns.map((name) => row[name]),
    );
  const file = path.join(mkdtempSync(path.join(dir, 'db-')), 'database.sqlite');
  writeFileSync(file, database.export());
  database.close();
  return file;
}

const message = (role: string, content: string) =>
  JSON.stringify({ role, parts: [{ type: 'text', content }], name: 'friday' });
const said = (question: string, answer: string) => ({
  input: { messages: message('user', question) },
  output: { messages: message('assistant', answer) },
});
const reply = (at: number, attributes: object) => ({
  id: `s${at}`,
  traceId: `t${at}`,
  spanId: `s${at}`,
  name: 'invoke_agent Friday',
  runId: 'run',
  endTimeUnixNano: String(1_760_000_000_000_000_000n + BigInt(at)),
  attributes: JSON.stringify(attributes),
});

it('are read from a database of AgentScope Studio, whose attributes are nested or not', async () => {
  const file = await writeDatabase([
    reply(2, { gen_ai: { operation: { name: 'invoke_agent' }, ...said('And now?', 'Then so.') } }),
    reply(1, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': 'c',
      'gen_ai.input.messages': message('user', 'Why?'),
      'gen_ai.output.messages': message('assistant', 'So.'),
      'agentscope.function.input': { args: [], kwargs: { msg: 'not read' } },
    }),
    reply(3, {}),
    { ...reply(4, {}), attributes: 'no JSON' },
  ]);
  expect(await readTraces([file])).toEqual([
    { id: 's1', conversation: 'c', messages: [{ role: 'user', content: 'Why?' }], answer: 'So.', feedback: {} },
    {
      id: 's2',
      conversation: 'run',
      messages: [{ role: 'user', content: 'And now?' }],
      answer: 'Then so.',
      feedback: {},
    },
  ]);
});

it('are read from the first version of the studio, in which Python printed the messages', async () => {
  const msg = (role: string, content: string) =>
    `Msg(id='x1', name='it\\'s me', content=${content}, role='${role}', metadata=None, timestamp='2025-09-01', invocation_id=None)`;
  const spans = [
    {
      input: { args: [], kwargs: { msg: msg('user', `"What's 1, 2 and [3]?"`) } },
      output: msg('assistant', `[{'type': 'text', 'text': 'Six.'}]`),
    },
    { input: { args: [msg('user', `'Grüezi\\n\\u2603'`)], kwargs: {} }, output: msg('assistant', `'Hallo'`) },
    { input: { args: [], kwargs: { msg: '<object at 0x7f>' } }, output: msg('assistant', `'Nobody asked'`) },
  ];
  const file = await writeDatabase(
    spans.map((attributes, at) => ({
      id: `s${at}`,
      traceId: `t${at}`,
      name: 'ReActAgent.reply',
      endTime: `2025-09-01T00:00:0${at}`,
      attributes: JSON.stringify(attributes),
    })),
  );
  const traces = await readTraces([file]);
  expect(traces.map(({ messages, answer }) => [messages.at(-1)?.content, answer])).toEqual([
    ["What's 1, 2 and [3]?", 'Six.'],
    ['Grüezi\n☃', 'Hallo'],
  ]);
});

it('are the reply of the agent, with what was said before the question, and not the calls below it', async () => {
  const call = (at: number, messages: readonly string[], answer: string) => ({
    ...reply(at, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.input.messages': `[${messages.join(',')}]`,
      'gen_ai.output.messages': message('assistant', answer),
    }),
    traceId: 't9',
    name: 'chat gpt',
  });
  const history = [
    message('system', 'Be kind.'),
    message('user', 'One?'),
    message('assistant', 'Yes.'),
    message('user', 'Two?'),
  ];
  const file = await writeDatabase([
    call(1, [message('user', 'Plan this: Two?')], 'Look it up.'),
    call(2, history, 'I look it up.'),
    { ...reply(9, { 'gen_ai.operation.name': 'invoke_agent', gen_ai: said('Two?', 'It is.') }) },
  ]);
  const traces = await readTraces([file]);
  expect(traces.map(({ messages, answer }) => [messages.map(({ content }) => content), answer])).toEqual([
    [['Be kind.', 'One?', 'Yes.', 'Two?'], 'It is.'],
  ]);
});

it('say of other databases, broken ones and those in use what is wrong', async () => {
  const other = await writeDatabase([{ id: '1' }], 'users');
  await expect(readTraces([other])).rejects.toThrow(/no table span_table.* its tables are users\./);
  const broken = path.join(dir, 'broken.sqlite');
  writeFileSync(broken, `SQLite format 3\0${'x'.repeat(5000)}`);
  await expect(readTraces([broken])).rejects.toMatchObject({
    code: 'bad_trace',
    message: expect.stringContaining('broken.sqlite'),
  });
  const inUse = await writeDatabase([reply(1, {})]);
  writeFileSync(`${inUse}-wal`, 'spans');
  await expect(readTraces([inUse])).rejects.toThrow('Stop the studio first');
});

it.each([
  [`Msg(a='x', b=[1, -2.5e1, None], c={'k': True},)`, { a: 'x', b: [1, -25, null], c: { k: true } }],
  [`('a', "it's")`, ['a', "it's"]],
  [`'\\x41\\U0001f600'`, 'A😀'],
  [`{'__proto__': 1}`, JSON.parse('{"__proto__": 1}')],
  [`'open`, undefined],
  [`__import__('os').system('x')`, undefined],
  [`'a' 'b'`, undefined],
  ['['.repeat(100_000), undefined],
])('Python’s %.40s is read, or nothing is', (text, value) => {
  expect(readPythonLiteral(text)).toEqual(value);
});
