"""How tunings are named, and how pins are applied: the second half of every file that
`headway autotune --pins` writes. `headway._tuning` records by the same names.

A file of pins is this one, with its own head, FORMAT and KERNELS above the line that begins with
`# ---`. So nothing here may import Headway, and nothing may fail a job: on any doubt, and on any
exception, the full set of configurations is tuned."""

import functools
import hashlib
import re
import struct
import sys

FORMAT = 1
KERNELS = []

# --- The code: the same in every file of pins. ---
_notes = set()


def _note(problem):
    """One line for each kind of problem; the job goes on with full tuning."""
    if problem not in _notes and len(_notes) < 5:
        _notes.add(problem)
        print(f"headway: autotune pins: {problem}; tuning in full", file=sys.stderr, flush=True)


# How problems and configurations are named. src/autotune/shape_class.h says the same in C++.


def exact(value):
    """A value as a text that no other value has; None where there is no such text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value)) if -(2**63) <= value < 2**63 else None
    if isinstance(value, float):
        return "f:" + struct.pack(">d", value).hex()
    if isinstance(value, str):
        quoted = re.sub(rb"[^A-Za-z0-9_.:-]", lambda m: b"%%%02x" % m[0][0], value.encode("utf-8"))
        return "'" + quoted.decode() + "'"
    return None


def _coarse(value):
    if isinstance(value, bool) or not isinstance(value, int) or not 2 <= value < 2**63:
        return exact(value)
    return f"2^{value.bit_length() - 1}" + ("/16" if value % 16 == 0 else "")


def shape_class(values):
    """The class of a problem: of every number its power of two and whether 16 divides it; all else
    as it is. "" where the problem cannot be classed."""
    texts = [_coarse(value) for value in values]
    text = "" if None in texts or len(texts) > 128 else " ".join(texts)
    return text if len(text) <= 2000 else ""


def config_text(config):
    """Of a triton.Config; None where it cannot be named, or has a hook of its own."""
    if getattr(config, "pre_hook", None) is not None:
        return None
    parts = {name: exact(value) for name, value in config.all_kwargs().items()}
    if None in parts.values():
        return None
    return " ".join(f"{name}={text}" for name, text in sorted(parts.items()))


def choice_text(choice):
    """Of inductor's ChoiceCaller: its name without the number that counts choices."""
    name = re.sub(r"_\d+$", "", choice.name)
    return f"{name} {choice.description}".strip()


def _number(size):
    """A size that may be an expression of symbols, by its hint."""
    try:
        return int(size)
    except (TypeError, ValueError):
        virtualized = sys.modules["torch._inductor.virtualized"]
        sizes = virtualized.V.graph.sizevars
        hint = getattr(sizes, "optimization_hint", None) or sizes.size_hint
        return int(hint(size))


def _layout(strides):
    return "row" if strides and strides[-1] == 1 else "column" if 1 in strides else "strided"


def choices_problem(choices):
    """(operation, values of its problem, device) that some choices of inductor are for. The library
    call is asked, where there is one: templates may see their inputs packed."""
    calls = [c for c in choices if type(c).__name__ == "ExternKernelCaller"]
    asked = calls[0] if calls else choices[0]
    kernel = asked.name if calls else re.sub(r"_\d+$", "", asked.name)
    values = [str(asked.layout.dtype), *map(_number, asked.layout.size)]
    for node in asked.input_nodes:
        values += [str(node.get_dtype()), *map(_number, node.get_size())]
        values.append(_layout([_number(stride) for stride in node.get_stride()]))
    return kernel, values, asked.layout.device


@functools.cache
def _processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith(("model name", "CPU part", "cpu model")):
                return line.partition(":")[2].strip()
    return "unknown"


def device_hardware(device):
    """What the choices' times hold for: 'cuda:80 NVIDIA A100', 'cpu AMD EPYC 7B13, 8 threads'."""
    torch = sys.modules["torch"]
    if device.type == "cpu":
        return f"cpu {_processor()}, {torch.get_num_threads()} threads"
    found = getattr(torch, device.type).get_device_properties(device)
    version = getattr(found, "gcnArchName", "").partition(":")[0]
    if not version and hasattr(found, "major"):
        version = f"{found.major}{found.minor}"
    return f"{device.type}:{version} {found.name}"


def triton_hardware():
    """('cuda:80', 'cuda:80 NVIDIA A100'): by architecture, and by name where that is known."""
    driver = sys.modules["triton.runtime.driver"].driver.active
    target = driver.get_current_target()
    short = f"{target.backend}:{target.arch}"
    torch = sys.modules.get("torch")
    backend = getattr(torch, "cuda", None)
    if backend is None or not backend.is_initialized():
        return short, short
    return short, f"{short} {backend.get_device_name(driver.get_current_device())}"


def triton_software():
    return "triton " + sys.modules["triton"].__version__


def inductor_software():
    return "torch " + str(sys.modules["torch"].__version__)


def source_hash(function):
    """Of a JITFunction: whether the kernel is still the one that was tuned."""
    return hashlib.sha256(function.src.encode()).hexdigest()[:32]


# How pins are applied.


def _dropped(framework, kernel, source, software, hardware, shape):
    """The configurations not to try, by their texts. Empty: nothing is known, tune in full."""
    found = []
    for entry in KERNELS:
        if (entry["framework"], entry["kernel"]) != (framework, kernel):
            continue
        if source is not None and entry["source"] not in ("", source):
            continue
        if entry["software"] not in ("", software):
            continue
        for one in entry["classes"]:
            if one["hardware"] in hardware and one["shape"] == shape:
                found.append(set(entry["measured"]) - set(one["keep"]))
    return set.intersection(*found) if found else set()


def _triton_key(named, names):
    """As Triton's Autotuner makes it: values of the key's arguments, then types of tensors."""
    key = [named[name] for name in names if name in named]
    return key + [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]


def _prune_triton(configs, kernel, source, key):
    dropped = _dropped(
        "triton", kernel, source, triton_software(), triton_hardware(), shape_class(key)
    )
    return [c for c in configs if config_text(c) not in dropped] or configs


def prune(kernel, keys=None):
    """A hook for @triton.autotune(prune_configs_by={"early_config_prune": prune("kernel")}). `keys`
    is the decorator's own `key=`; it need not be given where `headway run` recorded it."""
    names = [entry["key_names"] for entry in KERNELS if entry["kernel"] == kernel]
    names = keys or next((found for found in names if found), None)

    def early_config_prune(configs, named_args, **kwargs):
        try:
            if not names:
                _note(f'prune("{kernel}") needs keys=, as in @triton.autotune(key=)')
                return configs
            key = _triton_key({**named_args, **kwargs}, names)
            return _prune_triton(configs, kernel, None, key)
        except Exception as error:
            _note(f"{kernel}: {type(error).__name__}: {error}")
            return configs

    return early_config_prune


def install_triton():
    """Every @triton.autotune, made before or after: what is pinned is all that is tried."""
    from triton.runtime.autotuner import Autotuner

    original = Autotuner.prune_configs
    if getattr(original, "_pinned", None) is KERNELS:
        return

    @functools.wraps(original)
    def prune_configs(self, kwargs):
        configs = original(self, kwargs)
        try:
            named = {**self.nargs, **kwargs}
            named = {name: value for name, value in named.items() if name in self.arg_names}
            function = self.fn
            while not hasattr(function, "src"):
                function = function.fn
            key = _triton_key(named, self.keys)
            return _prune_triton(configs, function.__name__, source_hash(function), key)
        except Exception as error:
            _note(f"{type(error).__name__}: {error}")
            return configs

    prune_configs._pinned = KERNELS
    Autotuner.prune_configs = prune_configs


def prune_choices(choices):
    """For torch._inductor.select_algorithm.add_preprocessing_fn."""
    try:
        if len(choices) < 2:
            return choices
        kernel, values, device = choices_problem(choices)
        dropped = _dropped(
            "inductor",
            kernel,
            "",
            inductor_software(),
            (device_hardware(device),),
            shape_class(values),
        )
        return [c for c in choices if choice_text(c) not in dropped] or choices
    except Exception as error:
        _note(f"{type(error).__name__}: {error}")
        return choices


def install_inductor():
    """Inductor's choices between templates and library calls (max_autotune)."""
    from torch._inductor import select_algorithm

    select_algorithm.add_preprocessing_fn(prune_choices)


def install():
    """Both, as far as they are installed."""
    for add in (install_triton, install_inductor):
        try:
            add()
        except ImportError:
            pass
