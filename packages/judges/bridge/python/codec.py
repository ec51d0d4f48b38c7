# Encodes values as JSON between the deciding process and the program's. Both run this file and neither trusts the
# other: decoding builds exact builtin values and mirrors of the other side's objects, and never runs anything that a
# message names.


class Codec:
    """The deciding side uses even numbers for its objects, and the program's side odd ones."""

    def __init__(self, first):
        self.next_number = first
        self.mine = {}  # number -> an object or class of this side
        self.numbers = {} # id -> number, for objects of both sides and for containers
        self.theirs = {}  # number -> mirror
        self.shared = {}  # number -> [container, snapshot]
        self.fresh_classes = []
        self.depth = 0

    # -- writing

    def number(self):
        self.next_number += 2
        return self.next_number

    def encode(self, value):
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                raise ValueError("The value is nested too deeply to cross.")
            return self.encode_value(value)
        finally:
            self.depth -= 1

    def encode_value(self, value):
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -(2**53) < value < 2**53 else ["i", hex(value)]
        if kind is float:
            return value if value - value == 0 else ["f", repr(value)]
        if kind in CONTAINERS:
            return self.encode_container(value, CONTAINERS[kind])
        if kind is tuple or kind is frozenset:
            return ["t" if kind is tuple else "z", [self.encode(each) for each in value]]
        if kind is bytes:
            return ["b", value.hex()]
        plain = encode_plain(value, kind)
        return self.encode_object(value) if plain is None else plain

    def encode_container(self, value, tag):
        known = self.numbers.get(id(value))
        if known in self.shared:
            return ["r", known]
        number = self.number()
        self.share(number, value)
        return [tag, number, self.contents(value)]

    def share(self, number, value):
        self.numbers[id(value)] = number
        self.shared[number] = [value, snapshot(value)]

    def contents(self, value):
        if isinstance(value, bytearray):
            return bytes(value).hex()
        return [self.encode(each) for each in flat(value)]

    def encode_object(self, value):
        if id(value) in self.numbers and self.numbers[id(value)] in self.theirs:
            return ["h", self.numbers[id(value)]]
        if isinstance(value, type):
            return self.encode_class(value)
        if isinstance(value, types.ModuleType):
            return ["m", value.__name__]
        number = self.export(value)
        if isinstance(value, BaseException):
            return ["e", number, self.encode_class(type(value)), [self.encode(each) for each in value.args], [[str(k), self.encode(v)] for k, v in vars(value).items()]]
        base = data_base(type(value))
        kind = self.encode_class(type(value))
        if base is None:
            return ["o", number, kind]
        if base in CONTAINERS:
            if number not in self.shared:
                self.share(number, value)
            return ["p", number, kind, CONTAINERS[base], self.contents(value)]
        return ["p", number, kind, "=", self.encode_value(as_base(value, base))]

    def export(self, value):
        known = self.numbers.get(id(value))
        if known is not None:
            return known
        number = self.number()
        self.mine[number] = value
        self.numbers[id(value)] = number
        return number

    def encode_class(self, kind):
        known = self.numbers.get(id(kind))
        if known in self.theirs:
            return ["h", known]
        if TYPES.get(kind.__name__) is kind:
            return ["n", kind.__name__]
        if EXCEPTIONS.get(kind.__name__) is kind:
            return ["x", "builtins", kind.__name__]
        if issubclass(kind, BaseException) and kind.__module__ in sys.stdlib_module_names:
            return ["x", kind.__module__, kind.__name__, nearest_builtin(kind).__name__]
        if known is None:
            known = self.export(kind)
            self.fresh_classes.append(self.describe(known, kind))
        return ["k", known]

    def describe(self, number, kind):
        base = data_base(kind) or nearest_builtin(kind)
        against = base or object
        own = [name for name in DUNDERS if getattr(kind, name, None) is not None and getattr(kind, name) is not getattr(against, name, None)]
        equal = kind.__eq__ is not against.__eq__
        bases = [self.encode_class(each) for each in kind.__bases__ if each is not object and each is not base]
        return [number, kind.__name__, bases, None if base is None else base.__name__, own, equal, kind.__hash__ is not None]

    def updates(self):
        changed = []
        for number, (value, before) in list(self.shared.items()):
            if is_changed(value, before):
                self.shared[number][1] = snapshot(value)
                changed.append([number, self.contents(value)])
        return changed

    # -- reading

    def decode(self, data):
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BadMessage("nested too deeply")
        try:
            return self.decode_value(data)
        finally:
            self.depth -= 1

    def decode_value(self, data):
        if data is None or type(data) in (bool, int, float, str):
            return data
        if type(data) is not list or not data or type(data[0]) is not str:
            raise BadMessage("not a value")
        tag, rest = data[0], data[1:]
        if tag in CONTAINER_TYPES:
            return self.decode_container(tag, *rest)
        read = getattr(self, f"decode_{NAMES.get(tag, 'unknown')}")
        return read(*rest)

    def decode_unknown(self, *_):
        raise BadMessage("an unknown kind of value")

    def decode_int(self, text):
        return int(text, 16)

    def decode_float(self, text):
        return {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}[text]

    def decode_complex(self, real, imaginary):
        return complex(self.decode(real), self.decode(imaginary))

    def decode_bytes(self, text):
        return bytes.fromhex(text)

    def decode_tuple(self, items):
        return tuple([self.decode(each) for each in items])

    def decode_frozenset(self, items):
        return frozenset([self.decode(each) for each in items])

    def decode_plain(self, kind, *args):
        if kind == "range":
            return range(*[self.decode(each) for each in args])
        return decode_plain(kind, args)

    def decode_type(self, name):
        return TYPES[name]

    def decode_exception_class(self, module, name, base="Exception"):
        if module == "builtins":
            return EXCEPTIONS[name]
        found = getattr(sys.modules.get(module), name, None)
        is_known = isinstance(found, type) and issubclass(found, BaseException) and not module.startswith("unittest")
        return found if is_known and module in sys.stdlib_module_names else EXCEPTIONS[base]

    def decode_module(self, name):
        raise BadMessage("a module")

    def decode_container(self, tag, number, items):
        value = CONTAINER_TYPES[tag]()
        self.share(number, value)
        self.fill(value, items)
        self.shared[number][1] = snapshot(value)
        return value

    def fill(self, value, items):
        if isinstance(value, bytearray):
            bytearray.__setitem__(value, slice(None), bytes.fromhex(items))
            return
        put_flat(value, [self.decode(each) for each in items])

    def decode_shared(self, number):
        return self.shared[number][0]

    def decode_mine(self, number):
        """An object of this side that was given to the other side."""
        return self.mine[number]

    def decode_class(self, number):
        return self.theirs[number]

    def learn_class(self, number, name, bases, base, dunders, has_equal, is_hashable):
        bases = [self.decode(each) for each in bases]
        root = BASES.get(base) or EXCEPTIONS.get(base)
        members = mirror_members(self, root)
        for each in dunders:
            if each in DUNDERS and not (root in BASES.values() and each in ARITHMETIC):
                members[each] = forward(each)
        if "__call__" in dunders:
            members["__call__"] = forward_call
        if "__anext__" in dunders:
            members["__anext__"] = next_awaited
        members["_ajet_equal"] = has_equal is True
        if root is None:
            members["__hash__"] = forward("__hash__") if is_hashable else None
        else:
            members["__hash__"] = root.__hash__
        pretend = PRETENDS.get(name) if root is None else None
        if pretend is not None:
            members["__class__"] = property(lambda self: pretend)
        if "__await__" in dunders or name == "coroutine":
            members.update(AWAITED)
        members["__doc__"] = property(lambda self: self._peer.ask("get", self, "__doc__"))
        members["__module__"] = "solution"
        mirrors = tuple(each for each in bases if isinstance(each, type) and (isinstance(each, Mirror) or issubclass(each, BaseException)))
        kind = None
        for parents in ((*mirrors, Remote, *((root,) if root else ())), (Remote, *((root,) if root else ()))):
            try:
                kind = type.__new__(Mirror, str(name)[:100], parents, dict(members))
                break
            except TypeError:
                continue
        if kind is None:
            raise BadMessage("an impossible class")
        type.__init__(kind, kind.__name__, (), {})
        self.keep(number, kind)

    def keep(self, number, mirror):
        if number in self.theirs or number in self.mine:
            raise BadMessage("a number that is already taken")
        self.theirs[number] = mirror
        self.numbers[id(mirror)] = number

    def decode_object(self, number, kind):
        if number in self.theirs:
            return self.met(self.theirs[number])
        cls = self.decode(kind)
        if not isinstance(cls, Mirror):
            raise BadMessage("an object without a class")
        if issubclass(cls, BaseException):
            raise BadMessage("an object whose class is an exception")
        value = object.__new__(cls)
        self.keep(number, value)
        return value

    def met(self, mirror):
        return mirror

    def decode_exception(self, number, kind, args, attributes):
        if number in self.theirs:
            return self.met(self.theirs[number])
        cls = self.decode(kind)
        if not isinstance(cls, type) or not issubclass(cls, BaseException):
            raise BadMessage("an exception without a class")
        args = [self.decode(each) for each in args]
        value = cls.__new__(cls, *args)
        if not isinstance(cls, Mirror):
            try:
                value.__init__(*args)
            except Exception:
                pass
            for name, each in attributes:
                if type(name) is str and not name.startswith("_"):
                    value.__dict__[name] = self.decode(each)
        value.args = tuple(args)
        object.__setattr__(value, "_ajet_theirs", True)
        self.keep(number, value)
        return value

    def decode_subclass(self, number, kind, tag, items):
        if number in self.theirs:
            return self.met(self.theirs[number])
        cls = self.decode(kind)
        if not isinstance(cls, Mirror):
            raise BadMessage("an object without a class")
        if tag != "=":
            base = CONTAINER_TYPES[tag]
            value = base.__new__(cls)
            self.keep(number, value)
            self.shared[number] = [value, None]
            self.fill(value, items)
            self.shared[number][1] = snapshot(value)
            return value
        plain = self.decode(items)
        base = next((each for each in BASES.values() if type(plain) is each), None)
        if base is None or not issubclass(cls, base):
            raise BadMessage("an object of another base")
        value = base.__new__(cls, plain)
        self.keep(number, value)
        return value

    def apply(self, message):
        for each in message.get("k", ()):
            self.learn_class(*each)
        for number, items in message.get("u", ()):
            if number in self.shared:
                entry = self.shared[number]
                self.fill(entry[0], items)
                entry[1] = snapshot(entry[0])
        for number in message.get("x", ()):
            self.forget(number)

    def forget(self, number):
        entry = self.shared.pop(number, None)
        if entry is not None and number not in self.mine and number not in self.theirs:
            self.numbers.pop(id(entry[0]), None)
