"""Reads lines of JSON with name, arguments, functions, gold and kind, and prints for each whether BFCL's own checker accepts the call.

The checker imports a table of all models of BFCL, and their libraries. It uses the table only to find out whether a
model writes "." in the names of functions as "_". This script replaces the table, and says that no model does.
"""

import importlib.util
import json
import sys
import types
from enum import Enum


class Language(Enum):
    PYTHON = "python"
    JAVA = "java"
    JAVASCRIPT = "javascript"


class Names(dict):
    def __missing__(self, name):
        return types.SimpleNamespace(underscore_to_dot=False)


def stand_in(name, **values):
    module = types.ModuleType(name)
    module.__dict__.update(values)
    sys.modules[name] = module


package = "bfcl_eval"
for part in ["", ".constants", ".eval_checker", ".eval_checker.ast_eval", ".eval_checker.ast_eval.type_convertor"]:
    stand_in(package + part)
stand_in(package + ".constants.enums", Language=Language)
stand_in(package + ".constants.model_config", MODEL_CONFIG_MAPPING=Names())
stand_in(package + ".constants.type_mappings", JAVA_TYPE_CONVERSION={}, JS_TYPE_CONVERSION={})
convertor = package + ".eval_checker.ast_eval.type_convertor."
stand_in(convertor + "java_type_converter", java_type_converter=None)
stand_in(convertor + "js_type_converter", js_type_converter=None)

spec = importlib.util.spec_from_file_location("ast_checker", sys.argv[1])
checker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checker)


def accepts(line):
    case = json.loads(line)
    try:
        call = {case["name"]: json.loads(case["arguments"])}
        found = checker.ast_checker(
            case["functions"], [call], [json.loads(case["gold"])], Language.PYTHON, case["kind"], "any"
        )
        return found["valid"]
    except Exception:  # the checker throws for some malformed calls, which BFCL counts as wrong
        return False


for line in sys.stdin:
    print("right" if accepts(line) else "wrong")
