"""The training loop as torch shows it: batches from DataLoaders, steps from optimizers.

A step is what an optimizer does with the batches since the last one. Another optimizer that steps
before the next batch belongs to the same step; the same one again begins a new step. A loader is a
training loader once an optimizer has stepped after a batch of it; batches fetched with gradients
off, or from another loader without steps in between, are evaluation.

Everything runs on the training thread, on the path of every step: no allocation to speak of, at
most a few records. A loop that has found its rhythm does not come here at all: core.LoopState (see
python/src/steady.h) holds the state, handles the next batch of the same iterator and the next step
of the same optimizer, and calls the methods named `_slow` for everything else. Optimizers that step
on an autograd thread are noted and recorded with the next batch.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from headway import _recorder as rec
from headway._auto.session import session
from headway._auto.stages import stages
from headway._recorder import core
from headway._run import static_batch_size, world_size

UNKNOWN, TRAIN, EVALUATION = 0, 1, 2
SAME_STEP_RECORDS_MAX = 4  # optimizers of one step recorded at once; more: with the next batch
ITERATORS_MAX = 1024
PROBES_MAX = 4
SAMPLES_UNKNOWN = -1

Source = core.Source  # one DataLoader, by what its batches turned out to be for
Fetching = core.Fetching  # one iterator over a source


class Loop(core.LoopState):  # type: ignore[misc, name-defined]
    """See the module. The base holds

    run               the training position
    since_step        sources of the batches since the last step
    batches           since the last step
    samples           in them, over all ranks
    batches_per_step  of the last step
    trained_on        the id of the dataset that the last step used
    fetching          the Fetching whose __next__ is running
    phase             its span
    step_open         the step that goes on has been recorded
    evaluating        an evaluation goes on
    extend            the step that ended last went on after its last record
    elsewhere         an optimizer stepped on another thread
    restored          no step yet since the position was restored
    settled           the loop is in its rhythm
    """

    def __new__(cls) -> Loop:
        return super().__new__(cls, session.run)  # type: ignore[no-any-return]

    def __init__(self) -> None:
        self.grad_enabled: Callable[[], bool] = lambda: True
        self.thread = threading.get_ident()
        self.sources: dict[int, tuple[Any, Source]] = {}  # by the loader's id
        self.fetchings: dict[int, Fetching] = {}
        self.training_known = False
        self.stepped_by: set[int] = set()  # optimizers of the step that ended last
        self.hooked_steps = False  # optimizers tell us of their steps
        self.probes: list[Any] = []
        self.probed = 0
        self.after_step: Callable[[int], None] | None = None
        self.pretending = False  # an optimizer steps, but not to train
        self.by_mode = False  # the evaluation that goes on ends with model.train()
        self.eval_over: Callable[[bool], None] = lambda by_step: None

    # ---- iterators

    def iter_enter(self, loader: Any) -> Any:
        """DataLoader.__iter__: with workers, starting them is part of the first batch."""
        first = (
            not self.hooked_steps
            and self.fetching is None
            and not self.run.explicit
            and not stages.stack
            and stages.open
            and not core.import_clock_depth()
            and self.grad_enabled()
        )
        if first:
            stages.first_batch_asked()
            core.begin(rec.GET_FIRST_BATCH_DATA)
        return (loader, first)

    def iter_leave(self, token: Any, iterator: Any, error: Any) -> None:
        loader, first = token
        if first:
            core.end(rec.GET_FIRST_BATCH_DATA)
            session.last_tick = core.now()
        if error is None and len(self.fetchings) < ITERATORS_MAX:
            key = id(iterator)
            reference = weakref.ref(iterator, lambda _: self._iterator_gone(key))
            self.fetchings[key] = Fetching(self._source(loader), reference)

    def _iterator_gone(self, key: int) -> None:
        self.fetchings.pop(key, None)
        self.forget(key)

    def _source(self, loader: Any) -> Source:
        known = self.sources.get(id(loader))
        if known is not None:
            return known[1]
        size = static_batch_size(loader)
        dataset = id(getattr(loader, "dataset", None))
        source = Source(SAMPLES_UNKNOWN if size is None else size * world_size(), dataset)
        if self.trained_on == dataset:  # a new loader for each epoch
            source.kind = TRAIN
        key, sources = id(loader), self.sources
        reference = weakref.ref(loader, lambda _: sources.pop(key, None))
        sources[key] = (reference, source)
        return source

    # ---- batches

    def next_enter_slow(self, iterator: Any) -> Any:
        if self.fetching is not None:
            return None  # an iterator that wraps another one
        fetching = self.fetchings.get(id(iterator))
        if fetching is None:
            fetching = Fetching(Source(SAMPLES_UNKNOWN, 0), None)
        else:
            self.remember(iterator, fetching)
        source = fetching.source
        if self.extend or self.elsewhere:
            self._end_late()
        if session.late or session.held_end is not None:
            session.flush()
        evaluates = not self.grad_enabled() or source.kind == EVALUATION
        if evaluates or (self.by_mode and source.kind != TRAIN):
            self._evaluate()
            self.phase = rec.EVAL
        elif self.run.explicit:
            return None
        else:
            if source.kind == UNKNOWN and self.training_known:
                if source.since_step > self.batches_per_step:
                    self._found_evaluation(source)
                    self.fetching = fetching
                    return True
            elif self.evaluating:
                self.end_evaluation()
            if self.probes and not self.hooked_steps:
                self._probe(fetching.count > 0)
            self.phase = self._wait_phase(fetching)
            core.begin(self.phase)
        self.fetching = fetching
        return True

    def _wait_phase(self, fetching: Fetching) -> int:
        if fetching.count or not stages.open:
            return rec.DATA_WAIT
        self.run.first_batch = True
        stages.first_batch_asked()
        self.step_open = False
        return rec.GET_FIRST_BATCH_DATA

    def next_leave_slow(self, _token: Any, _batch: Any, error: Any) -> None:
        fetching = self.fetching
        self.fetching = None
        phase = self.phase
        if phase == rec.EVAL:
            if error is not None and not self.by_mode:
                self.end_evaluation()
            return
        core.end(phase)
        if phase == rec.GET_FIRST_BATCH_DATA:
            session.last_tick = core.now()
        if error is not None:
            if stages.open:  # a pass over the data before training
                self._forget_batches()
            return
        self.take_batch(fetching)

    def _forget_batches(self) -> None:
        for source in self.since_step:
            source.since_step = 0
        self.since_step.clear()
        self.batches = 0
        self.samples = 0
        self.step_open = False

    # ---- evaluation

    def _evaluate(self) -> None:
        if self.evaluating:
            return
        stages.end_imports()
        session.flush()
        self.evaluating = True
        core.begin(rec.EVAL)

    def _found_evaluation(self, source: Source) -> None:
        """A loader that is asked again and again without a step: it was not training after all."""
        source.kind = EVALUATION
        self.since_step.remove(source)
        self.batches -= source.since_step
        if SAMPLES_UNKNOWN not in (source.samples, self.samples):
            self.samples -= source.samples * source.since_step
        elif not any(other.samples == SAMPLES_UNKNOWN for other in self.since_step):
            self.samples = sum(o.samples * o.since_step for o in self.since_step)
        source.since_step = 0
        self.phase = rec.EVAL
        self._evaluate()

    def evaluate_by_mode(self) -> None:
        """model.eval() was called between two steps."""
        self.by_mode = True
        self._evaluate()

    def end_evaluation(self, by_step: bool = False) -> None:
        if self.evaluating:
            self.evaluating = False
            core.end(rec.EVAL)
            if self.by_mode:
                self.by_mode = False
                self.eval_over(by_step)
            if stages.open:
                session.last_tick = core.now()

    # ---- steps

    def stepped_slow(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        if not session.on or self.run.explicit:
            return
        if threading.get_ident() != self.thread:
            self.elsewhere = True
            self.hooked_steps = True
            return
        key = id(optimizer)
        stepped_by = self.stepped_by
        if self.batches == 0 and stepped_by and key not in stepped_by:
            stepped_by.add(key)
            self.settle(None)  # several optimizers a step
            if len(stepped_by) <= SAME_STEP_RECORDS_MAX:
                core.step_end(self.run.step, self.run.data)
            else:
                self.extend = True
            return
        self.hooked_steps = True
        self._end_step()
        stepped_by.clear()
        stepped_by.add(key)
        if self.training_known:
            self.settle(optimizer)

    def _end_step(self) -> None:
        run = self.run
        if self.extend:
            self.extend = False
            core.step_end(run.step, run.data)
        if session.late or session.held_end is not None:
            session.flush()
        if self.evaluating:
            self.end_evaluation(by_step=True)
        if self.batches:
            self.training_known = True
        self.close_step()
        if stages.open:
            stages.over()
        if self.after_step is not None:
            self.after_step(run.step)

    def _end_late(self) -> None:
        """Steps that are recorded with the next batch: see the module."""
        if self.elsewhere:
            self.elsewhere = False
            if self.batches or not self.stepped_by:
                self._end_step()
        if self.extend:
            self.extend = False
            core.step_end(self.run.step, self.run.data)

    # ---- optimizers that do not say when they step (compiled ones, foreign ones)

    def optimizer_made(self, optimizer: Any) -> None:
        """Remembers a few of its parameters, to see them change."""
        try:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
        except Exception:
            return
        for parameter in parameters[:1] + parameters[-1:]:
            if len(self.probes) < PROBES_MAX:
                self.probes.append(weakref.ref(parameter))

    def _versions(self) -> int:
        alive = [parameter for probe in self.probes if (parameter := probe()) is not None]
        return sum(parameter._version for parameter in alive)

    def _probe(self, in_loop: bool) -> None:
        """Before a batch. What changes parameters between two batches of a loop is a step."""
        versions = self._versions()
        if in_loop and versions != self.probed and self.batches:
            self._end_step()
        self.probed = versions

    def position_restored(self) -> None:
        """The run continues from a saved position."""
        self.restored = True
        self._forget_batches()

    def finish(self) -> None:
        """At exit."""
        if self.extend or self.elsewhere:
            self._end_late()
        if self.evaluating:
            self.end_evaluation()


loop = Loop()
