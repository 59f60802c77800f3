"""Texts of schemas, good and bad: every type, suffix, default, alias annotation and name in every place, and damage."""

import random
from collections.abc import Iterator

TYPES = [
    "Tensor", "int", "SymInt", "float", "SymFloat", "bool", "SymBool", "complex", "Scalar", "str", "None", "NoneType",
    "ScalarType", "Device", "DeviceIndex", "Layout", "MemoryFormat", "Generator", "Dimname", "DimnameList", "Storage",
    "Stream", "QScheme", "Quantizer", "ConstQuantizerPtr", "Capsule", "PyObject", "Any", "AnyClassType",
    "AnyEnumType", "number", "Number", "dtype", "layout", "device", "memory_format", "Double", "double", "int64_t",
    "Int", "String", "List", "Optional", "string", "tensor", "t", "T", "Tuple", "Float", "Long", "long", "half",
    "BFloat16", "AnyListType", "AnyTupleType", "Function", "Union", "Dict", "EnumType", "TensorList", "IntArrayRef",
    "IntList", "Symbol", "Blob", "Future", "Await", "RRef", "Float8", "void", "auto", "size_t", "uint8_t",
    "SymNodeImpl", "nonetype", "3", "_t", "__torch__", "prim", "Complex", "generator", "stream",
]  # fmt: skip
DEFAULTS = [
    "None", "True", "False", "0", "1", "-1", "1.5", "-1.5", ".5", "5.", "1e3", "1e-3", "-1e3", "1j", "-1j", "2.5j",
    "1+2j", "inf", "-inf", "nan", "infj", "'a'", "\"b\"", "\"it's\"", "'a\\'b'", "''", "\"\\n\"", "[]", "[1]",
    "[1,2]", "[1,", "2,]", "[1.5]", "[True,False]", "['a']", "[None]", "[[1]]", "Mean", "Sum", "strided",
    "contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "long", "int", "float", "double",
    "half", "bool", "cpu", "cuda", "foo", "0x10", "1_000", "99999999999999999999", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "1e400", "00", "01", "+1", "--1", "-", "()", "(1)", "{}", "sparse",
    "mkldnn", "complex64", "uint8", "byte", "short", "cfloat", "bfloat16", "1.5e", "1..2", "1e+3", "'é'", "nanj",
    "True,", "Tensor", "null",
]  # fmt: skip
SUFFIXES = [
    "", "?", "[]", "[]?", "?[]", "[2]", "[2]?", "?[2]", "[][]", "[2][2]", "[][2]", "[2][]", "[]?[]", "??", "[0]",
    "[-1]", "[n]", "[", "]", "[]?[]?", "[3]?[]", "?[]?", "[1.5]", "[02]", "[]??", " ?", " []", "[ ]", "[ 2 ]",
]  # fmt: skip
ALIASES = [
    "(a)", "(a!)", "(a->*)", "(a -> *)", "(a!->b)", "(*)", "(*!)", "(a|b)", "(a|b!)", "(a|b -> c|d)", "(a|*)", "(!)",
    "()", "(a", "(a!!)", "!", "(a -> )", "(-> a)", "(A)", "(1)", "($0)", "(a b)", "(a,b)", "(a|)", "(a! -> *)",
    "(a! -> a|b)", "(_x)", "(a )", "( a ! )", "(a|a)", "(a!b)", "(a->b->c)", "(a->b!)",
]  # fmt: skip
ALIASED = [
    "Tensor{a} x", "Tensor{a}? x", "Tensor?{a} x", "Tensor{a}[] x", "Tensor[]{a} x", "Tensor{a}[]? x",
    "Tensor{a}[]{a} x", "Tensor{a}[2] x", "int{a} x", "int[]{a} x", "Tensor{a}{a} x", "Tensor {a} x",
    "Dict(str, Tensor{a}) x", "(Tensor{a}, int) x", "Tensor{a}?[] x", "Dict(str, int){a} x", "Union(int, float){a} x",
]  # fmt: skip
WITH_SUFFIX = [
    "Tensor", "int", "SymInt", "str", "Scalar", "float", "Generator", "Dict(str, int)", "(int, int)",
    "Union(int, float)",
]  # fmt: skip
WITH_DEFAULT = [
    "Tensor", "Tensor?", "Tensor[]", "int", "int?", "int[]", "int[2]", "SymInt", "SymInt[]", "SymInt[2]", "float",
    "float?", "float[]", "SymFloat", "bool", "bool[]", "bool[3]", "SymBool", "complex", "complex?", "complex[]",
    "Scalar", "Scalar?", "Scalar[]", "str", "str?", "str[]", "ScalarType", "ScalarType?", "Device", "Device?",
    "Layout", "Layout?", "MemoryFormat", "MemoryFormat?", "Generator", "Generator?", "Dimname", "Dimname[]?",
    "Stream", "Storage", "DeviceIndex", "QScheme", "Any", "NoneType", "(int, int)", "Dict(str, int)",
    "Union(int, float)", "int?[]", "int[]?", "int[2]?", "Tensor?[]", "float[2]?", "PyObject", "Future(int)",
]  # fmt: skip
NAMES = [
    "f", "x::f", "x::f.o", "x::f.", "x::.o", "::f", "x::", "x.y::f", "x::y::f", "x::f.o.p", "x::f.default",
    "x::f.__o", "x::f.2", "x::f-g", "1x::f", "x::1f", "x::f o", "x :: f", "x:: f . o", "x::f\t", "é::f", "x::é",
    "x::if", "x::None", "x::f.True", "x::int", "x::Tensor", "", "aten::f", "x::_f", "x::__f", "X::F", "x:f", "x::f_",
    "x::f.Tensor", "None::f", "x::f.default_", "x::f._o", "x::f.if", "inf::f", "x::inf", "x::nan",
]  # fmt: skip
ARGUMENTS = [
    "", "Tensor a", "Tensor a,", "Tensor a, ", ",Tensor a", "Tensor a,,int b", "Tensor a int b", "*", "*, int a",
    "int a, *", "int a, *,", "*, *", "*, int a, *, int b", "int a, *, *, int b", "*int a", "...", "int a, ...",
    "..., int a", "int a=1, ...", "*, ...", "...,", "int a, int a", "int a, *, int a", "int", "Tensor self", "int if",
    "int class", "int None", "int True", "int a.b", "int a-b", "int 1", "int _", "int __a", "int a=1, int b",
    "int a=1, Tensor b", "int a=", "int a==1", "int =1", "a", "int a b", "(int a)", "((int a))", "int a)", "(int a",
    "Tensor a; int b", "Tensor\na", "Tensor\ta", "\n Tensor a ,\n int b\n", "int a # c", "int $a", "int 'a'", "int é",
    "int aé", "int inf", "int nan", "int Tensor", "int int", "int self, int out", "*args", "**kwargs", "int *a",
    "int a, /, int b", "int a = 1", "int a= 1", "int a =1", "* , int a", "Tensor(a!) out", "*, Tensor(a!) out",
    "*, Tensor(a!) out=None", "int[2]a", "int[2] a", "int [2] a", "Tensor? a", "Tensor ? a", "Tensora",
    "int a, *, Tensor b, ...", "int ...", "int a ...", "int... a", "Tensor a, (int, str) b", "Dict(int) a",
    "Dict(int, int, int) a", "Dict() a", "Dict a", "Union() a", "Union(int) a", "Union a", "Future() a",
    "Future(int, int) a", "Future a", "Await(Tensor) a", "RRef(t) a", "List(int) a", "Optional(int) a", "() a",
    "(int) a", "(int,) a", "(int, ) a", "((int)) a", "(,) a", "(int, str)[] a", "(int, str)? a",
    "(int, (str, float)) a", "Dict(int, Dict(str, Tensor[])[])[]? a", "__torch__.foo.Bar a", "__torch__.a a",
    "__torch__ a", "int a=[1], int b=2", "Tensor a=1", "Tensor[2] a=[1,2]", "Device a='cpu'", "Device a=\"cuda:0\"",
    "Device? a='cpu'", "Device a=cpu",
]  # fmt: skip
RETURNS = [
    "", "()", "Tensor", "(Tensor)", "((Tensor))", "(Tensor, Tensor)", "(Tensor,)", "(Tensor,Tensor,)",
    "Tensor, Tensor", "Tensor a", "(Tensor a)", "(Tensor a, Tensor b)", "(Tensor a, Tensor)", "(Tensor a, Tensor a)",
    "(int a=1)", "Tensor a=1", "...", "(...)", "(Tensor, ...)", "(..., Tensor)", "Tensor ...", "Tensor[]",
    "Tensor[]?", "Tensor?", "Tensor?[]", "(Tensor[] a, int b)", "*", "(*)", "Tensor(a!)", "(Tensor(a!) out)", "None",
    "(None)", "()[]", "()?", "( )", "((int, str))", "(int, str)[]", "((int, str)[])", "((int, str), Tensor)",
    "(Tensor Tensor)", "Tensor)", "(Tensor", "Tensor b c", "(,)", "Tensor;", "Tensor # c", "Tensor\n", "-> Tensor",
    "Any", "t", "(t a)", "Dict(str, Tensor)", "Union(int, None)", "Tensor[2]", "(Tensor[2] a)", "((Tensor) a)",
    "(((Tensor)))",
]  # fmt: skip
WHOLE = [
    "x::f(Tensor a)", "x::f(Tensor a) - > Tensor", "x::f(Tensor a) => Tensor", "x::f(Tensor a) Tensor", "x::f",
    "x::f()", "x::f() ->", "(Tensor a) -> Tensor", "x::f(Tensor a) -> Tensor extra",
    "x::f(Tensor a) -> Tensor -> Tensor", " x::f(Tensor a) -> Tensor ", "x::f(Tensor a) : Tensor",
    "x::f[Tensor a] -> Tensor", "x::f(Tensor a) -> Tensor\u0000", "\u0000", "x::f(Tensor a)\r\n-> Tensor",
    "x::f(Tensor a) -> Tensor 　", "x::f(Tensor a) -> Tensor", "x::f(Tensor 😀) -> ()", "x::f(str a='😀') -> ()",
    "x::f(str a='unterminated) -> ()", "x::f(str a=\"a\nb\") -> ()", "x::f(str a='\\x41') -> ()",
    "x::f(str a='\\101') -> ()", "x::f(str a='\\q') -> ()",
]  # fmt: skip
PARTS = ["Tensor", "int", "SymInt[]", "Tensor(a!)", "Tensor?[]", "str?", "Scalar", "float[2]", "Dict(str, int)",
         "(int, Tensor)[]", "Tensor(b -> *)[]", "bool[3]?"]  # fmt: skip
PART_DEFAULTS = {
    "int": "3",
    "SymInt[]": "[1, 2]",
    "str?": "None",
    "Scalar": "1.5",
    "float[2]": "1.5",
    "bool[3]?": "None",
}
PART_RETURNS = ["()", "Tensor", "Tensor(a!)", "(Tensor, int b)", "Tensor[]", "(Tensor(a!) x, (int, str) y)", "..."]


def texts() -> Iterator[str]:
    """All of them; some come twice."""
    for kind in TYPES:
        for form in ("({} a) -> ()", "(Tensor a) -> {}", "({}[] a) -> ()", "({}? a=None) -> ()", "({}[2]? a) -> {}[]"):
            yield "x::f" + form.replace("{}", kind)
    for kind in WITH_SUFFIX:
        for suffix in SUFFIXES:
            yield f"x::f({kind}{suffix} a) -> ()"
            yield f"x::f(Tensor x) -> {kind}{suffix}"
            yield f"x::f(Tensor x) -> ({kind}{suffix}, int)"
    for kind in WITH_DEFAULT:
        for default in DEFAULTS:
            yield f"x::f({kind} a={default}) -> ()"
    for alias in ALIASES:
        for form in ALIASED:
            text = form.replace("{a}", alias)
            yield f"x::f({text}) -> ()"
            yield f"x::f(Tensor(a!) y) -> {text[:-2]}"
            yield f"x::f(Tensor y) -> ({text[:-2]} r, int)"
    for name in NAMES:
        yield from (f"{name}(Tensor a) -> Tensor", f"{name} (Tensor a) -> Tensor", name)
    yield from (f"x::f({arguments}) -> Tensor" for arguments in ARGUMENTS)
    for returned in RETURNS:
        yield from (f"x::f(Tensor a) -> {returned}", f"x::f(Tensor a)->{returned}")
    yield from WHOLE
    yield from _random(random.Random(3), 400)


def _random(rng: random.Random, count: int) -> Iterator[str]:
    """Whole schemas, each followed by three with one character changed, lost and added."""
    for _ in range(count):
        parts: list[str] = []
        for i in range(rng.randrange(6)):
            kind = rng.choice(PARTS)
            default = PART_DEFAULTS.get(kind)
            parts.append(f"{kind} a{i}" + (f"={default}" if default and rng.random() < 0.5 else ""))
            if rng.random() < 0.2:
                parts.append("*")
        text = f"ns::op{'.ov' if rng.random() < 0.3 else ''}({', '.join(parts)}) -> {rng.choice(PART_RETURNS)}"
        yield text
        at, sign = rng.randrange(len(text)), rng.choice(" ()[]?!,=*.:->|ax1'\"")
        yield from (text[:at] + sign + text[at + 1 :], text[:at] + text[at + 1 :], text[:at] + sign + text[at:])
