# Kinds of values, and the behaviour of mirrors, which represent objects of the other side.
import collections
import io
import json
import operator
import sys
import types

UNARY = "__len__ __iter__ __next__ __reversed__ __bool__ __int__ __float__ __complex__ __index__ __abs__ __neg__ __pos__ __invert__ __round__ __floor__ __ceil__ __trunc__ __str__ __repr__ __format__ __bytes__ __length_hint__ __fspath__".split()
ARITHMETIC = [f"__{side}{name}__" for name in "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift".split() for side in ("", "r", "i") if (side, name) != ("i", "divmod")]
ORDER = "__lt__ __le__ __gt__ __ge__".split()
ITEMS = "__await__ __getitem__ __setitem__ __delitem__ __call__ __enter__ __exit__ __missing__ __aiter__ __anext__".split()
DUNDERS = [*UNARY, *ARITHMETIC, *ORDER, *ITEMS, "__contains__"]
MAX_DEPTH = 150
MAX_PRINTED = 200_000

CONTAINERS = {list: "l", dict: "d", set: "s", bytearray: "y", collections.Counter: "C", collections.OrderedDict: "O", collections.defaultdict: "F", collections.deque: "q"}
CONTAINER_TYPES = {tag: kind for kind, tag in CONTAINERS.items()}
TYPES = {kind.__name__: kind for kind in (int, float, complex, bool, str, bytes, bytearray, list, tuple, dict, set, frozenset, object, range, type(None), type)}
EXCEPTIONS = {kind.__name__: kind for kind in vars(__import__("builtins")).values() if isinstance(kind, type) and issubclass(kind, BaseException)}
BASES = {kind.__name__: kind for kind in (int, float, complex, str, bytes, tuple, frozenset, list, dict, set, bytearray)}
VALUES = {"Decimal": "decimal", "Fraction": "fractions", "timedelta": "datetime", "datetime": "datetime", "date": "datetime", "time": "datetime"}


PRETENDS = {"generator": types.GeneratorType, "function": types.FunctionType, "coroutine": types.CoroutineType, "async_generator": types.AsyncGeneratorType}


class BadMessage(BaseException):
    """The other process sent a message that an unmodified bridge never sends."""


class CannotCross(BaseException):
    """The test does something that is impossible with a program in another process."""


class Remote:
    """An object of the other side."""


class Mirror(type):
    """A class of the other side. Its instances here are mirrors of instances there."""

    def __call__(cls, /, *args, **kwargs):
        return cls._peer.construct(cls, args, kwargs)

    def __getattr__(cls, name):
        if name.startswith("_ajet") or name in ("_peer", "__abstractmethods__", "__wrapped__"):
            raise AttributeError(name)
        return cls._peer.get_attribute(cls, name)

    def __setattr__(cls, name, value):
        cls._peer.ask("set", cls, name, value)

    def __iter__(cls):
        return cls._peer.ask("op", "__iter__", cls)

    def __len__(cls):
        return cls._peer.ask("op", "__len__", cls)

    def __getitem__(cls, key):
        return cls._peer.ask("op", "__getitem__", cls, key)

    def __contains__(cls, item):
        return any(item is each for each in cls)


def forward(name):
    def call(self, *args):
        return type(self)._peer.operate(name, self, args)

    call.__name__ = name
    return call


def awaited(self):
    return type(self)._peer.ask("await", self)
    yield


def stepped(self, _value):
    raise StopIteration(type(self)._peer.ask("await", self))


AWAITED = {"__await__": awaited, "send": stepped, "throw": lambda self, *error: type(self)._peer.ask("throw", self, *error), "close": lambda self: None}


async def next_awaited(self):
    return type(self)._peer.ask("anext", self)


def forward_call(self, /, *args, **kwargs):
    return type(self)._peer.call(self, args, kwargs)


def unpicklable():
    raise TypeError("An object of the other side cannot be pickled.")


def mirror_members(peer, base):
    def get(self, name):
        if name.startswith("_ajet"):
            raise AttributeError(name)
        return peer.get_attribute(self, name)

    def put(self, name, value):
        if name.startswith("_ajet") or (name.startswith("__") and isinstance(self, BaseException)):
            return object.__setattr__(self, name, value)
        peer.ask("set", self, name, value)

    def equal(self, other):
        return peer.equal(self, other, base)

    def different(self, other):
        return peer.different(self, other, base)

    members = {"_peer": peer, "__getattr__": get, "__setattr__": put, "__delattr__": lambda self, name: peer.ask("del", self, name)}
    members["__copy__"] = lambda self: peer.ask("copy", self)
    members["__deepcopy__"] = lambda self, memo: peer.ask("deepcopy", self)
    members["__reduce_ex__"] = lambda self, version: unpicklable()
    if base is None or not issubclass(base, BaseException):
        members["__dict__"] = property(lambda self: peer.ask("get", self, "__dict__"))
    return {**members, "__eq__": equal, "__ne__": different}


NAMES = dict(i="int", f="float", c="complex", b="bytes", t="tuple", z="frozenset", v="plain", n="type", x="exception_class", m="module", r="shared", h="mine", k="class", o="object", e="exception", p="subclass")


def encode_plain(value, kind):
    if kind is complex:
        return ["c", *[each if each - each == 0 else ["f", repr(each)] for each in (value.real, value.imag)]]
    if kind is range:
        return ["v", "range", *[each if -(2**53) < each < 2**53 else ["i", hex(each)] for each in (value.start, value.stop, value.step)]]
    if kind is slice and all(each is None or type(each) is int for each in (value.start, value.stop, value.step)):
        return ["v", "slice", *[None if each is None else hex(each) for each in (value.start, value.stop, value.step)]]
    name = kind.__name__
    if name not in VALUES or getattr(sys.modules.get(VALUES[name]), name, None) is not kind:
        return None
    if name == "Decimal":
        return ["v", name, str(value)]
    if name == "Fraction":
        return ["v", name, hex(value.numerator), hex(value.denominator)]
    if name == "timedelta":
        return ["v", name, value.days, value.seconds, value.microseconds]
    return ["v", name, value.isoformat()]


def decode_plain(name, args):
    """Imports the modules only if a value needs them, because every process would start more slowly otherwise."""
    import importlib

    if name == "slice":
        return slice(*[None if each is None else int(each, 16) for each in args])
    kind = getattr(importlib.import_module(VALUES[name]), name)
    if name == "Decimal":
        return kind(args[0])
    if name == "Fraction":
        return kind(int(args[0], 16), int(args[1], 16))
    return kind(*args) if name == "timedelta" else kind.fromisoformat(args[0])


def data_base(kind):
    """The builtin data type that the class derives from. None for any other object."""
    return next((each for each in kind.__mro__[1:] if BASES.get(each.__name__) is each), None)


def nearest_builtin(kind):
    """The builtin exception that a class derives from. None if it is not an exception."""
    return next((each for each in kind.__mro__ if EXCEPTIONS.get(each.__name__) is each), None)


def as_base(value, base):
    if base in (int, float, complex):
        return {int: int.__int__, float: float.__float__, complex: lambda v: complex(v.real, v.imag)}[base](value)
    if base is str:
        return str.__str__(value)
    if base is bytes:
        return bytes(memoryview(value))
    return base([*base.__iter__(value)])


def flat(value):
    if isinstance(value, dict):
        return [each for pair in kind_of_dict(value).items(value) for each in pair]
    kind = list if isinstance(value, list) else set if isinstance(value, set) else collections.deque
    return [*kind.__iter__(value)]


def kind_of_dict(value):
    """Returns the class whose methods change the value. An OrderedDict keeps its order separately from its dict data,
    so the methods of dict would break it."""
    return collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict


def put_flat(value, items):
    if isinstance(value, dict):
        kind = kind_of_dict(value)
        kind.clear(value)
        for key, each in zip(items[::2], items[1::2]):
            kind.__setitem__(value, key, each)
    elif isinstance(value, list):
        list.__setitem__(value, slice(None), items)
    elif isinstance(value, set):
        set.clear(value)
        set.update(value, items)
    else:
        value.clear()
        value.extend(items)


def snapshot(value):
    return bytes(value) if isinstance(value, bytearray) else flat(value)


def is_changed(value, before):
    if isinstance(value, bytearray):
        return bytes(value) != before
    now = flat(value)
    return len(now) != len(before) or not all(map(operator.is_, now, before))
