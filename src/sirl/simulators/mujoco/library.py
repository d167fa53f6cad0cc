"""What compiled loops call by its address: functions of MuJoCo's library, and loops of NumPy's ufuncs.

Both packages bring them along, and Python's way to them takes longer than some of them do. NumPy's loops are for
results that must have NumPy's bits: its cosine is not that of the C library on every machine.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray


@cache
def find_library() -> ctypes.CDLL | None:
    """MuJoCo's library as the Python package has loaded it; None if it is not where it is expected."""
    for library in Path(mujoco.__file__).parent.glob("*mujoco*.*"):
        if library.suffix in (".dll", ".dylib") or ".so." in library.name:
            try:
                found = ctypes.CDLL(str(library), mode=getattr(os, "RTLD_NOLOAD", ctypes.DEFAULT_MODE))
                ctypes.c_void_p.in_dll(found, "mjcb_time")
                if found.mj_version() == mujoco.mj_version():
                    return found
            except (OSError, ValueError, AttributeError):  # another file, or another build of MuJoCo
                continue
    return None


def stop_timers() -> bool:
    """Let MuJoCo step without reading the clock, in this process; whether that could be done.

    The Python package sets MuJoCo's ``mjcb_time``, so every step of the physics reads the clock a dozen times for
    ``mjData.timer``, which costs up to a third of a small model's physics. Nothing here looks at that, and no result
    depends on it. ``mujoco.set_mjcb_time(None)`` brings the package's clock back rather than none, so the callback,
    a public variable of the library, is cleared in its place.
    """
    library = find_library()
    if library is None:
        return False
    ctypes.c_void_p.in_dll(library, "mjcb_time").value = None
    return True


def address_of(library: ctypes.CDLL, function: str) -> int:
    """Where a function of the library is."""
    return ctypes.cast(getattr(library, function), ctypes.c_void_p).value or 0


class Loop(NamedTuple):
    """A call of a ufunc's inner loop on arrays that stay where they are; all are addresses."""

    function: int
    arrays: int
    dimensions: int
    strides: int
    data: int


class _Ufunc(ctypes.Structure):
    """What follows the head of a Python object in NumPy's ``PyUFuncObject``, a part of its C API."""

    _fields_ = [
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
    ]


def bind_loop(ufunc: np.ufunc, *arrays: NDArray[np.float64]) -> tuple[Loop, list[NDArray[Any]]]:
    """A ufunc of float64 bound to its operands, contiguous and one-dimensional, the result last.

    A ufunc with a signature, such as ``np.vecdot``, goes over its operands once, as one row.

    Returns:
        The call, and memory that must live as long as it is used.
    """
    signature = "d" * ufunc.nin + "->" + "d" * ufunc.nout
    number = ufunc.types.index(signature)
    head = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    n = len(arrays[0])
    if ufunc.signature is None:
        dimensions, strides = [n], [8] * ufunc.nargs
    else:  # of the loop over rows, whose strides must be 0, as it moves the addresses on by them; then of the row
        dimensions, strides = [1, n], [0] * ufunc.nargs + [8] * ufunc.nin
    memory = [np.array(words, dtype=np.intp) for words in ([a.ctypes.data for a in arrays], dimensions, strides)]
    where, shape, steps = (words.ctypes.data for words in memory)
    data = head.data[number] if head.data else None
    return Loop(head.functions[number] or 0, where, shape, steps, data or 0), [*arrays, *memory]


def _caller(n_arguments: int) -> Any:
    """Code that calls a function without a result at an address, with addresses as arguments."""

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word] * n_arguments)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * (n_arguments + 1)), generate


def _with_two(typing: Any, function: Any, first: Any, second: Any) -> Any:  # noqa: ARG001
    return _caller(2)


def _with_four(typing: Any, function: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:  # noqa: ARG001
    return _caller(4)


call_with_two: Any = intrinsic(_with_two)
"""``call_with_two(function, a, b)`` calls ``void function(void*, void*)`` at an address."""
call_with_four: Any = intrinsic(_with_four)
"""``call_with_four(function, a, b, c, d)`` likewise."""
