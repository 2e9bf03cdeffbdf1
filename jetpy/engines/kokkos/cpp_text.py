"""C++ of jetpy that surrounds the kernels of PyKokkos."""

COMMON = """
template <class Type> Type argument(pybind11::handle passed) {
  if constexpr (Kokkos::is_view_v<Type>) {
    const auto address = passed.cast<std::uintptr_t>();
    const auto longest = PTRDIFF_MAX / sizeof(typename Type::value_type);
    return Type(reinterpret_cast<typename Type::pointer_type>(address), longest);
  } else {
    return passed.cast<Type>();
  }
}

template <class Type> Type argument(const std::int64_t& word) {
  if constexpr (Kokkos::is_view_v<Type>) {
    const auto longest = PTRDIFF_MAX / sizeof(typename Type::value_type);
    return Type(reinterpret_cast<typename Type::pointer_type>(word), longest);
  } else if constexpr (std::is_floating_point_v<Type>) {
    double value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  } else {
    return static_cast<Type>(word);
  }
}

template <class Run> std::int64_t total(Run run) {
  if constexpr (std::is_void_v<decltype(run())>) {
    run();
    return 0;
  } else {
    return run();
  }
}

template <class Run> PyObject* answer(Run run) {
  try {
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      return pybind11::none().release().ptr();
    } else {
      return pybind11::cast(run()).release().ptr();
    }
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}
"""
"""Reads arguments from Python or from the words of a block, with addresses for views of unknown
length, and returns results."""
ENTRY = """
PyObject* launch(PyObject* space, PyObject* const* passed, Py_ssize_t count) {{
  return answer([&] {{ {few} return {call}; }});
}}
extern "C" PyObject* {symbol}(PyObject* space) {{
  static PyMethodDef method = {{"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL}};
  return PyCFunction_New(&method, space);
}}
"""
"""Returns a Python function that launches a kernel in an execution space; None means OpenMP without
its threads. A further argument says that each index deserves a thread."""
RANGE = """
extern "C" std::int64_t {symbol}_range(
    std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t block) {{
  const auto passed = reinterpret_cast<const std::int64_t*>(block);
  return total([&] {{ {few} return {call}; }});
}}
"""
"""Launches a kernel on CPUs from a program, with the parameters of a range of `cpu`; it uses only
the block."""
BLOCKS = """
constexpr std::int64_t BLOCK = 256;

template <class Policy> Kokkos::RangePolicy<typename Policy::execution_space> blocks(
    const Policy& policy) {
  const std::int64_t end = policy.end();
  return {policy.space(), 0, (end + BLOCK - 1) / BLOCK};
}

template <class Policy, class Functor, class Total> void reduce_blocks(
    const std::string& name, const Policy& policy, const Functor& functor, Total& total) {
  const std::int64_t end = policy.end();
  Kokkos::parallel_reduce(name, blocks(policy), [=](const std::int64_t block, Total& sum) {
    const std::int64_t stop = std::min(end, (block + 1) * BLOCK);
    Total kept = sum;
    for (std::int64_t i = block * BLOCK; i < stop; ++i) {
      functor(typename Policy::work_tag(), i, kept);
    }
    sum = kept;
  }, total);
}

template <class Policy, class Functor, class Total> void scan_blocks(
    const std::string& name, const Policy& policy, const Functor& functor, Total& total) {
  const std::int64_t end = policy.end();
  const auto visit = [=](const std::int64_t block, Total& sum, const bool last) {
    const std::int64_t stop = std::min(end, (block + 1) * BLOCK);
    Total kept = sum;
    for (std::int64_t i = block * BLOCK; i < stop; ++i) {
      functor(typename Policy::work_tag(), i, kept, last);
    }
    sum = kept;
  };
  Kokkos::parallel_scan(name, blocks(policy), visit, total);
}
"""
"""Launches of reductions and scans that OpenMP's threads share, by blocks of indices. Kokkos passes
the sum by address; within a block, it is in a register."""
