"""Evaluation as the model shows it: from model.eval() to model.train().

A script that takes its batches from a DataLoader is seen evaluating by them (`loop`); this is for
those that do not, and for what an evaluation does before its first batch and after its last. It
counts only between steps, and only while it proves right: an optimizer that steps in between (a
backbone kept in eval mode for its batch statistics) ends it, for good.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from headway._auto.loop import loop
from headway._auto.session import session
from headway._recorder import core


class Modes:
    """Training thread only."""

    def __init__(self) -> None:
        self.trusted = True
        self.module: Callable[[], Any] = lambda: None  # that evaluates: a weak reference
        self.owner: Any = None  # nn.Module
        self.original_train: Any = None

    def install(self, module_class: Any, tracing: Callable[[], bool]) -> None:
        """Watches nn.Module.eval. Dynamo traces through us as if we were not there."""
        self.owner = module_class
        self.original_train = module_class.train
        original, entered = module_class.eval, self.entered

        @functools.wraps(original)
        def eval(self: Any) -> Any:
            if not tracing():
                entered(self)
            return original(self)

        module_class.eval = eval
        loop.eval_over = self.left

    def entered(self, module: Any) -> None:
        """model.eval(): what follows is evaluation, if training has begun and will go on."""
        try:
            if not (session.on and self.trusted and loop.hooked_steps) or loop.evaluating:
                return
            if threading.get_ident() != loop.thread or loop.fetching is not None:
                return
            if not module.training:
                return
            self.module = weakref.ref(module)
            self.owner.train = core.Around(self.original_train, self._train_called, whole_call=True)
            loop.evaluate_by_mode()
        except Exception as error:
            session.callback_failed(type(error), error)

    def _train_called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        mode = args[1] if len(args) > 1 else kwargs.get("mode", True)
        module = self.module()
        inner = (getattr(module, "module", None), getattr(module, "_orig_mod", None))
        if mode and (module is None or args[0] is module or args[0] in inner):
            loop.end_evaluation()

    def left(self, by_step: bool) -> None:
        """The evaluation is over: by train(), by a batch to train on, or by a step."""
        self.owner.train = self.original_train
        if by_step:
            self.trusted = False


modes = Modes()
