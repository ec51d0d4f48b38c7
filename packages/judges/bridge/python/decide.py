# The process that decides. It runs the test; the names of the program are mirrors here, and only data of the program arrives.
import ast
import re
import unittest

BINARY = {*ARITHMETIC, *ORDER, "__contains__"}
TO_DATA = {"__bool__", "__int__", "__float__", "__complex__", "__index__", "__abs__", "__round__", "__floor__", "__ceil__", "__trunc__", "__len__"}
SEARCHES = {"startswith", "endswith", "issubset", "issuperset", "isdisjoint", "count", "index", "find", "rfind", "rindex", "is_integer", *[name for name in dir(str) if name.startswith("is")]}
HIDDEN = {"__code__", "__globals__", "__closure__", "__defaults__", "__kwdefaults__", "gi_frame", "gi_code", "cr_frame", "cr_code", "__subclasses__"}
INSPECTIONS = {"getsource", "getsourcelines", "getsourcefile", "signature", "getfullargspec", "getargspec", "isgeneratorfunction", "iscoroutinefunction", "isasyncgenfunction"}
OPAQUE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.GeneratorType, types.CoroutineType, types.FrameType, types.TracebackType, types.CodeType, types.ModuleType, type)


class Decider(Peer):
    def __init__(self, read, write, survey):
        super().__init__(0, read, write)
        self.survey = survey
        self.problem = None
        self.refused = None
        self.keeps_own = False

    # -- whether an object may answer for operators: if the test itself made it

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
        if name in ("__enter__", "__exit__", "__iter__", "__hash__"):
            return self.keeping("op", name, target, *args)
        base = data_base(type(target))
        if name in TO_DATA and trust(target) == "opinion":
            raise TypeError(f"{name} of what the program computed from the test's own data: the program would decide the test")
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
        raise TypeError(f"{name} with an object of the program's class {type(target).__name__}, which the test did not make itself: the program would decide the test")

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

    # -- what the program may do with objects of the test

    def operations(self):
        return {**super().operations(), "readline": lambda: sys.stdin.readline(), "read": lambda: sys.stdin.read(), "input": __builtins_input__, "await": drive}

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
        """A StopIteration that a call raised would end a loop of the test early, as if all had been compared."""
        if isinstance(error, (StopIteration, StopAsyncIteration, GeneratorExit)) and not self.is_stepping:
            return RuntimeError(f"the program raised {type(error).__name__}")
        return error

    is_stepping = False

    def ask(self, op, *args, **kwargs):
        before = self.is_stepping
        try:
            self.is_stepping = op == "op" and args[0] == "__next__"
            return self.ask_now(op, *args, **kwargs)
        finally:
            self.is_stepping = before

    def ask_now(self, op, *args, **kwargs):
        if self.problem is not None:
            raise BadMessage(self.problem)
        return super().ask(op, *args, **kwargs)

    def apply(self, message):
        super().apply(message)
        printed = message.get("o")
        if printed:
            sys.stdout.write(str(printed)[:MAX_PRINTED])

    def extras(self):
        """Containers that nothing here uses any longer are forgotten on both sides."""
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
    """An awaitable of the test, to its end, without a loop: it can await what the program made, and sleep(0)."""
    steps = coroutine.__await__()
    try:
        while next(steps) is None:
            pass
    except StopIteration as end:
        return end.value
    raise RuntimeError("A coroutine of the test waits for something that is not the program's.")


def trust(value):
    return isinstance(value, Remote) and not isinstance(value, type) and value.__dict_of__().get("_ajet_own", False)


def own(value):
    return trust(value) is True


def unanswered(name, target):
    def call(*args, **kwargs):
        raise TypeError(f"{name}() of an object of the program's class {type(target).__name__}, which the test did not make itself: the program would decide the test")

    return call


Remote.__dict_of__ = lambda self: dict_of(self)


def dict_of(value):
    slot = next((vars(kind)["__dict__"] for kind in type(value).__mro__ if isinstance(vars(kind).get("__dict__"), types.GetSetDescriptorType)), None)
    return {} if slot is None else slot.__get__(value)


class Survey(ast.NodeVisitor):
    """What the source of a test says by itself: which classes it names, and whether it does what cannot cross."""

    def __init__(self, source):
        self.refused = None
        self.classes, self.defined, self.loaded, self.called, self.dotted = set(), set(), set(), set(), set()
        self.named = {}
        tree = ast.parse(source, "test.py")
        self.visit(tree)
        self.free = self.loaded - self.defined
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for base in node.bases:
                    root = base
                    while isinstance(root, ast.Attribute):
                        root = root.value
                    if isinstance(root, ast.Name) and root.id not in self.defined and root.id not in BUILTINS and root.id not in sys.stdlib_module_names:
                        self.refused = f"the test derives {node.name} from the program's {root.id}"

    def refuse(self, what):
        self.refused = self.refused or what

    def visit_Name(self, node):
        (self.loaded if isinstance(node.ctx, ast.Load) else self.defined).add(node.id)
        if re.match(r"_*[A-Z]\w*[a-z]", node.id):
            self.classes.add(node.id)

    def visit_arg(self, node):
        self.defined.add(node.arg)
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        self.defined.add(node.name)
        self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef

    def visit_ExceptHandler(self, node):
        self.defined.add(node.name)
        self.generic_visit(node)

    def visit_Import(self, node):
        self.defined.update((each.asname or each.name).split(".")[0] for each in node.names)

    def visit_ImportFrom(self, node):
        if node.module == "solution":
            self.classes.update(each.name for each in node.names)
        self.defined.update(each.asname or each.name for each in node.names)
        for each in node.names:
            if node.module == "inspect" and each.name in INSPECTIONS:
                self.refuse(f"the test imports inspect.{each.name}")

    def visit_Attribute(self, node):
        if node.attr in HIDDEN:
            self.refuse(f"the test reads {node.attr}")
        if isinstance(node.value, ast.Name):
            self.dotted.add(node.value.id)
            if node.value.id == "inspect" and node.attr in INSPECTIONS:
                self.refuse(f"the test calls inspect.{node.attr}")
        if re.match(r"_*[A-Z]\w*[a-z]", node.attr):
            self.classes.add(node.attr)
        self.generic_visit(node)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name):
            self.called.add(node.func.id)
            if node.func.id in ("isinstance", "issubclass") and len(node.args) == 2:
                self.classes.update(each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name))
        self.generic_visit(node)

    def visit_Constant(self, node):
        if node.value == "solution.py":
            self.refuse("the test reads solution.py")


BUILTINS = frozenset(dir(__import__("builtins")))


class Scope(dict):
    """Names of the test; one that it does not define is the program's."""

    def __init__(self, decider, own_names):
        super().__init__(own_names)
        self.decider = decider

    def __missing__(self, name):
        return self.find(name)

    def find(self, name):
        survey = self.decider.survey
        is_subject = name in BUILTINS and not (survey.free - BUILTINS)
        if name in BUILTINS and not is_subject:
            raise KeyError(name)
        if name in sys.stdlib_module_names and name in survey.dotted and name not in survey.called:
            return __import__(name)
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
    elif decider.problem is not None:
        outcome = "failed", decider.problem
    conclude(write, *outcome)


def run(decider, code, scope, module):
    try:
        decider.ask("load")
        original = unittest.main
        unittest.main = lambda *_args, **_options: run_cases(scope)
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
    cases = [each for each in dict.values(scope) if isinstance(each, type) and not isinstance(each, Mirror) and issubclass(each, unittest.TestCase)]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(each) for each in cases)
    result = suite.run(unittest.TestResult())
    for _case, trace in [*result.failures, *result.errors]:
        raise AssertionError(trace.strip().split("\n")[-1])
    if result.testsRun == 0:
        raise AssertionError("no test was found")


main()
