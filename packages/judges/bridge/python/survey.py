# Finds out what it can from the source of a test, before the program runs.
import ast
import re

BUILTINS = frozenset(dir(__import__("builtins")))
INDIRECT = {"eval", "exec", "globals", "locals", "vars", "getattr", "compile", "__import__", "open"}
HIDDEN = {"__code__", "__globals__", "__closure__", "__defaults__", "__kwdefaults__", "gi_frame", "gi_code", "cr_frame", "cr_code", "__subclasses__"}
INSPECTIONS = {"getsource", "getsourcelines", "getsourcefile", "signature", "getfullargspec", "getargspec", "isgeneratorfunction", "iscoroutinefunction", "isasyncgenfunction"}
FILES = {"open", "write_text", "write_bytes", "read_text", "read_bytes", "mkdir", "makedirs"}
PATCHED = {("builtins", "input"), ("sys", "stdin"), ("sys", "stdout")}


class Survey(ast.NodeVisitor):
    """Reads the source of a test. It finds the classes that the test names, and whether the test does something that
    does not work across two processes."""

    def __init__(self, source):
        self.refused = None
        self.capital, self.defined, self.loaded, self.called, self.dotted = set(), set(), set(), set(), {}
        self.used, self.made = set(), {}
        self.named, self.modules = {}, set()
        tree = ast.parse(source, "test.py")
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and (name := self.maker(node.value)):
                self.made.update((each.id, name) for each in node.targets if isinstance(each, ast.Name))
        self.visit(tree)
        self.classes = self.used & self.capital
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
            self.capital.add(node.id)

    def maker(self, node):
        """Returns the name of the class or function whose call made the value of an expression, if the expression shows
        it."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id
        if isinstance(node, ast.BinOp):
            return self.maker(node.left) or self.maker(node.right)
        return self.made.get(node.id) if isinstance(node, ast.Name) else None

    def together(self, left, right):
        """Notes that two values are compared or added. If calls of the same name made both values, the name is a class
        and not a function."""
        if self.maker(left) is not None and self.maker(left) == self.maker(right):
            self.used.add(self.maker(left))

    def visit_BinOp(self, node):
        self.together(node.left, node.right)
        self.generic_visit(node)

    def visit_Compare(self, node):
        for left, right in zip([node.left, *node.comparators], node.comparators):
            self.together(left, right)
        self.generic_visit(node)

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
        self.used.update(each.id for each in ast.walk(node.type or node) if isinstance(each, ast.Name))
        self.generic_visit(node)

    def meet_module(self, name):
        name = name.split(".")[0]
        self.modules.add(name)
        if name in ("tempfile", "shutil", "subprocess"):
            self.refuse(f"the test uses {name}, which the program would not see")
        if name not in sys.stdlib_module_names and name != "solution" and not is_installed(name):
            self.refuse(f"the test imports {name}, which is not installed in the sandbox")

    def is_subject(self, name):
        """Returns whether a builtin name means a definition of the program. This is so if the test uses no other name
        of the program, such as a test of a program that defines pow."""
        if "solution" in self.modules or self.free & INDIRECT or self.free - BUILTINS - {name, "isclose"}:
            return False
        return name in BUILTINS or self.called <= {name}

    def visit_Import(self, node):
        for each in node.names:
            self.meet_module(each.name)
        self.defined.update((each.asname or each.name).split(".")[0] for each in node.names)

    def visit_ImportFrom(self, node):
        self.meet_module(node.module or "")
        self.defined.update(each.asname or each.name for each in node.names)
        for each in node.names:
            if node.module == "inspect" and each.name in INSPECTIONS:
                self.refuse(f"the test imports inspect.{each.name}")

    def visit_Attribute(self, node):
        if node.attr in HIDDEN:
            self.refuse(f"the test reads {node.attr}")
        if isinstance(node.value, ast.Name):
            self.dotted.setdefault(node.value.id, set()).add(node.attr)
            if node.value.id == "inspect" and node.attr in INSPECTIONS:
                self.refuse(f"the test calls inspect.{node.attr}")
            self.used.add(node.value.id)
        self.used.add(self.maker(node.value))
        self.generic_visit(node)

    def visit_Assign(self, node):
        for each in node.targets:
            if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id in self.modules - {"solution"}:
                if (each.value.id, each.attr) not in PATCHED:
                    self.refuse(f"the test replaces {each.value.id}.{each.attr}, which the program would not see")
        self.generic_visit(node)

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name == "patch" and node.args and isinstance(node.args[0], ast.Constant):
            if tuple(str(node.args[0].value).rsplit(".", 1)) not in PATCHED:
                self.refuse(f"the test patches {node.args[0].value}, which the program would not see")
        is_file = isinstance(node.func, ast.Name) and name == "open" or "pathlib" in self.modules and name in FILES
        if is_file or isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", None) == "os" and name in FILES:
            self.refuse(f"the test uses files ({name}), which the program would not see")
        if isinstance(node.func, ast.Name):
            self.called.add(node.func.id)
            if node.func.id in ("isinstance", "issubclass") and len(node.args) == 2:
                self.used.update(each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name))
        self.generic_visit(node)

    def visit_Constant(self, node):
        if node.value == "solution.py":
            self.refuse("the test reads solution.py")


def is_installed(name):
    import importlib.util

    return bool(name) and importlib.util.find_spec(name) is not None
