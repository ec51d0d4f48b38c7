# The deciding process. It runs the test. The program's names are mirrors here, and the program sends only data.
BINARY = {*ARITHMETIC, *ORDER, "__contains__"}
TO_DATA = {"__bool__", "__int__", "__float__", "__complex__", "__index__", "__abs__", "__round__", "__floor__", "__ceil__", "__trunc__", "__len__"}
SEARCHES = {"startswith", "endswith", "issubset", "issuperset", "isdisjoint", "count", "index", "find", "rfind", "rindex", "is_integer", *[name for name in dir(str) if name.startswith("is")]}
OPAQUE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.GeneratorType, types.CoroutineType, types.FrameType, types.TracebackType, types.CodeType, types.ModuleType, type)


class Decider(Peer):
    def __init__(self, read, write, survey):
        super().__init__(0, read, write)
        self.survey = survey
        self.problem = None
        self.refused = self.failed = None
        self.keeps_own = False

    # -- operators: an object may answer for them only if the test itself made it

    def met(self, mirror):
        if not self.keeps_own and mirror.__dict_of__().get("_ajet_own"):
            object.__setattr__(mirror, "_ajet_own", False)
        return mirror

    def keeping(self, *args):
        before, self.keeps_own = self.keeps_own, True
        try:
            return self.ask(*args)
        finally:
            self.keeps_own = before

    def construct(self, cls, args, kwargs):
        value = self.ask("call", cls, *args, **kwargs)
        if type(value) is cls and id(cls) in self.survey.named:
            object.__setattr__(value, "_ajet_own", True)
        return value

    def operate(self, name, target, args):
        if name == "__exit__" and is_assertion(args[1]):
            self.keeping("op", name, target, *args)
            return False
        if name in ("__enter__", "__exit__", "__iter__", "__hash__"):
            return self.keeping("op", name, target, *args)
        base = data_base(type(target))
        if name in TO_DATA and trust(target) == "opinion":
            raise TypeError(f"{name} of what the program computed from the test's own data, so the program would decide the test")
        if name not in BINARY:
            return self.ask("op", name, target, *args)
        if own(target) or any(own(each) for each in args):
            return self.owned(self.keeping("op", name, target, *args))
        if base is not None:
            return getattr(base, name)(target, *args)
        if name == "__contains__":
            return any(each is args[0] or each == args[0] for each in iter(target))
        if all(isinstance(each, Remote) for each in args):
            return self.ask("op", name, target, *args)
        value = NotImplemented if name in ORDER else self.ask("op", name, target, *args)
        if isinstance(value, Remote) and data_base(type(value)) is None:
            object.__setattr__(value, "_ajet_own", "opinion")
            return value
        raise TypeError(f"{name} with an object of the program's class {type(target).__name__}, which the test did not make itself, so the program would decide the test")

    def owned(self, value):
        if isinstance(value, Remote) and data_base(type(value)) is None:
            object.__setattr__(value, "_ajet_own", True)
        return value

    def equal(self, left, right, base):
        return self.compare("eq", left, right, base)

    def different(self, left, right, base):
        return self.compare("ne", left, right, base)

    def compare(self, op, left, right, base):
        if isinstance(right, Remote) and (base is None or type(left)._ajet_equal or data_base(type(right)) is None):
            return self.keeping(op, left, right)
        if base is not None and not issubclass(base, BaseException):
            return getattr(base, f"__{op}__")(left, right)
        if own(left):
            return self.keeping(op, left, right)
        return op == "ne"

    def get_attribute(self, target, name):
        if name == "__dataclass_fields__" and isinstance(target, (Mirror, Remote)):
            return self.fields_of(target if isinstance(target, Mirror) else type(target))
        value = self.ask("get", target, name)
        if name in SEARCHES and isinstance(target, Remote) and not own(target) and callable(value):
            return unanswered(name, target)
        return value

    def fields_of(self, kind):
        import dataclasses

        names = self.ask("fields", kind)
        return dataclasses.make_dataclass("Fields", [(name, object) for name in names]).__dataclass_fields__

    # -- operations that the program may use on objects of the test

    def operations(self):
        return {**super().operations(), "readline": lambda: sys.stdin.readline(), "read": lambda: sys.stdin.read(), "input": __builtins_input__, "await": drive}

    def failure(self, error):
        if is_assertion(error) and self.failed is None:
            self.failed = f"in a callback, {describe(error)}"
        return super().failure(error)

    def do_get(self, target, name):
        if type(name) is not str or name.startswith("_") or name in HIDDEN or isinstance(target, OPAQUE):
            if name != "__name__" or not isinstance(target, (types.FunctionType, type)):
                raise AttributeError(f"{type(target).__name__!r} of the test has no attribute {name!r} here")
        return getattr(target, name)

    def do_set(self, target, name, value):
        if type(name) is not str or name.startswith("_") or isinstance(target, OPAQUE):
            raise AttributeError(f"{name!r} of the test cannot be set here")
        setattr(target, name, value)

    def do_delete(self, target, name):
        raise AttributeError(f"{name!r} of the test cannot be deleted here")

    def raised(self, error):
        """Replaces a StopIteration from a call, which would end a loop of the test early, as if everything had been compared."""
        if isinstance(error, (StopIteration, StopAsyncIteration, GeneratorExit)) and not self.is_stepping:
            return RuntimeError(f"the program raised {type(error).__name__}")
        return error

    is_stepping = False

    def ask(self, op, /, *args, **kwargs):
        before = self.is_stepping
        try:
            self.is_stepping = op == "anext" or (op == "op" and args[0] == "__next__")
            return self.ask_now(op, *args, **kwargs)
        finally:
            self.is_stepping = before

    def ask_now(self, op, /, *args, **kwargs):
        if self.problem is not None:
            raise BadMessage(self.problem)
        return super().ask(op, *args, **kwargs)

    def apply(self, message):
        super().apply(message)
        printed = message.get("o")
        if printed:
            sys.stdout.write(str(printed)[:MAX_PRINTED])

    def extras(self):
        """Makes both sides forget containers that nothing here uses any longer."""
        unused = [number for number, entry in self.shared.items() if number not in self.theirs and number not in self.mine and sys.getrefcount(entry[0]) <= 2]
        for number in unused:
            self.forget(number)
        return {"x": unused}

    def bad(self, error):
        self.problem = f"its answer cannot be read: {error}"[:300]
        raise BadMessage(self.problem)

    def cannot(self, what):
        self.refused = self.refused or what
        raise CannotCross(what)


__builtins_input__ = lambda prompt="": __import__("builtins").input(prompt)


def drive(coroutine):
    """Runs an awaitable of the test to its end without an event loop: it can await objects of the program, and sleep(0)."""
    steps = coroutine.__await__()
    try:
        while next(steps) is None:
            pass
    except StopIteration as end:
        return end.value
    raise RuntimeError("A coroutine of the test waits for something that is not the program's.")


def is_assertion(error):
    """True if an assertion of the test failed. The program must not swallow it."""
    return isinstance(error, AssertionError) and not dict_of(error).get("_ajet_theirs")


def trust(value):
    return isinstance(value, Remote) and not isinstance(value, type) and value.__dict_of__().get("_ajet_own", False)


def own(value):
    return trust(value) is True


def unanswered(name, target):
    def call(*args, **kwargs):
        raise TypeError(f"{name}() of an object of the program's class {type(target).__name__}, which the test did not make itself, so the program would decide the test")

    return call


Remote.__dict_of__ = lambda self: dict_of(self)


def dict_of(value):
    slot = next((vars(kind)["__dict__"] for kind in type(value).__mro__ if isinstance(vars(kind).get("__dict__"), types.GetSetDescriptorType)), None)
    return {} if slot is None else slot.__get__(value)




class Scope(dict):
    """The names of the test. A name that the test does not define belongs to the program."""

    def __init__(self, decider, own_names):
        super().__init__(own_names)
        self.decider = decider

    def __missing__(self, name):
        return self.find(name)

    def find(self, name):
        survey = self.decider.survey
        if name in BUILTINS and not survey.is_subject(name):
            raise KeyError(name)
        if name == "isclose" and not survey.is_subject(name):
            return __import__("math").isclose
        if name in sys.stdlib_module_names and name in survey.dotted and name not in survey.called:
            module = __import__(name)
            if all(hasattr(module, each) for each in survey.dotted[name]):
                return module
        return look_up(self.decider, name)

    def __contains__(self, name):
        return super().__contains__(name) or self.get(name, self) is not self

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default


def look_up(decider, name):
    try:
        value = decider.ask("name", name)
    except LookupError as error:
        raise KeyError(name) from error
    if isinstance(value, Mirror) and name in decider.survey.classes:
        decider.survey.named[id(value)] = value
    return value


class Solution(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return look_up(self._decider, name)
        except KeyError:
            raise AttributeError(f"The program has no {name}.") from None

    def __setattr__(self, name, value):
        self._decider.cannot(f"the test replaces {name} of the program")


def conclude(write, kind, why=""):
    write("!" + json.dumps([kind, str(why)[:2000]]))
    os._exit(0)


def describe(error):
    text = str(error).strip().split("\n")[0]
    frame, line = error.__traceback__, None
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == "test.py":
            line = frame.tb_lineno
        frame = frame.tb_next
    place = "" if line is None else f" (line {line} of the test)"
    return f"{type(error).__name__}: {text}{place}" if text else type(error).__name__ + place


def main():
    read, write = open_lines()
    with open("test.py", encoding="utf-8") as file:
        source = file.read()
    try:
        survey = Survey(source)
        code = compile(source, "test.py", "exec")
    except (SyntaxError, ValueError, RecursionError) as error:
        conclude(write, "refused", f"the test is not Python: {error}")
    if survey.refused is not None:
        conclude(write, "refused", survey.refused)
    decider = Decider(read, write, survey)
    sys.stdin = io.StringIO("")
    sys.stdout = io.StringIO()
    sys.argv = ["test.py"]
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    solution = Solution("solution")
    vars(solution)["_decider"] = decider
    sys.modules["solution"] = solution
    scope = Scope(decider, {"__name__": "__main__", "__builtins__": __import__("builtins"), "__file__": "test.py"})
    outcome = run(decider, code, scope, module)
    if decider.refused is not None:
        outcome = "refused", decider.refused
    elif decider.problem is not None or (decider.failed is not None and outcome[0] == "passed"):
        outcome = "failed", decider.problem or decider.failed
    conclude(write, *outcome)


def run(decider, code, scope, module):
    try:
        decider.ask("load")
        if "unittest" in decider.survey.modules:
            __import__("unittest").main = lambda *_args, **_options: run_cases(scope)
        exec(code, scope)
        return "passed", ""
    except SystemExit as error:
        is_ours = not dict_of(error).get("_ajet_theirs")
        return ("passed", "") if is_ours and error.code in (None, 0, False) else ("failed", describe(error))
    except BaseException as error:
        try:
            return "failed", describe(error)
        except BaseException:
            return "failed", "an error that cannot be shown"


def run_cases(scope):
    import unittest

    cases = [each for each in dict.values(scope) if isinstance(each, type) and not isinstance(each, Mirror) and issubclass(each, unittest.TestCase)]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(each) for each in cases)
    result = suite.run(unittest.TestResult())
    for _case, trace in [*result.failures, *result.errors]:
        raise AssertionError(trace.strip().split("\n")[-1])
    if result.testsRun == 0:
        raise AssertionError("no test was found")


main()
