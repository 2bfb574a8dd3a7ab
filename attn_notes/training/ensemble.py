"""Train many models of one kind at once: the same program under many seeds.

Every curve in this book carries a band, so nothing is ever trained once. The members' parameters
are stacked along a new first axis, the work on one member is written as if it were alone, and
`torch.func.vmap` repeats it over that axis. No member ever reads another's numbers: what a member
becomes does not depend on its company.
"""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Generator, Tensor, nn, optim
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import grad_and_value, stack_module_state, vmap
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from attn_notes import allowed
from attn_notes.training.plain import functional_call, in_words, suited

__all__ = ["Run", "train"]

Tensors = dict[str, Tensor]
Model = Callable[..., Tensor]

# These update every number by itself, so one of them can step all members at once. Any other
# optimiser (Adafactor, LBFGS, ...) looks at a whole tensor and gets one instance a member.
ELEMENTWISE = {
    *(optim.SGD, optim.Adam, optim.AdamW, optim.Adamax, optim.NAdam, optim.RAdam),
    *(optim.Adagrad, optim.Adadelta, optim.RMSprop, optim.Rprop, optim.ASGD),
}


@dataclass(frozen=True)
class Run:
    """What `train` returns: m trained members and what was probed on the way.

    Attributes:
        parameters: name → tensor [m, ...], as `torch.func.stack_module_state` stacks them; what is
            frozen as it was.
        buffers: likewise, as they were given.
        steps: the steps at which the probe was taken, the first 0 (untrained), the last the end.
        history: name → tensor [len(steps), m, ...], what the probe returned.
        seconds: wall time of the whole run, probes and `watch` included.
    """

    parameters: Tensors
    buffers: Tensors
    steps: Tensor
    history: Tensors
    seconds: float
    _template: nn.Module

    def __repr__(self) -> str:
        sizes = [value[0].numel() for value in self.parameters.values()]
        members = len(next(iter(self.parameters.values())))
        probed = ", ".join(f"{name} {list(value.shape)}" for name, value in self.history.items())
        last = f"{int(self.steps[-1]):,} steps, " if len(self.steps) else ""
        return (
            f"Run({members} × {type(self._template).__name__} of {sum(sizes):,} parameters; {last}"
            f"{self.seconds:.1f} s; probed: {probed or 'nothing'})"
        )

    def member(self, i: int) -> nn.Module:
        """Member i as an ordinary model on the CPU."""
        model = copy.deepcopy(self._template)
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                model.get_parameter(name).copy_(parameter[i])
            for name, buffer in self.buffers.items():
                model.get_buffer(name).copy_(buffer[i])
        return model


class Place(Protocol):
    """Where one run is kept: what came of it when it was trained before, if it was."""

    run: Run | None

    def keep(self, run: Run) -> None:
        """Keep it for the next time."""


PLACES: Callable[..., Place] | None = None
"""Finds the place of a run by its models, its probe and all that it hangs on: `book.kit.recorded`
has such places, and without it every run is trained."""


def _settings(model: nn.Module) -> list[Any]:
    """What a model is besides its tensors: classes and public attributes, module by module."""
    return [  # a class by its name: torch makes one anew for each module that it parametrises
        (name, type(module).__module__, type(module).__qualname__, public)
        for name, module in model.named_modules()
        for public in [{k: v for k, v in vars(module).items() if _told(k, v)}]
    ]


def _told(name: str, value: Any) -> bool:
    return not (name.startswith("_") or isinstance(value, Tensor))


def _trained(model: nn.Module) -> list[str]:
    """The names of a model's parameters that are not frozen."""
    return [name for name, p in model.named_parameters() if p.requires_grad]


def _check_alike(models: Sequence[nn.Module]) -> None:
    if lazy := [n for n, p in models[0].named_parameters() if is_lazy(p)]:
        raise ValueError(f"`{lazy[0]}` has no shape yet: call each model once on a batch before")
    first = _settings(models[0])
    for i, model in enumerate(models):
        if _settings(model) != first:
            raise ValueError(f"models must differ in numbers alone: model {i} has other settings")
        if _trained(model) != _trained(models[0]):
            raise ValueError(f"models must train the same parameters, but model {i} trains others")
    if not _trained(models[0]):
        raise ValueError("models must have a parameter that is trained, and these have none")


def _shapes(batch: Any) -> list[torch.Size]:
    leaves = tree_leaves(batch)
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError(f"data must be tensors, or a function that draws them, not {batch!r:.60}")
    return [t.shape for t in leaves]


def _bind(template: nn.Module, parameters: Tensors, buffers: Tensors) -> Model:
    """The template as a function of its inputs, with one member's numbers in it."""
    return lambda *inputs: functional_call(template, (parameters, buffers), inputs)


def gradient(
    template: nn.Module,  # whose own numbers are not read
    loss: Callable[[Any, Any], Any],  # loss(model, batch), a scalar
    clip: float | None,  # largest norm of the whole gradient
    *,
    has_aux: bool = False,  # as `torch.func.grad` has it: the loss comes in a pair with more
) -> Callable[[Tensors, Tensors, Any], tuple[Tensors, Any]]:
    """A function of a member's parameters, buffers and batch: its gradient and what `loss` gave."""

    def one(parameters: Tensors, buffers: Tensors, batch: Any) -> tuple[Tensors, Any]:
        def value(parameters: Tensors) -> Any:
            return loss(_bind(template, parameters, buffers), batch)

        grads, at = grad_and_value(value, has_aux=has_aux)(parameters)
        if clip is not None:
            norm = torch.stack([g.square().sum() for g in grads.values()]).sum().sqrt()
            grads = {name: g * (clip / (norm + 1e-6)).clamp(max=1) for name, g in grads.items()}
        return grads, at

    return one


def _constrained(
    template: nn.Module, constrain: Callable[[Any, Tensors, Any], Tensors]
) -> Callable[..., Tensors]:
    """A function of one member's parameters, buffers and batch: its parameters as they may be."""

    def constrained(parameters: Tensors, buffers: Tensors, batch: Any) -> Tensors:
        return constrain(_bind(template, parameters, buffers), parameters, batch)

    return constrained


def traced(function: Callable[..., Any], arguments: tuple[Any, ...], **options: Any) -> GraphModule:
    """A function as the flat list of the tensor operations that it does with these arguments.

    `options` are those of `make_fx`. It notes the shape of every result as a fake tensor, and where
    it is given no mode to make them in it makes one for each, which is most of the time that it
    takes.
    """
    with tracing(TracingContext(FakeTensorMode(allow_fallback_kernels=True))):
        return make_fx(function, **options)(*arguments)


class _NoneRandom(TorchDispatchMode):
    """Random numbers of torch's own would hang on a member's company, and on what ran before."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise RuntimeError(f"random operation: {func}")
        return func(*args, **(kwargs or {}))


class _Group:
    """The members that one optimiser steps: all of them, or a single one.

    Its tensors are views, so that stepping them steps the stacked parameters.
    """

    def __init__(
        self,
        index: slice | int,
        parameters: Tensors,
        buffers: Tensors,
        optimizer: Callable[[list[Tensor]], Optimizer],
        schedule: Callable[[int], float] | None,
    ) -> None:
        self.index = index
        self.parameters = {name: p[index] for name, p in parameters.items()}
        self.buffers = {name: b[index] for name, b in buffers.items()}
        self.optimizer = optimizer(list(self.parameters.values()))
        self.scheduler = LambdaLR(self.optimizer, schedule) if schedule else None

    def step(self, gradient: Callable[..., tuple[Tensors, Tensor]], batch: Any) -> None:
        def closure() -> Tensor:
            grads, values = gradient(self.parameters, self.buffers, batch)
            for name, parameter in self.parameters.items():
                # On a CPU torch's fused AdamW misreads a gradient of other strides, silently.
                parameter.grad = grads[name].contiguous()
            return values.sum()

        self.optimizer.step(closure)  # type: ignore[arg-type]
        if self.scheduler is not None:
            self.scheduler.step()

    @torch.no_grad()
    def set(self, parameters: Tensors) -> None:
        for name, parameter in self.parameters.items():
            parameter.copy_(parameters[name])


@allowed.typed
def train(
    models: Sequence[nn.Module],
    loss: Callable[[Any, Any], Tensor],
    data: Any,
    *,
    steps: int,
    optimizer: Callable[[list[Tensor]], Optimizer],
    generators: Sequence[Generator] | None = None,
    schedule: Callable[[int], float] | None = None,
    clip: float | None = None,
    constrain: Callable[[Any, Tensors, Any], Tensors] | None = None,
    probe: Callable[[Any], Tensors] | None = None,
    probe_every: int = 100,
    watch: Callable[[int, Tensors, Tensors], None] | None = None,
    device: torch.device | str = "cpu",
) -> Run:
    """Train `models`, which differ in their numbers only, all at once.

    Alone or in company, a member follows the same trajectory up to rounding: in float64 the
    parameters agree to 1e-9 after 200 steps (tests/training/test_ensemble.py).

    Args:
        models: the members as they start; they are not changed. They differ in the numbers of
            their parameters and buffers and in nothing else. Buffers are read, not updated, and so
            is what is frozen, by `requires_grad_(False)`: the rest trains, an adapter or a probe.
        loss: loss(model, batch) of one member, a scalar. It is called once, to be traced: what it
            computes must follow from the model and the batch, and batches must keep their shapes.
        data: the batch of every step, tensors (nested as you like) shared by all members, or a
            function of a `Generator` that draws one; then every member has its own generator.
        steps: number of updates.
        optimizer: makes any `torch.optim.Optimizer` from a list of tensors, for example
            `partial(torch.optim.AdamW, lr=1e-3)`. One of matrices alone, as Muon, leaves the rest
            to AdamW.
        generators: one a member, where `data` is a function.
        schedule: factor of the learning rate at step 0, 1, ...
        clip: largest norm of one member's whole gradient.
        constrain: constrain(model, parameters, batch) of one member after each step, with the batch
            of that step: its new parameters, of those that are trained. It is traced as `loss` is.
        probe: what to record of one member: probe(model) → named tensors.
        probe_every: steps between two probes; one more is taken at the end.
        watch: called after every probe with the step, what was probed [m, ...] and the parameters.
        device: where to train.

    Raises:
        ValueError: no models; models of different settings, or that train others of their
            parameters, or none; `generators` and `data` that do not fit together; a batch of
            another shape; a model or a loss that draws random numbers, as dropout does while it is
            trained, or hangs on numbers as `.item()` does; fewer than no steps, none between two
            probes, or a clip that is not positive and finite.
    """
    allowed.whole(0, steps=steps)
    allowed.whole(probe_every=probe_every)
    if clip is not None:
        allowed.positive(clip=clip)
    allowed.device(device=device)
    if schedule is not None:
        allowed.number(**{"schedule(0)": schedule(0)})
    if not callable(data):
        _shapes(data)
    if not models:
        raise ValueError("train needs at least one model")
    if callable(data) != (generators is not None):
        raise ValueError("give generators where data is a function, and only there")
    if generators is not None and len(generators) != len(models):
        raise ValueError(f"{len(models)} models need as many generators, not {len(generators)}")
    _check_alike(models)
    start = time.perf_counter()
    trained = _trained(models[0])
    frozen = [name for name, _ in models[0].named_parameters() if name not in trained]
    how = (loss, data, steps, optimizer, generators, schedule, clip, constrain, probe, probe_every)
    place = PLACES(models, probe, *how, *frozen) if PLACES else None
    if place and (run := place.run):
        if watch is not None and len(run.steps):  # once, for its end
            last = {name: value[-1] for name, value in run.history.items()}
            watch(int(run.steps[-1]), last, run.parameters)
        return run
    optimizer = suited(optimizer)
    members = [copy.deepcopy(model).to(device) for model in models]
    template = members[0]
    stacked, buffers = stack_module_state(members)
    everything = {name: p.detach() for name, p in stacked.items()}
    parameters = {name: everything[name] for name in trained}
    fixed = buffers | {name: everything[name] for name in frozen}

    def draw() -> Any:
        """The next batch: of all members, or stacked, one a member."""
        if generators is None:
            return tree_map(lambda t: t.to(device), data)
        drawn = [data(g) for g in generators]
        _shapes(drawn)
        return tree_map(lambda *t: torch.stack(t).to(device), *drawn)

    def part(group: _Group) -> Any:
        return batch if generators is None else tree_map(lambda t: t[group.index], batch)

    gradients: Callable[..., Any] = gradient(template, loss, clip)
    constrained = _constrained(template, constrain) if constrain else None
    indices: list[slice | int] = list(range(len(members)))
    if type(optimizer([torch.zeros(1)])) in ELEMENTWISE:  # a subclass may do anything
        axes = (0, 0, None if generators is None else 0)
        gradients = vmap(gradients, axes, randomness="different")  # refused below, by its name
        constrained = vmap(constrained, axes) if constrained else None
        indices = [slice(None)]
    groups = [_Group(i, parameters, fixed, optimizer, schedule) for i in indices]
    batch = draw()
    shapes = _shapes(batch)
    # Traced once into a flat list of tensor operations: a step then pays for arithmetic, not
    # for the layers of Python that wrote it down (a quarter of the time with 16 members).
    with torch.device(device), in_words():  # what `loss` creates lies beside the parameters
        arguments = (groups[0].parameters, groups[0].buffers, part(groups[0]))
        with _NoneRandom():  # type: ignore[no-untyped-call]
            gradients = traced(gradients, arguments)
        constrained = traced(constrained, arguments) if constrained else None

    probed: list[tuple[int, Tensors]] = []

    @torch.no_grad()
    def record(step: int) -> None:
        if probe is None:
            return
        with torch.device(device), in_words():
            seen = vmap(lambda p, b: probe(_bind(template, p, b)))(parameters, fixed)
        probed.append((step, {name: value.cpu() for name, value in seen.items()}))
        if watch is not None:
            watch(step, probed[-1][1], everything)

    for step in range(steps):
        if step % probe_every == 0:
            record(step)
        for group in groups:
            group.step(gradients, part(group))
            if constrained is not None:
                group.set(constrained(group.parameters, group.buffers, part(group)))
        if generators is not None:
            batch = draw()
            if _shapes(batch) != shapes:
                raise ValueError(f"batches must keep their shapes: {shapes}, then {_shapes(batch)}")
    record(steps)

    names = probed[0][1] if probed else {}
    run = Run(
        parameters={name: p.cpu() for name, p in everything.items()},
        buffers={name: b.cpu() for name, b in buffers.items()},
        steps=torch.tensor([step for step, _ in probed]),
        history={name: torch.stack([seen[name] for _, seen in probed]) for name in names},
        seconds=time.perf_counter() - start,
        _template=template.cpu(),
    )
    if place:
        place.keep(run)
    return run
