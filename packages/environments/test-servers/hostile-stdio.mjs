// A server of the Model Context Protocol over stdio that answers its tool `act` with the attack in ATTACK: a line of 100 MB (`flood`), nested
// lists (`nest`), single bytes without an end (`drip`), another request's answer (`foreign`), or lines of invalid JSON (`nonsense`).
import { createInterface } from 'node:readline';

const attack = process.env.ATTACK;
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (said) => ({ content: [{ type: 'text', text: said }] });
const tools = [{ name: 'act', inputSchema: { type: 'object' } }];

process.stdout.on('error', () => process.exit(0));
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === 'initialize') {
      const { protocolVersion } = params;
      const serverInfo = { name: 'hostile', version: '1' };
      say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
    } else if (method === 'tools/list') say({ id, result: { tools } });
    else if (method === 'tools/call') act(id);
  })
  .on('close', () => process.exit(0));

function act(id) {
  if (attack === 'foreign') say({ id: id + 1, result: text('for another request') });
  else if (attack === 'nest') {
    const depth = 200_000;
    const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    process.stdout.write(
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":${nested}}}}\n`,
    );
  } else if (attack === 'nonsense') {
    process.stdout.write('Listening on port 80\n{"half": \n[]\n');
    say({ id, result: text('said in spite of it') });
  } else if (attack === 'drip') setInterval(() => process.stdout.write('x'), 20);
  else flood(100);
}

function flood(left) {
  if (left === 0) return;
  process.stdout.write('x'.repeat(2 ** 20), () => flood(left - 1));
}
