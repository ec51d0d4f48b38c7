// The program's interpreter. It holds the program and nothing of the test: it receives arguments and sends answers.
const maxPrinted = 1000;

class Program extends Peer {
  constructor() {
    super(1);
    this.operations.load = () => void run(given['solution.js']);
    this.operations.defines = (name) => {
      try {
        this.look(name);
        return true;
      } catch {
        return false;
      }
    };
    this.operations.name = (name) => this.look(name);
  }

  look(name) {
    if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) throw new ReferenceError(name);
    return run(`(${name})`);
  }

  /** The methods of a test's function, such as `call`, are not properties of the test. */
  property(target, key, kind) {
    if (kind === 'function' && ['call', 'apply', 'bind', 'toString'].includes(key)) return Function.prototype[key];
    if (kind === 'object' && ['hasOwnProperty', 'toString', 'constructor'].includes(key)) return Object.prototype[key];
    return super.property(target, key);
  }

  print(level, values) {
    if (this.printed.length < maxPrinted) this.printed.push([level, values.map((value) => this.shown(value))]);
  }

  shown(value) {
    try {
      return this.encode(value);
    } catch {
      return 'a value that cannot be shown';
    }
  }
}

const program = new Program();
for (const level of ['log', 'info', 'warn', 'error', 'debug'])
  console[level] = (...values) => program.print(level, values);
console.assert = (isRight, ...values) => void (isRight || program.print('error', ['Assertion failed', ...values]));
globalThis.print = (...values) => program.print('log', values);
(line) => program.serve(line);
