"""What `headway run` records of a script that says nothing itself.

    claim         is this process a rank? opens the journal when it proves to be one
    post_import   acts when a module has been imported
    torch_patch   which functions of torch are watched, and by whom
    constructions watches the construction of families of classes
    stages        the start-up stages
    loop          batches, steps, evaluation
    modes         evaluation by model.eval() and model.train()
    compiles      torch.compile, and what its caches were worth (cache_use)
    compile_trace the trace and settings of `headway run --auto-dynamic`
    tuning        what autotuning timed; pins for it
    saves         torch.save/load and DCP, and the position they carry (position)
    device        when the accelerator finished a step
    failure       the uncaught exception
    stacks        where a rank stands, when the agent asks
    elastic       torchrun's own restarts, in torchrun's process
    session       what they share; writes lane 0 in order

Each part holds to: never change the script's results, output or exit code; on a fault of our own,
one line on stderr and no further measuring.
"""

from __future__ import annotations


def start() -> str:
    """Called by sitecustomize, before the script. Costs a few microseconds until torch comes.
    Returns why nothing can be measured, or ''."""
    from headway._auto import claim

    return claim.arm()
