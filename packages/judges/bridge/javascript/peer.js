// The test and the program run in two interpreters, and each has a Peer. A Peer asks the other one to do something with
// an object there, and serves the requests of the other one.
const send = ask;
const run = evaluate;
const given = files;
for (const name of ['ask', 'evaluate', 'stdin', 'files']) delete globalThis[name];

class Peer extends Codec {
  progress = 0;
  printed = [];

  message(fields) {
    const updates = this.updates();
    const settled = this.settled.splice(0).map(([number, isFine, value]) => [number, isFine, this.encode(value)]);
    const message = { ...fields, u: updates, s: settled, x: this.unused() };
    const printed = this.printed.splice(0);
    if (printed.length > 0) message.o = printed;
    for (const key of ['u', 's', 'x']) if (message[key].length === 0) delete message[key];
    return stringify(message);
  }

  ask(op, ...args) {
    const answer = this.receive(send(this.message({ q: op, a: args.map((arg) => this.encode(arg)) })));
    if ('e' in answer) throw this.read(answer.e);
    return this.read(answer.r);
  }

  receive(line) {
    try {
      const message = parse(line);
      this.apply(message);
      this.show(message.o);
      return message;
    } catch (error) {
      return this.bad(error);
    }
  }

  read(data) {
    try {
      return this.decode(data);
    } catch (error) {
      return this.bad(error);
    }
  }

  serve(line) {
    const { q: op, a: args } = this.receive(line);
    try {
      const operation = this.operations[op];
      if (operation === undefined) this.bad(new BadMessage('an unknown question'));
      const result = operation(...this.arguments(args));
      return this.message({ r: this.encode(result) });
    } catch (error) {
      return this.failure(error);
    }
  }

  arguments(args) {
    return args.map((arg) => this.read(arg));
  }

  failure(error) {
    try {
      return this.message({ e: this.encode(error) });
    } catch {
      return this.message({ e: this.encode(new Error('an error that cannot be shown')) });
    }
  }

  bad(error) {
    throw error;
  }

  show() {}

  operations = Object.assign(Object.create(null), {
    get: (target, key) => target[key],
    set: (target, key, value) => Reflect.set(target, key, value),
    has: (target, key) => Reflect.has(target, key),
    delete: (target, key) => Reflect.deleteProperty(target, key),
    keys: (target) => ownKeys(target).filter((key) => typeof key === 'string'),
    describe: (target, key) => {
      const found = getOwnPropertyDescriptor(target, key);
      return found === undefined ? undefined : [target[key], found.enumerable];
    },
    prototype: (target) => getPrototypeOf(target),
    apply: (target, self, ...args) => Reflect.apply(target, self, args),
    construct: (target, ...args) => Reflect.construct(target, args),
    nothing: () => undefined,
  });

  /** The proxy handler for an object of the other side. */
  handler(number, kind) {
    const asked = (op, ...args) => this.ask(op, this.theirs.get(number), ...args);
    const isCrossing = (key) => typeof key === 'string' || symbols.some((name) => Symbol[name] === key);
    return {
      get: (_target, key) => (isCrossing(key) ? this.property(this.theirs.get(number), key, kind) : undefined),
      set: (_target, key, value) => asked('set', key, value) === true,
      has: (_target, key) => isCrossing(key) && asked('has', key) === true,
      deleteProperty: (_target, key) => asked('delete', key) === true,
      ownKeys: () => asked('keys').filter((key) => typeof key === 'string'),
      getOwnPropertyDescriptor: (_target, key) => {
        const found = isCrossing(key) ? asked('describe', key) : undefined;
        if (found === undefined) return undefined;
        const isFixed = kind === 'array' && key === 'length';
        return { value: found[0], enumerable: found[1] === true && !isFixed, configurable: !isFixed, writable: true };
      },
      getPrototypeOf: () => asked('prototype'),
      apply: (_target, self, args) => this.call(this.theirs.get(number), self, args),
      construct: (_target, args) => this.construct(this.theirs.get(number), args),
    };
  }

  property(target, key) {
    return this.ask('get', target, key);
  }

  call(target, self, args) {
    return this.ask('apply', target, self, ...args);
  }

  construct(target, args) {
    return this.ask('construct', target, ...args);
  }
}
