import type { SandboxCase } from './cases.js';

/** The code of a case can pass constructors of functions to `tryWith`, and objects of the host to `tryAll`. */
const prelude = String.raw`
function tryWith(make) {
  try {
    const found = make('return typeof process === "object" && process.versions ? process : undefined')();
    if (found) console.log('ESCAPED', found.env.SECRET);
  } catch {}
}
function tryAll(...things) {
  for (let thing of things)
    for (let depth = 0; depth < 6 && thing != null; depth++) {
      if (typeof thing.constructor === 'function') tryWith(thing.constructor), tryWith(thing.constructor.constructor);
      thing = Object.getPrototypeOf(thing);
    }
}
`;

const javascriptCase = (name: string, code: string): SandboxCase => ({
  name,
  language: 'javascript',
  code: prelude + code,
});

export const escapes: readonly SandboxCase[] = [
  javascriptCase(
    'code uses the modules and functions of the host by their names',
    String.raw`
const attempts = [
  () => process.env.SECRET, () => require('fs').readFileSync('CANARY_FILE', 'utf8'), () => std.loadFile('CANARY_FILE'),
  () => os.readdir('/')[0].length && 'ESCAPED', () => Deno.readTextFileSync('CANARY_FILE'), () => scriptArgs.length && 'ESCAPED',
  () => process.binding('fs') && 'ESCAPED', () => module.constructor._load('fs') && 'ESCAPED', () => std.getenv('SECRET'),
  () => global.process.env.SECRET, () => process.mainModule.require('child_process') && 'ESCAPED', () => std.getenviron(),
];
for (const attempt of attempts) { try { console.log(attempt()); } catch {} }`,
  ),
  javascriptCase(
    'code reads files with the functions of engine shells',
    String.raw`
for (const name of ['read', 'readFile', 'load', 'loadScript', 'snarf', 'readbuffer', 'readline', 'evalScript', 'loadFile'])
  if (typeof globalThis[name] === 'function') console.log(name, globalThis[name]('CANARY_FILE'));
for (const name of ['Module', 'FS', 'NODEFS', 'ENV', '$262', 'drainJobQueue', '_malloc', 'HEAPU8', 'wasmMemory', 'QTS'])
  if (name in globalThis) console.log('ESCAPED', name);`,
  ),
  javascriptCase(
    'code reaches the port with the network functions of browsers',
    String.raw`
const open = [
  () => fetch('http://127.0.0.1:CANARY_PORT/'), () => new WebSocket('ws://127.0.0.1:CANARY_PORT/'),
  () => new EventSource('http://127.0.0.1:CANARY_PORT/'), () => navigator.sendBeacon('http://127.0.0.1:CANARY_PORT/'),
  () => { const request = new XMLHttpRequest(); request.open('GET', 'http://127.0.0.1:CANARY_PORT/', false); request.send(); },
];
(async () => { for (const attempt of open) { try { await attempt(); console.log('ESCAPED'); } catch {} } })();`,
  ),
  javascriptCase(
    'code sends messages to the thread that started it',
    String.raw`
const names = ['postMessage', 'parentPort', 'Worker', 'MessageChannel', 'BroadcastChannel', 'importScripts', 'onmessage'];
for (const name of names)
  if (name in globalThis) {
    try { postMessage({ stdout: 'forged', type: 'result' }); } catch {}
    console.log('ESCAPED', name);
  }`,
  ),
  javascriptCase(
    'code compiles WebAssembly that grows the memory of the host',
    String.raw`
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
const found = new WebAssembly.Module(bytes);
tryAll(found, WebAssembly, WebAssembly.Memory, new WebAssembly.Instance(found, {}));
console.log('ESCAPED');`,
  ),
  javascriptCase(
    'code makes functions with the constructors of the functions that the host gave it',
    String.raw`
for (const name of Object.getOwnPropertyNames(globalThis)) {
  const thing = globalThis[name];
  if (thing != null) tryAll(thing);
  if (thing && typeof thing === 'object') for (const key of Reflect.ownKeys(thing)) { try { tryAll(thing[key]); } catch {} }
}
tryAll(console.log, print, console, files, stdin, this, globalThis);`,
  ),
  javascriptCase(
    'code finds functions of another realm among all objects that it can reach',
    String.raw`
const seen = new Set(), queue = [globalThis, console, (function () { return this; })()];
const kinds = [Function, (async () => 0).constructor, (function* () {}).constructor, (async function* () {}).constructor];
while (queue.length) {
  const thing = queue.pop();
  if (thing === null || (typeof thing !== 'object' && typeof thing !== 'function') || seen.has(thing)) continue;
  seen.add(thing);
  if (typeof thing === 'function' && typeof thing.constructor === 'function' && !kinds.includes(thing.constructor)) tryAll(thing);
  queue.push(Object.getPrototypeOf(thing));
  for (const key of Reflect.ownKeys(thing)) {
    const property = Object.getOwnPropertyDescriptor(thing, key);
    queue.push(property.value, property.get, property.set);
  }
}
console.log(seen.size);`,
  ),
  javascriptCase(
    'code constructs functions for a new target that the host made',
    String.raw`
for (const target of [console.log, print, Object, Function, Proxy].filter((one) => typeof one === 'function')) {
  tryWith((code) => Reflect.construct(Function, [code], target));
  tryWith((code) => Reflect.apply(target.constructor, target, [code]));
  tryWith((code) => Function.prototype.call.call(target.constructor, globalThis, code));
  tryWith((code) => (0, eval)('(function () {' + code + '})'));
}`,
  ),
  javascriptCase(
    'code imports the modules of the host',
    String.raw`
const names = ['fs', 'node:fs', 'std', 'os', 'qjs:std', 'qjs:os', 'bjson', 'node:process', 'child_process', 'env', 'wasi'];
(async () => {
  for (const name of names) {
    try { console.log('ESCAPED', Object.keys(await import(name))); } catch {}
    try { console.log('ESCAPED', await new Function('name', 'return import(name)')(name)); } catch {}
  }
})();`,
  ),
  javascriptCase(
    'code imports the file and addresses as modules',
    String.raw`
const paths = ['CANARY_FILE', 'file://CANARY_FILE', './../../../../../..CANARY_FILE', 'http://127.0.0.1:CANARY_PORT/a.js', '/etc/passwd'];
const load = new Function('path', 'options', 'return import(path, options)');
(async () => {
  for (const path of paths)
    for (const type of ['json', 'text', 'bytes', undefined])
      for (const attempt of [() => load(path, type && { with: { type } }), () => import(path)])
        try {
          console.log((await attempt()).default);
          console.log('ESCAPED');
        } catch (error) { console.log(String(error.message).slice(0, 300)); }
})();`,
  ),
  {
    name: 'code is a module that imports the file with a statement',
    language: 'javascript',
    code: `import text from 'CANARY_FILE' with { type: 'text' };\nimport * as std from 'std';\nconsole.log(text, std, import.meta.url);`,
  },
  javascriptCase(
    'code catches the errors of functions of the host',
    String.raw`
const causes = [
  () => console.log({ get a() { throw new Error('getter'); } }), () => console.log(Object.create(null)),
  () => console.log(new Proxy({}, { ownKeys() { throw 1; }, get() { throw 1; }, getPrototypeOf() { throw 1; } })),
  () => console.log.call(null, { toString() { throw this; } }), () => console.log(Symbol('a'), 2n ** 4000n),
  () => { const deep = () => { console.log(''); deep(); }; deep(); }, () => Reflect.construct(console.log, []),
  () => print({ toString: 1, valueOf: 1 }), () => files[Symbol.iterator](), () => console.log('\ud800'.repeat(1000)),
];
for (const cause of causes) { try { cause(); } catch (error) { if (error !== null) tryAll(error); } }`,
  ),
  javascriptCase(
    'code reads the frames of the host in stack traces',
    String.raw`
Error.stackTraceLimit = 1000;
Error.prepareStackTrace = (error, frames) => {
  for (const frame of frames ?? []) { tryAll(frame); try { tryAll(frame.getThis(), frame.getFunction()); } catch {} }
  return frames;
};
const traces = [new Error('a').stack];
try { null.a; } catch (error) { traces.push(error.stack, error.fileName); }
[1].map(() => traces.push(new Error('b').stack));
Promise.resolve().then(() => traces.push(new Error('c').stack)).then(() => {
  if (/node_modules|file:|\/src\/|\/dist\/|wasm:|node:/.test(traces.join())) console.log('ESCAPED');
});`,
  ),
  javascriptCase(
    'code goes up the callers of its functions',
    String.raw`
function up() {
  for (let caller = up.caller, depth = 0; caller && depth < 100; caller = caller.caller, depth++) tryAll(caller, ...(caller.arguments ?? []));
}
try { up(); } catch {}
const loose = new Function('tryAll', 'try { tryAll(arguments.callee.caller, this); } catch {}');
loose(tryAll);
console.log({ toString: loose.bind(null, tryAll) });`,
  ),
  javascriptCase(
    'code returns a promise that gets functions of the host',
    String.raw`
({ then(resolve, reject) { tryAll(resolve, reject, this); resolve({ then(again) { tryAll(again); again(1); } }); } })`,
  ),
  javascriptCase(
    'code returns a proxy whose traps get objects of the host',
    String.raw`
new Proxy(function () {}, new Proxy({}, {
  get: (handlers, name) => (...values) => { values.forEach((value) => value != null && tryAll(value)); return Reflect[name](...values); },
}))`,
  ),
  javascriptCase(
    'code returns an object with methods that printers call',
    String.raw`
const hook = function (...values) { tryAll(this, ...values.filter((value) => value != null)); return 'x'; };
const names = ['toJSON', 'toString', 'valueOf', 'inspect', Symbol.toPrimitive, Symbol.for('nodejs.util.inspect.custom')];
const result = Object.fromEntries(names.map((name) => [name, hook]));
Object.defineProperty(result, Symbol.toStringTag, { get: hook });
console.log(result);
result`,
  ),
  javascriptCase(
    'code returns an object that changes the prototypes of the host',
    String.raw`
const result = JSON.parse('{"__proto__": {"limit": "forged", "stdout": "ESC" , "polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}');
if ({}.polluted) console.log('polluted inside');
[result, Object.defineProperty([], '__proto__', { value: { polluted: 1 }, enumerable: true })]`,
  ),
  javascriptCase(
    'code catches objects of the host in setters of all objects',
    String.raw`
let inside = false;
const look = (...things) => {
  if (inside) return;
  inside = true;
  tryAll(...things);
  inside = false;
};
for (const name of ['stdout', 'error', 'limit', 'value', 'result', 'message', 'stack', 'then', 'type', 'memory', 'get', 'set', 'log', '0'])
  Object.defineProperty(Object.prototype, name, {
    __proto__: null, set(value) { look(this, value); }, get() { look(this); }, configurable: true,
  });
console.log('a', { b: [1, {}] });
[{ a: 1 }, new Error('b')]`,
  ),
  javascriptCase(
    'code replaces the functions with which the host handles results',
    String.raw`
for (const owner of [Array.prototype, String.prototype, Object, JSON, Reflect, Promise, Promise.prototype, Map.prototype, console])
  for (const name of Object.getOwnPropertyNames(owner)) {
    const own = Object.getOwnPropertyDescriptor(owner, name).value;
    if (typeof own !== 'function' || name === 'constructor' || ['getPrototypeOf', 'forEach'].includes(name)) continue;
    try {
      owner[name] = function (...values) { tryAll(this, own); for (const value of values) if (value != null) tryAll(value); return own.apply(this, values); };
    } catch {}
  }
console.log('a', { b: 1 });
[1, { a: 'b' }]`,
  ),
  {
    name: 'code closes the function that may be around it',
    language: 'javascript',
    code: `0; }); })(); } catch {} }\nconsole.log(typeof require === 'function' || typeof process === 'object' ? 'ESCAPED' : '');\n(async () => { try { (() => {`,
  },
  javascriptCase(
    'code reads beyond an array whose memory it shrinks meanwhile',
    String.raw`
const shrunk = (act) => {
  const memory = new ArrayBuffer(4096, { maxByteLength: 1 << 20 });
  const view = new Uint8Array(memory);
  let values = [];
  try { values = Array.from(act(view, () => memory.resize(8))); } catch {}
  if (values.some((value) => value !== undefined && value !== 0 && value !== 7)) console.log('ESCAPED');
};
shrunk((view, shrink) => view.slice(0, { valueOf() { shrink(); return 4096; } }));
shrunk((view, shrink) => view.fill(7, { valueOf() { shrink(); return 0; } }, 4096) && Array.from({ length: 4096 }, (_, i) => view[i]));
shrunk((view, shrink) => view.subarray(100, 4000).sort((a, b) => { shrink(); return a - b; }));
shrunk((view, shrink) => Uint8Array.from(view, (value, i) => { if (i === 4) shrink(); return value; }));
shrunk((view, shrink) => view.copyWithin(0, { valueOf() { shrink(); return 2048; } }, 4096));
shrunk((view, shrink) => { view.constructor = { [Symbol.species]: function (n) { shrink(); return new Uint8Array(n); } }; return view.map(() => 0); });`,
  ),
  javascriptCase(
    'code asks for files above those that it was given',
    String.raw`
for (const path of ['CANARY_FILE', '../../../../../../..CANARY_FILE', '..', '/', '__proto__', 'constructor', '/proc/self/environ'])
  for (const source of [files, stdin, Object(files), Object(stdin)])
    try {
      const found = typeof source === 'function' ? source(path) : (source.get?.(path) ?? source.read?.(path) ?? source[path]);
      console.log(typeof found === 'string' ? found : '');
      if (found != null) tryAll(found);
    } catch {}`,
  ),
  javascriptCase(
    'code leaves marks and jobs for later runs',
    String.raw`
globalThis.leftByAnEarlierRun = true;
Object.prototype.leftByAnEarlierRun = true;
console.leftByAnEarlierRun = true;
const end = Date.now() + 3000;
(async () => { while (Date.now() < end) await null; })();
new FinalizationRegistry(() => { globalThis.leftByAnEarlierRun = true; }).register({}, 1);`,
  ),
  javascriptCase(
    'code finds the marks that an earlier run left',
    String.raw`
if (globalThis.leftByAnEarlierRun || {}.leftByAnEarlierRun || console.leftByAnEarlierRun) console.log('ESCAPED');`,
  ),
];

const seconds = 'const end = Date.now() + 20000;\n';

const exhaustion = (name: string, code: string): SandboxCase => ({
  name,
  language: 'javascript',
  code: seconds + code,
});

export const exhaustions: readonly SandboxCase[] = [
  exhaustion(
    'an array grows',
    'const all = []; while (Date.now() < end && all.length < 1e8) for (let i = 0; i < 1e5; i++) all.push(i + 0.5);',
  ),
  exhaustion(
    'a string is doubled',
    "let text = 'ab'; while (Date.now() < end) { text += text + 'c'; text.charCodeAt(5); }",
  ),
  exhaustion(
    'ropes of strings are never joined',
    "const all = []; let rope = ''; while (Date.now() < end) { rope = 'x' + rope + all.length; if (all.length < 1e7) all.push(rope); }",
  ),
  exhaustion(
    'typed arrays of 32 MB are written',
    'const all = []; for (let i = 0; i < 64; i++) all.push(new Float64Array(1 << 22).fill(i));',
  ),
  exhaustion(
    'an array buffer grows step by step',
    'const memory = new ArrayBuffer(1, { maxByteLength: 2 ** 31 - 1 }); for (let n = 1 << 20; Date.now() < end; n += 1 << 20) { memory.resize(n); new Uint8Array(memory).fill(1, n - 4096); }',
  ),
  exhaustion(
    'shared array buffers are written',
    'const all = []; for (let i = 0; i < 200; i++) all.push(new Uint8Array(new SharedArrayBuffer(1e7)).fill(i));',
  ),
  exhaustion(
    'symbols flood the registry and a weak map',
    'const keys = [], weak = new WeakMap(); for (let i = 0; i < 5e6 && Date.now() < end; i++) { const key = { i }; keys.push(Symbol.for("s" + i), key); weak.set(key, [i]); }',
  ),
  exhaustion(
    'a million generators wait',
    'const all = []; function* wait() { let own = [1, 2, 3]; yield own; } while (Date.now() < end && all.length < 1e6) { const one = wait(); one.next(); all.push(one); }',
  ),
  exhaustion(
    'promises start promises without end',
    'let started = 0; const start = () => { if (started++ < 5e6 && Date.now() < end) { Promise.resolve().then(start); Promise.resolve().then(start); } }; start();',
  ),
  exhaustion('an async loop never yields to the host', '(async () => { while (Date.now() < end) await null; })();'),
  exhaustion(
    'a loop catches the error that ends it',
    'function again() { try { while (Date.now() < end); } catch { again(); } finally { while (Date.now() < end); } } again();',
  ),
  exhaustion('a regular expression backtracks', "/^(a+)+$/.test('a'.repeat(29) + 'b');"),
  exhaustion(
    'a big integer is multiplied with itself',
    'let big = 3n; while (Date.now() < end) { try { big *= big; } catch { big = (1n << 1000000n) - 1n; String(big); } }',
  ),
  exhaustion(
    'functions call themselves',
    'let depth = 0; const call = (a, b, c) => { depth++; return [a, b, call(b, c, a)]; }; call(1, 2, 3);',
  ),
  exhaustion(
    'proxies of proxies are read',
    'let proxy = {}; for (let i = 0; i < 1e6; i++) proxy = new Proxy(proxy, {}); proxy.a;',
  ),
  exhaustion(
    'output has long lines',
    "const line = 'x'.repeat(1 << 20); for (let i = 0; i < 2000 && Date.now() < end; i++) console.log(line);",
  ),
  exhaustion(
    'output has a million short calls',
    "for (let i = 0; i < 3e7 && Date.now() < end; i++) console.error('');",
  ),
  exhaustion('the result has a getter that does not end', '({ get slow() { while (Date.now() < end); return 1; } })'),
  exhaustion(
    'the result is a list in a list, a million deep',
    'let deep = []; for (let i = 0; i < 1e6; i++) deep = [deep]; deep',
  ),
  exhaustion('the error has a message of 100 MB', "throw new Error('x'.repeat(1e8));"),
  exhaustion(
    'the error has a stack that takes forever',
    'const error = new Error("a"); Object.defineProperty(error, "stack", { get() { while (Date.now() < end); } }); Object.defineProperty(error, "message", { get() { while (Date.now() < end); } }); throw error;',
  ),
  exhaustion(
    'the code waits for another thread',
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 20000);',
  ),
  exhaustion('an array is filled up to its largest length', 'new Array(4294967295).fill(1).length;'),
  exhaustion('the result is a promise that nobody keeps', 'new Promise(() => {})'),
  exhaustion('JSON is parsed that is a million lists deep', "JSON.parse('['.repeat(5e6));"),
  exhaustion('source text of 50 MB is compiled', "new Function('return [' + '(a) => a + 1,'.repeat(4e6) + ']')();"),
  exhaustion(
    'a sparse array is sorted and joined',
    'const sparse = []; sparse[4294967290] = 1; sparse.sort(); sparse.join("x");',
  ),
  exhaustion(
    'a comparison during a sort does not end',
    '[3, 2, 1].sort(() => { while (Date.now() < end); return 0; });',
  ),
  exhaustion(
    'a replacement multiplies text',
    "let text = 'a'.repeat(1000); while (Date.now() < end) text = text.replace(/a/g, '$&$`');",
  ),
];
