# The test and the program run in two processes, and each process has a Peer. A Peer asks the other process to do
# something with an object there, and serves requests of the other process. The two take turns. To answer a request, a
# process may send requests itself, so a process also serves requests while it waits for an answer.
import os
import threading

OPERATORS = {name: getattr(operator, name) for name in dir(operator) if name.startswith("__")}
BUILTIN_OPERATORS = {"__len__": len, "__iter__": iter, "__next__": next, "__reversed__": reversed, "__bool__": bool, "__int__": int, "__float__": float, "__complex__": complex, "__abs__": abs, "__round__": round, "__str__": str, "__repr__": repr, "__format__": format, "__bytes__": bytes, "__hash__": hash, "__divmod__": divmod, "__pow__": pow}
MAX_NESTED = 60


class Peer(Codec):
    def __init__(self, first, read, write):
        super().__init__(first)
        self.read_line, self.write_line = read, write
        self.lock = threading.RLock()
        self.is_talking = first == 0
        self.nested = 0

    def message(self, **fields):
        """Returns a message as JSON. The fields are encoded first, because this may add new classes and containers to
        the message."""
        fields = {key: fields[key] for key in fields}
        updates = self.updates()
        message = {**fields, "k": self.fresh_classes, "u": updates, **self.extras()}
        self.fresh_classes = []
        return json.dumps({key: value for key, value in message.items() if value or key in fields})

    def extras(self):
        return {}

    def ask(self, op, /, *args, **kwargs):
        with self.lock:
            if not self.is_talking:
                raise RuntimeError("It is the other side's turn to speak.")
            self.nested += 1
            try:
                if self.nested > MAX_NESTED:
                    raise RecursionError("calls between the test and the program are nested too deeply")
                named = [[key, self.encode(value)] for key, value in kwargs.items()]
                self.send(self.message(q=op, a=[self.encode(each) for each in args], n=named))
                return self.wait()
            finally:
                self.nested -= 1

    def send(self, line):
        self.is_talking = False
        self.write_line(line)

    def wait(self):
        while True:
            message = self.receive()
            if "q" in message:
                self.send(self.serve(message))
                continue
            return self.answer_of(message)

    def receive(self):
        line = self.read_line()
        self.is_talking = True
        if not line:
            self.ended()
        try:
            message = json.loads(line)
            if type(message) is not dict:
                raise BadMessage("no message")
            self.apply(message)
            return message
        except (Exception, BadMessage) as error:
            self.bad(error)

    def answer_of(self, message):
        try:
            failed = "e" in message
            value = self.decode(message["e"] if failed else message["r"])
            if failed and not isinstance(value, BaseException):
                raise BadMessage("not an exception")
        except (Exception, BadMessage) as error:
            self.bad(error)
        if failed:
            raise self.raised(value)
        return value

    def raised(self, error):
        return error

    def serve(self, message):
        try:
            try:
                op, args = message["q"], [self.decode(each) for each in message["a"]]
                named = {key: self.decode(value) for key, value in message["n"]}
                run = self.operations()[op]
            except (Exception, BadMessage) as error:
                self.bad(error)
            result = run(*args, **named)
            return self.message(r=self.encode(result))
        except (BadMessage, CannotCross):
            raise
        except BaseException as error:
            return self.failure(error)

    def failure(self, error):
        try:
            return self.message(e=self.encode(error))
        except (BadMessage, CannotCross):
            raise
        except BaseException:
            return self.message(e=self.encode(RuntimeError("an exception that cannot be shown")))

    def operations(self):
        return {"call": self.do_call, "get": self.do_get, "set": self.do_set, "del": self.do_delete, "op": self.do_op, "eq": operator.eq, "ne": operator.ne}

    def do_call(self, target, /, *args, **kwargs):
        return target(*args, **kwargs)

    def do_get(self, target, name):
        return getattr(target, name)

    def do_set(self, target, name, value):
        setattr(target, name, value)

    def do_delete(self, target, name):
        delattr(target, name)

    def do_op(self, name, target, *args):
        if name not in DUNDERS and name != "__hash__":
            raise TypeError(name)
        run = BUILTIN_OPERATORS.get(name) or (OPERATORS.get(name) if not name.startswith("__r") else None)
        if run is not None and (name not in ("__next__", "__iter__") or len(args) == 0):
            return run(target, *args)
        return getattr(type(target), name)(target, *args)

    # -- the behaviour of mirrors

    def construct(self, cls, args, kwargs):
        return self.ask("call", cls, *args, **kwargs)

    def call(self, target, args, kwargs):
        return self.ask("call", target, *args, **kwargs)

    def get_attribute(self, target, name):
        return self.ask("get", target, name)

    def operate(self, name, target, args):
        return self.ask("op", name, target, *args)

    def equal(self, left, right, base):
        return self.ask("eq", left, right)

    def different(self, left, right, base):
        return self.ask("ne", left, right)

    def bad(self, error):
        raise error

    def cannot(self, what):
        raise CannotCross(what)

    def ended(self):
        os._exit(0)


def open_lines():
    """Takes the pipes of this process, so nothing else here can write to them."""
    reading, writing = os.dup(0), os.dup(1)
    empty = os.open("/dev/null", os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    source = os.fdopen(reading, "r", encoding="utf-8", newline="\n")
    sink = os.fdopen(writing, "w", encoding="utf-8", newline="\n")

    def write(line):
        sink.write(line + "\n")
        sink.flush()

    return source.readline, write
