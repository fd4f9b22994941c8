"""Which parts of torch the hook watches, and who is told. Called once torch is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from headway import _recorder as rec
from headway._auto import compile_trace, post_import
from headway._auto.cache_use import cache_use
from headway._auto.compiles import compiles
from headway._auto.constructions import constructions
from headway._auto.device import DeviceSteps
from headway._auto.loop import loop
from headway._auto.modes import modes
from headway._auto.rendezvous import before_store
from headway._auto.saves import saves
from headway._auto.session import session
from headway._auto.stages import stages
from headway._auto.tuning import inductor_tunings, triton_tunings
from headway._recorder import core

Action = Callable[[ModuleType], None]


def install(torch: ModuleType) -> None:
    """Each part on its own: what one version of torch lacks costs that part only."""
    loop.grad_enabled = getattr(torch, "is_grad_enabled", loop.grad_enabled)
    _try("torch's version", _note_version, torch)
    _try("steps", _watch_steps, torch)
    _try("data waits", _watch_loader, torch)
    _try("torch.save and torch.load", _watch_saves, torch)
    _try("start-up stages", _watch_constructions, torch)
    stages.on_over.append(constructions.unwatch)
    session.at_exit.append(loop.finish)
    stages.on_over.append(cache_use.record)
    session.at_exit.append(cache_use.record)
    for name, lost, action in LATER:
        post_import.after(name, lambda module, a=action, what=lost: _try(what, a, module))


def _note_version(torch: ModuleType) -> None:
    """A fleet is compared before and after it."""
    if os.environ.get("RANK", "0") == "0":
        core.attr("torch", str(torch.__version__))


def _try(lost: str, action: Action, module: ModuleType) -> None:
    try:
        action(module)
    except Exception as error:
        version = getattr(sys.modules.get("torch"), "__version__", "unknown")
        session.warn(f"torch {version}: {type(error).__name__}: {error}", lost)


def _replace(
    name: str, modules: tuple[str, ...], enter: Any, leave: Any, whole_call: bool = True
) -> Callable[[], None]:
    """Puts an Around in place of a function in every module that exports it. Returns the undo."""
    owners = [sys.modules[m] for m in modules if m in sys.modules]
    original = getattr(owners[0], name)
    around = core.Around(original, enter, leave, whole_call=whole_call, global_name=True)
    places = [owner for owner in owners if getattr(owner, name, None) is original]
    for owner in places:
        setattr(owner, name, around)

    def undo() -> None:
        for owner in places:
            if getattr(owner, name, None) is around:
                setattr(owner, name, original)

    return undo


def _stage(phase: int, strong: bool = False) -> tuple[Any, Any]:
    """Callbacks that make a stage of a call."""
    enter_stage = stages.enter

    def enter(_first: object, _kwargs: object = None) -> int | None:
        return enter_stage(phase, strong)

    return enter, stages.leave


def _watch_steps(torch: ModuleType) -> None:
    tracing = torch.compiler.is_dynamo_compiling  # costs a third of is_compiling
    stepped = loop.stepped

    def step_hook(optimizer: Any, args: Any, kwargs: Any) -> None:
        if tracing():  # Dynamo traces us into a compiled optimizer: leave nothing there
            return
        if loop.pretending:
            return
        stepped(optimizer)

    modes.install(torch.nn.Module, tracing)
    optimizer_module = sys.modules["torch.optim.optimizer"]
    optimizer_module.register_optimizer_step_post_hook(step_hook)


def _watch_loader(_torch: ModuleType) -> None:
    dataloader = sys.modules["torch.utils.data.dataloader"]
    iterator = dataloader._BaseDataLoaderIter
    iterator.__next__ = core.Around(iterator.__next__, loop.next_enter, loop.next_leave)
    loader = dataloader.DataLoader
    loader.__iter__ = core.Around(loader.__iter__, loop.iter_enter, loop.iter_leave)


def _watch_saves(_torch: ModuleType) -> None:
    modules = ("torch.serialization", "torch")
    _replace("save", modules, saves.save_enter, saves.save_leave)
    _replace("load", modules, saves.load_enter, saves.load_leave)


def _watch_constructions(torch: ModuleType) -> None:
    preproc = _stage(rec.PREPROC_CREATION)
    plugins = _stage(rec.INIT_PLUGINS)
    modules = _stage(rec.TRAIN_MODULE_CREATION)
    data = torch.utils.data
    for base in (data.Dataset, data.Sampler, data.DataLoader):
        constructions.watch(base, *preproc)
    constructions.watch(torch.nn.Module, *modules)
    constructions.watch(sys.modules["torch.optim.lr_scheduler"].LRScheduler, *plugins)
    constructions.watch(sys.modules["torch.amp.grad_scaler"].GradScaler, *plugins)
    constructions.watch(torch.optim.Optimizer, _optimizer_enter, _optimizer_leave)
    module = torch.nn.Module
    for name in ("to", "cuda"):
        constructions.watch_function(module, name, *modules)
    constructions.watch_function(torch, "compile", *modules)
    _watch_device(torch)


def _optimizer_enter(optimizer: Any) -> Any:
    return (stages.enter(rec.INIT_PLUGINS), optimizer)


def _optimizer_leave(token: Any, _result: object, error: object) -> None:
    phase, optimizer = token
    if phase is not None:
        stages.leave(phase)
        if error is None:
            loop.optimizer_made(optimizer)


def _watch_device(torch: ModuleType) -> None:
    """The first accelerator context; then the device's own step ends."""
    for backend in ("torch.cuda", "torch.xpu"):
        module = sys.modules.get(backend)
        if module is not None and hasattr(module, "_lazy_init") and module._is_compiled():
            stages.on_over.append(_watch_first_context(module))
    stages.on_over.append(lambda: _try("device times", _watch_device_steps, torch))


def _watch_first_context(backend: Any) -> Callable[[], None]:
    def enter(_args: object, _kwargs: object) -> int | None:
        if backend.is_initialized():
            return None
        return stages.enter(rec.DEVICE_INIT, strong=True)

    return _replace("_lazy_init", (backend.__name__,), enter, stages.leave)


def _watch_device_steps(torch: ModuleType) -> None:
    """At the first step: only where an accelerator is in use, and without waking one."""
    cuda = sys.modules.get("torch.cuda")
    xpu = sys.modules.get("torch.xpu")
    backend = next((m for m in (cuda, xpu) if m is not None and m.is_initialized()), None)
    if backend is None:
        return

    def make_event() -> Any:
        return backend.Event(enable_timing=True)

    steps = DeviceSteps(make_event, core.now, session.ticks_per_ms, core.device_done)
    loop.after_step = steps.after_step


def _watch_process_groups(_module: ModuleType) -> None:
    callbacks = _stage(rec.PROCESS_GROUP_INIT, strong=True)
    modules = ("torch.distributed.distributed_c10d", "torch.distributed")
    for name in ("init_process_group", "new_group", "new_subgroups"):
        stages.on_over.append(_replace(name, modules, *callbacks))


def _watch_rendezvous(module: ModuleType) -> None:
    if hasattr(module, "_create_c10d_store"):
        modules = ("torch.distributed.rendezvous",)
        stages.on_over.append(
            _replace("_create_c10d_store", modules, before_store, lambda *_: None)
        )


def _watch_device_mesh(module: ModuleType) -> None:
    callbacks = _stage(rec.PROCESS_GROUP_INIT, strong=True)
    modules = ("torch.distributed.device_mesh", "torch.distributed")
    if hasattr(module, "init_device_mesh"):
        stages.on_over.append(_replace("init_device_mesh", modules, *callbacks))


def _watch_fully_shard(_module: ModuleType) -> None:
    modules = ("torch.distributed.fsdp._fully_shard", "torch.distributed.fsdp")
    callbacks = _stage(rec.TRAIN_MODULE_CREATION)
    stages.on_over.append(_replace("fully_shard", modules, *callbacks))


def _watch_dcp(_module: ModuleType) -> None:
    package = "torch.distributed.checkpoint"
    saver, loader = package + ".state_dict_saver", package + ".state_dict_loader"
    _replace("save", (saver, package), saves.dcp_save_enter, saves.save_leave)
    _replace("async_save", (saver, package), saves.dcp_save_enter, saves.async_save_leave)
    _replace("load", (loader, package), saves.dcp_load_enter, saves.load_leave)


def _watch_state_dict(_module: ModuleType) -> None:
    """get_state_dict() makes an optimizer's state by a step with zero gradients, which is none."""

    def enter(_args: object, _kwargs: object) -> bool:
        loop.pretending = True
        return True

    def leave(_token: object, _result: object, _error: object) -> None:
        loop.pretending = False

    _replace("_init_optim_state", ("torch.distributed.checkpoint.state_dict",), enter, leave)


def _watch_summary_writer(module: ModuleType) -> None:
    constructions.watch(module.SummaryWriter, *_stage(rec.INIT_PLUGINS))


LATER: tuple[tuple[str, str, Action], ...] = (
    ("torch.distributed.distributed_c10d", "process_group_init", _watch_process_groups),
    ("torch.distributed.rendezvous", "an early rendezvous", _watch_rendezvous),
    ("torch.distributed.device_mesh", "device meshes", _watch_device_mesh),
    ("torch.distributed.fsdp", "fully_shard", _watch_fully_shard),
    ("torch.distributed.checkpoint", "DCP", _watch_dcp),
    ("torch.distributed.checkpoint.state_dict", "DCP's state dicts", _watch_state_dict),
    ("torch.utils.tensorboard.writer", "loggers", _watch_summary_writer),
    ("torch._dynamo.callback", "compile", compiles.install),
    ("torch._logging._internal", "the trace of --auto-dynamic", compile_trace.take_trace),
    ("torch.compiler.config", "what --auto-dynamic has learnt", compile_trace.take_sources),
    ("torch._inductor.cpp_builder", "runs of the C++ compiler", compiles.watch_builds),
    ("torch._inductor.select_algorithm", "inductor's autotuning", inductor_tunings.install),
    ("triton.runtime.autotuner", "Triton's autotuning", triton_tunings.install),
    ("torch._inductor.codecache", "time that caches saved", compiles.watch_saved),
    (
        "torch._functorch._aot_autograd.autograd_cache",
        "time that caches saved",
        compiles.watch_saved,
    ),
)
