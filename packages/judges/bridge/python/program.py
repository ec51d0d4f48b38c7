# The program's process. It holds the program and nothing of the test: it receives arguments and sends answers.


class Program(Peer):
    def __init__(self, read, write):
        super().__init__(1, read, write)
        self.module = types.ModuleType("solution")
        self.printed = io.BytesIO()
        self.loop = None

    def extras(self):
        text = self.printed.getvalue()[:MAX_PRINTED].decode("utf-8", "replace")
        self.printed.seek(0)
        self.printed.truncate()
        return {"o": text}

    def operations(self):
        import copy

        more = {"load": self.do_load, "name": self.do_name, "await": self.do_await, "anext": self.do_next, "copy": copy.copy, "deepcopy": copy.deepcopy, "fields": self.do_fields}
        return {**super().operations(), **more}

    def do_load(self):
        with open("solution.py", encoding="utf-8") as file:
            source = file.read()
        sys.modules["solution"] = self.module
        self.module.__file__ = "solution.py"
        exec(compile(source, "solution.py", "exec"), self.module.__dict__)

    def do_name(self, name):
        scope = self.module.__dict__
        if name not in scope:
            raise LookupError(name)
        return scope[name]

    def do_await(self, awaitable):
        import asyncio

        async def run():
            return await awaitable

        self.loop = self.loop or asyncio.new_event_loop()
        return self.loop.run_until_complete(run())

    def do_next(self, iterator):
        return self.do_await(type(iterator).__anext__(iterator))

    def do_fields(self, kind):
        return [field.name for field in kind.__dataclass_fields__.values()]

    def get_attribute(self, target, name):
        return self.ask("get", target, name)


def main():
    import builtins

    read, write = open_lines()
    program = Program(read, write)
    sys.stdout = io.TextIOWrapper(program.printed, encoding="utf-8", write_through=True)
    program.printed.close = lambda: None

    class Input(io.TextIOBase):
        def readline(self, *_):
            return program.ask("readline")

        def read(self, *_):
            return program.ask("read")

        def readable(self):
            return True

    sys.stdin = Input()
    sys.__stdin__ = sys.stdin
    sys.__stdout__ = sys.stdout
    builtins.input = lambda prompt="": program.ask("input", str(prompt))
    sys.argv = ["solution.py"]
    while True:
        message = program.receive()
        program.send(program.serve(message))


main()
