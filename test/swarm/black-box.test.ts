import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configuration, type Task } from 'agentjet';
import { createProgram } from '@agentjet/cli';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { isAgentsFailure } from '@agentjet/core';
import { isProcessAlive } from '@agentjet/core/processes';
import type { Tuner } from '@agentjet/rollout';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { createProgramWorkflow, programsEnded, routeModels, SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

/**
 * Runs episodes of programs that have no code for a swarm. They read the address of their model from environment
 * variables.
 */

const dir = mkdtempSync(path.join(tmpdir(), 'black-box-'));
let server: EndpointServer;
beforeAll(async () => {
  server = await startEndpointServer();
});
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

const task: Task = { taskId: 't1', mainQuery: 'Say hello.', initMessages: [], metadata: { answer: 'hello' } };

/** Returns the command of a program in JavaScript. `ask` calls its model. */
function program(body: string): { readonly command: string; readonly args: readonly string[] } {
  const file = path.join(dir, `program-${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(
    file,
    `const { env } = process;
const ask = async (messages, more = {}) => {
  const response = await fetch(env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + env.OPENAI_API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ model: env.OPENAI_MODEL, messages, ...more }),
  });
  return (await response.json()).choices[0].message.content;
};
${body}`,
  );
  return { command: process.execPath, args: [file] };
}

const talks = program(`console.log(await ask([{ role: 'user', content: env.AJET_QUERY }]));`);

const open = (replies: readonly string[]) => openScriptedEpisode({ replies, endpointHost: server });

/** An agent of the Agent Client Protocol that asks for permission, and then its model. */
const acpAgent = (stopReason: string, first = ''): ReturnType<typeof program> =>
  program(`
    const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const update = (update) => send({ method: 'session/update', params: { sessionId: 's', update } });
    const say = (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
    const { createInterface } = await import('node:readline');
    let prompt;
    ${first}
    for await (const line of createInterface({ input: process.stdin })) {
      const { id, method, params, result } = JSON.parse(line);
      if (method === 'initialize') send({ id, result: { protocolVersion: 1 } });
      if (method === 'session/new') send({ id, result: { sessionId: 's' } });
      if (method === 'session/prompt') {
        prompt = { id, content: params.prompt[0].text };
        say('Let me look. ');
        update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'look' });
        const options = ['reject_once', 'allow_always', 'allow_once'].map((kind) => ({ kind, name: kind, optionId: kind }));
        send({ id: 7, method: 'session/request_permission', params: { sessionId: 's', toolCall: { toolCallId: 't' }, options } });
      }
      if (id === 7) {
        say(result.outcome.optionId + ': ');
        say(await ask([{ role: 'user', content: prompt.content }]));
        send({ id: prompt.id, result: { stopReason: '${stopReason}' } });
      }
    }`);

describe('an agent of the Agent Client Protocol', () => {
  const run = (agent: ReturnType<typeof program>, tuner: Tuner) =>
    createProgramWorkflow({ ...agent, protocol: 'acp' })(task, tuner);

  it('gets its task as a prompt, and its answer is what it said after its last tool call', async () => {
    const { tuner, engine, finish } = open(['hello']);
    const metadata = { answer: 'allow_once: hello', exit_code: 0, stop_reason: 'end_turn', tool_calls: 1 };
    expect(await run(acpAgent('end_turn'), tuner)).toEqual({ reward: 1, isSuccess: true, metadata });
    expect(engine.requests[0]?.text).toContain('Say hello.');
    expect(finish().samples).toHaveLength(1);
  });

  it('has the reward 0 if its turn was stopped', async () => {
    const output = await run(acpAgent('max_turn_requests'), open(['hello']).tuner);
    expect(output).toMatchObject({ reward: 0, metadata: { stop_reason: 'max_turn_requests', exit_code: 1 } });
  });

  it('fails with the end of its standard error if it does not speak the protocol', async () => {
    const silent = program(`console.error('no such flag'); process.exit(3);`);
    await expect(run(silent, open([]).tuner)).rejects.toThrow(
      /The program ended with 3\. Its standard error ends with: no such flag/,
    );
    const other = acpAgent('end_turn', `send({ id: 0, result: { protocolVersion: 99 } });`);
    await expect(run(other, open([]).tuner)).rejects.toThrow(/speaks version 99 of the Agent Client Protocol/);
  });
});

describe('a program', () => {
  it('talks to its model, and one that ends with 0 has the reward 1', async () => {
    const { tuner, finish } = open(['hello']);
    const output = await createProgramWorkflow(talks)(task, tuner);
    expect(output).toMatchObject({ reward: 1, isSuccess: true, metadata: { exit_code: 0, answer: 'hello' } });
    expect(finish().samples).toHaveLength(1);
    const failing = await createProgramWorkflow(program('process.exit(3);'))(task, open([]).tuner);
    expect(failing).toMatchObject({ reward: 0, isSuccess: false, metadata: { exit_code: 3 } });
  });

  it('gets its task in its arguments and its environment, and no key of the swarm', async () => {
    vi.stubEnv('AJET_SWARM_KEY', 'ajk_commander_secret');
    const told = program('console.log(process.argv[2], env.AJET_TASK, env.AJET_SWARM_KEY);');
    const { metadata } = await createProgramWorkflow({ ...told, args: [...told.args, 'q={query}'] })(
      task,
      open([]).tuner,
    );
    vi.unstubAllEnvs();
    const shown = { task_id: 't1', main_query: 'Say hello.', metadata: { answer: 'hello' } };
    expect(metadata?.['answer']).toBe(`q=Say hello. ${JSON.stringify(shown)} undefined`);
  });

  it.each(['$$x^2$$ and $& and $1', '{task_id} {query}', 'line\none', ' -leading space', 'it\'s "quoted"; `id`'])(
    'gets the query %j as it is, in arguments, variables and files',
    async (mainQuery) => {
      const shows = program(`
        const { readFileSync } = await import('node:fs');
        const [query, file] = process.argv.slice(2);
        const { main_query: ofFile } = JSON.parse(readFileSync(env.AJET_TASK_FILE, 'utf8'));
        const all = [query, readFileSync(file, 'utf8'), readFileSync(env.AJET_QUERY_FILE, 'utf8'), env.AJET_QUERY, ofFile];
        console.log(JSON.stringify(all));`);
      const run = createProgramWorkflow({ ...shows, args: [...shows.args, '{query}', '{query_file}'] });
      const { metadata } = await run({ ...task, mainQuery }, open([]).tuner);
      expect(JSON.parse(String(metadata?.['answer']))).toEqual(Array.from({ length: 5 }, () => mainQuery));
    },
  );

  it('reads a query of any size from its file', async () => {
    const mainQuery = 'long '.repeat(200_000);
    const counts = program(`
      const { readFileSync } = await import('node:fs');
      console.log(readFileSync(process.argv[2], 'utf8').length, env.AJET_QUERY, env.AJET_TASK);`);
    const run = createProgramWorkflow({ ...counts, args: [...counts.args, '{query_file}'] });
    const { metadata } = await run({ ...task, mainQuery, metadata: { more: mainQuery } }, open([]).tuner);
    expect(metadata?.['answer']).toBe('1000000 undefined undefined');
  });

  it.each([
    ['an option', '--dangerous', ['{query}'], /begins with "-".*Write -- before \{query\}/],
    ['longer than an argument', 'x'.repeat(200_000), ['{query}'], /has 200000 bytes.*\{query_file\}/],
    ['a zero byte', 'a\0b', ['q={query}'], /zero byte/],
  ])('is not started with a query that is %s, and that is not its failure', async (_what, mainQuery, more, message) => {
    const shows = program('console.log(process.argv.slice(2).join());');
    const running = createProgramWorkflow({ ...shows, args: [...shows.args, ...more] })(
      { ...task, mainQuery },
      open([]).tuner,
    );
    const error: unknown = await running.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'task_refused', message: expect.stringMatching(message) });
    expect(isAgentsFailure({ code: 'task_refused' })).toBe(false);
  });

  it('gets a query that begins with dashes after the end of the options, or inside of an argument', async () => {
    const shows = program('console.log(process.argv.slice(2).join());');
    const run = createProgramWorkflow({ ...shows, args: [...shows.args, '--prompt={query}', '--', '{query}'] });
    const { metadata } = await run({ ...task, mainQuery: '--help' }, open([]).tuner);
    expect(metadata?.['answer']).toBe('--prompt=--help,--,--help');
  });

  it('keeps its files in folders of its episode, and learns where it runs', async () => {
    const names = ['CODEX_HOME', 'CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'TMPDIR'];
    const told = program(
      `console.log(JSON.stringify([process.cwd(), env.PWD, ...${JSON.stringify(names)}.map((n) => env[n])]));`,
    );
    const folder = mkdtempSync(path.join(dir, 'folder-'));
    const { metadata } = await createProgramWorkflow({ ...told, folder })(task, open([]).tuner);
    const [cwd, shown, codex = '', ...others] = JSON.parse(String(metadata?.['answer'])) as string[];
    expect(shown).toBe(cwd);
    const home = path.dirname(codex);
    for (const other of others) expect(path.dirname(other)).toBe(home);
    // The folder of Codex must not be below the one for temporary files. Codex does not install its helper programs
    // there, and it runs commands only with them.
    expect(path.relative(others.at(-1) ?? '', codex)).toMatch(/^\.\./);
  });

  it('is ended with all that it started when the episode is over', async () => {
    const pidFile = path.join(dir, 'child-pid');
    const hangs = program(`
      const { spawn } = await import('node:child_process');
      const { writeFileSync } = await import('node:fs');
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));
      process.on('SIGTERM', () => process.exit(0));
      setInterval(() => {}, 1000);`);
    const over = new AbortController();
    const { tuner } = open([]);
    const running = createProgramWorkflow(hangs)(task, { ...tuner, signal: over.signal });
    await expect.poll(() => readFileSync(pidFile, { encoding: 'utf8', flag: 'a+' })).not.toBe('');
    over.abort(new Error('timeout'));
    await expect(running).rejects.toThrow('timeout');
    const pid = Number(readFileSync(pidFile, 'utf8'));
    await expect.poll(() => isProcessAlive({ pid })).toBe(false);
  });

  it('is waited for when it takes its time to end, and killed if it does not end at all', async () => {
    const ready = path.join(dir, 'ready');
    const stays = program(`
      const { writeFileSync } = await import('node:fs');
      process.on('SIGTERM', () => {});
      writeFileSync(${JSON.stringify(ready)}, String(process.pid));
      setInterval(() => {}, 1000);`);
    const over = new AbortController();
    const { tuner } = open([]);
    const running = createProgramWorkflow(stays)(task, { ...tuner, signal: over.signal });
    running.catch(() => undefined); // its client has stopped, so nobody waits for it
    const { existsSync } = await import('node:fs');
    await expect.poll(() => existsSync(ready) && readFileSync(ready, 'utf8')).toMatch(/\d/);
    over.abort(new Error('Ctrl-C'));
    await programsEnded();
    await expect.poll(() => isProcessAlive({ pid: Number(readFileSync(ready, 'utf8')) })).toBe(false);
  });

  it('works in a copy of a folder', async () => {
    const folder = mkdtempSync(path.join(dir, 'folder-'));
    writeFileSync(path.join(folder, 'a.txt'), 'as it was');
    const writes = program(`
      const { readFileSync, writeFileSync } = await import('node:fs');
      console.log(readFileSync('a.txt', 'utf8'));
      writeFileSync('a.txt', 'changed');`);
    const options = { ...writes, folder, reward: 'grep -q changed a.txt && echo 0.5' };
    for (let run = 0; run < 2; run++) {
      const output = await createProgramWorkflow(options)(task, open([]).tuner);
      expect(output).toMatchObject({ reward: 0.5, metadata: { answer: 'as it was' } });
    }
  });

  it('works in a copy whose links lead into the copy, and not to the original', async () => {
    const folder = mkdtempSync(path.join(dir, 'folder-'));
    writeFileSync(path.join(folder, 'a.txt'), 'as it was');
    symlinkSync('a.txt', path.join(folder, 'link.txt'));
    const writes = program(`
      const { readFileSync, writeFileSync } = await import('node:fs');
      writeFileSync('link.txt', 'changed');
      console.log(readFileSync('a.txt', 'utf8'));`);
    const { metadata } = await createProgramWorkflow({ ...writes, folder })(task, open([]).tuner);
    expect(metadata?.['answer']).toBe('changed');
    expect(readFileSync(path.join(folder, 'a.txt'), 'utf8')).toBe('as it was');
  });

  it('has no task file written or read through a link that leads out of its folder', async () => {
    const outside = mkdtempSync(path.join(dir, 'outside-'));
    writeFileSync(path.join(outside, 'secret.txt'), 'secret');
    const folder = mkdtempSync(path.join(dir, 'folder-'));
    symlinkSync(outside, path.join(folder, 'src'));
    const files = { 'src/secret.txt': 'from the task' };
    const running = createProgramWorkflow({ ...talks, folder })({ ...task, metadata: { files } }, open([]).tuner);
    await expect(running).rejects.toMatchObject({ code: 'task_refused' });
    expect(readFileSync(path.join(outside, 'secret.txt'), 'utf8')).toBe('secret');
    const links = program(`
      const { rmSync, symlinkSync } = await import('node:fs');
      rmSync('src', { recursive: true });
      symlinkSync(${JSON.stringify(outside)}, 'src');`);
    const output = await createProgramWorkflow({ ...links, reward: false })(
      { ...task, metadata: { files } },
      open([]).tuner,
    );
    expect(output.metadata?.['files']).toEqual({});
  });

  it('finds the files of its task, and a judge sees what it made of them', async () => {
    const changes = program(`
      const { readdirSync, rmSync, writeFileSync } = await import('node:fs');
      console.log(readdirSync('.').join());
      writeFileSync('src/a.txt', 'changed');
      rmSync('b.txt');`);
    const files = { 'src/a.txt': 'as it was', 'b.txt': '' };
    const output = await createProgramWorkflow({ ...changes, reward: false })(
      { ...task, metadata: { files } },
      open([]).tuner,
    );
    expect(output.metadata).toMatchObject({ answer: 'b.txt,src', files: { 'src/a.txt': 'changed' } });
    expect(Object.keys(output.metadata?.['files'] ?? {})).toEqual(['src/a.txt']);
  });
});

it.each([
  ['outside of the folder', { '../a.txt': 'x' }],
  ['not text', { 'a.txt': 1 }],
])('a file of a task that is %s is refused', async (what, files) => {
  const running = createProgramWorkflow(talks)({ ...task, metadata: { files } }, open([]).tuner);
  await expect(running).rejects.toThrow(what);
});

describe('a reward command', () => {
  const ask = (reward: string) => createProgramWorkflow({ ...talks, reward })(task, open(['hello']).tuner);

  it('says a number or JSON in its last line; it reads what the program printed', async () => {
    expect(await ask('echo thinking; echo 0.25')).toMatchObject({ reward: 0.25 });
    const json = `read said; [ "$said" = hello ] && echo '{"reward": 2, "is_success": true, "log_metrics": {"words": 1}}'`;
    expect(await ask(json)).toMatchObject({ reward: 2, isSuccess: true, logMetrics: { words: 1 } });
    expect(await ask('echo $AJET_EXIT_CODE')).toMatchObject({ reward: 0 });
  });

  it.each([
    ['fails', 'echo oops >&2; exit 1', /ended with 1: oops/],
    ['says something else', 'echo well done', /printed "well done"\. Its last line must be a number/],
    ['says nothing', 'true', /printed ""/],
    ['says what is not a number', 'echo NaN', /printed "NaN"/],
  ])('that %s is an outage, never a reward', async (_what, command, message) => {
    await expect(ask(command)).rejects.toMatchObject({ code: 'outage', message: expect.stringMatching(message) });
  });
});

describe('model routes', () => {
  it('keep helper calls from being trained, or send them to another model', async () => {
    const asks = program(`
      await ask([{ role: 'user', content: 'A title?' }], { model: 'some-haiku-4' });
      await ask([{ role: 'user', content: 'A plan?' }], { model: 'gpt-mini' });
      console.log(await ask([{ role: 'user', content: env.AJET_QUERY }]));`);
    const seen: string[] = [];
    const other = {
      name: 'other',
      generate: async () => {
        seen.push('other');
        return {
          message: { role: 'assistant', content: 'a plan' },
          finishReason: 'stop',
          usage: { promptTokens: 1, completionTokens: 1 },
        };
      },
    };
    const wrapModel = routeModels([{ pattern: '*haiku*' }, { pattern: 'gpt-*', model: other as never }]);
    const { tuner, finish } = openScriptedEpisode({ replies: ['a title', 'hello'], endpointHost: server, wrapModel });
    expect(await createProgramWorkflow(asks)(task, tuner)).toMatchObject({ metadata: { answer: 'hello' } });
    expect(seen).toEqual(['other']);
    expect(finish().samples).toHaveLength(1);
  });
});

it('a judge of a YAML file scores a program, on held-out tasks too', async () => {
  const yaml = path.join(dir, 'judged.yaml');
  writeFileSync(
    path.join(dir, 'judge.mjs'),
    `export class Judge {
      async judge(task, output) { return { reward: output.metadata.answer === task.metadata.answer ? 0.75 : 0, isSuccess: true }; }
    }`,
  );
  for (const id of ['t1', 'held-out'])
    writeFileSync(
      path.join(dir, `${id}.jsonl`),
      JSON.stringify({ task_id: id, main_query: `Say hello to ${id}.`, metadata: { answer: 'hello' } }),
    );
  writeFileSync(
    yaml,
    `ajet:
  task_reader:
    type: jsonl_dataset_file
    jsonl_dataset_file: { training: { file_path: t1.jsonl }, validation: { file_path: held-out.jsonl } }
  task_judge: { judge_type: customized_protocol, judge_protocol: judge.mjs->Judge }
`,
  );
  const config = configuration.create({
    experimentDir: path.join(dir, 'judged'),
    model: { path: 'nano' },
    data: { trainBatchSize: 1 },
    rollout: { numRepeat: 1, maxResponseLengthInOneTurn: 4 },
    trainerCommon: { totalTrainingSteps: 1, testFreq: 0 },
    onnx: { numThreads: 1 },
  });
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  try {
    const says = program(`await ask([{ role: 'user', content: env.AJET_QUERY }]); console.log('hello');`);
    const ajet = ['node', 'ajet', 'swarm', 'run', '--server', served.server.url, '--conf', yaml];
    const run = (...more: readonly string[]): Promise<unknown> => {
      vi.stubEnv('AJET_SWARM_KEY', served.server.firstKey ?? ''); // the command removes the key from its environment
      return createProgram(() => {}).parseAsync([...ajet, ...more, '--', says.command, ...says.args]);
    };
    await expect(run('--tasks', path.join(dir, 't1.jsonl'), '--reward', 'echo 1')).rejects.toThrow(/has a judge/);
    await run();
    const episodes = [...(served.server.swarm?.context.ledger.state.episodes.values() ?? [])];
    const evaluated = { state: 'evaluated', reward: 0.75, isSuccess: true };
    expect(episodes).toMatchObject([evaluated, { state: 'dropped', reward: 0.75 }, evaluated]);
  } finally {
    vi.unstubAllEnvs();
    await served.close();
  }
});

it('a swarm trains on what a program was answered', async () => {
  const config = configuration.create({
    experimentDir: dir,
    model: { path: 'nano' },
    data: { trainBatchSize: 1 },
    rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 4 },
    trainerCommon: { totalTrainingSteps: 1, testFreq: 0, valBeforeTrain: false },
    onnx: { numThreads: 1 },
  });
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  try {
    const swarm = new SwarmClient({ url: served.server.url, key: served.server.firstKey });
    const workflow = createProgramWorkflow({ ...talks, reward: 'echo $AJET_ATTEMPT' });
    const result = await swarm.run(workflow, { tasks: [task], parallel: 2 });
    expect(result).toMatchObject({ completed: 2, failed: 0, outages: 0 });
    await expect.poll(() => served.server.swarm?.describe().step).toBe(1);
  } finally {
    await served.close();
  }
});
