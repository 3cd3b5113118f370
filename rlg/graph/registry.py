"""Components by name: a table of dotted paths that are imported on use, and specs that refer to it.

A spec is a dict with `type`, a registry name alone, or a YAML or JSON file of either. Names, never
import paths: a configuration can't run code that was not registered.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from rlg.errors import SpecError
from rlg.graph.core.component.component import Component
from rlg.graph.limits import first_violation
from rlg.spelling import suggestion

_LIBRARY = "rlg.graph.components"

# name -> module below the library : class
COMPONENTS: dict[str, str] = {
    # layers and networks
    "dense": "layers.dense:Dense",
    "noisy_dense": "layers.noisy:NoisyDense",
    "conv2d": "layers.conv2d:Conv2D",
    "conv2d_transpose": "layers.conv2d_transpose:Conv2DTranspose",
    "activation": "layers.activation:Activation",
    "flatten": "layers.flatten:Flatten",
    "scale": "layers.scale:Scale",
    "stack": "networks.stack:Stack",
    "mlp": "networks.mlp:MLP",
    "auto": "networks.auto:AutoNetwork",
    "nature_cnn": "networks.nature_cnn:NatureCNN",
    "lstm_layer": "layers.recurrent:LSTMLayer",
    "gru_layer": "layers.recurrent:GRULayer",
    "max_pool2d": "layers.max_pool2d:MaxPool2D",
    "layer_norm": "layers.norm:LayerNorm",
    "local_response_norm": "layers.norm:LocalResponseNorm",
    "residual": "layers.residual:Residual",
    "concat": "layers.concat:Concat",
    "vectors": "layers.vectors:Vectors",
    "embedding": "layers.embedding:Embedding",
    "repeater_stack": "networks.repeater:RepeaterStack",
    "multi_input": "networks.multi_input:MultiInput",
    "impala_small": "networks.impala:ImpalaSmall",
    "impala_large": "networks.impala:ImpalaLarge",
    "variational_autoencoder": "networks.variational:VariationalAutoencoder",
    "lstm": "networks.recurrent:LSTM",
    "gru": "networks.recurrent:GRU",
    # preprocessing
    "convert_type": "preprocessing.arithmetic:ConvertType",
    "multiply": "preprocessing.arithmetic:Multiply",
    "divide": "preprocessing.arithmetic:Divide",
    "clip": "preprocessing.arithmetic:Clip",
    "grayscale": "preprocessing.images:Grayscale",
    "image_binary": "preprocessing.images:ImageBinary",
    "resize": "preprocessing.images:Resize",
    "crop": "preprocessing.images:Crop",
    "normalize": "preprocessing.normalize:Normalize",
    "moving_standardize": "preprocessing.standardize:MovingStandardize",
    "reshape": "preprocessing.reshape:Reshape",
    "flatten_one_hot": "preprocessing.reshape:FlattenOneHot",
    "fold_time": "preprocessing.reshape:FoldTime",
    "unfold_time": "preprocessing.reshape:UnfoldTime",
    "sequence": "preprocessing.sequence:FrameSequence",
    "preprocessor_stack": "preprocessing.stack:PreprocessorStack",
    "dict_preprocessor": "preprocessing.stack:DictPreprocessor",
    # from features to actions
    "q_head": "heads.q:QHead",
    "dueling_head": "heads.dueling:DuelingHead",
    "categorical_head": "heads.distributional:CategoricalHead",
    "quantile_head": "heads.distributional:QuantileHead",
    "q_policy": "policies.q:QPolicy",
    "distributional_q_policy": "policies.distributional_q:DistributionalQPolicy",
    "recurrent_q_policy": "policies.recurrent_q:RecurrentQPolicy",
    "epsilon_greedy": "explorations.epsilon_greedy:EpsilonGreedy",
    "action_head": "heads.action:ActionHead",
    "value_head": "heads.value:ValueHead",
    "critics": "policies.critics:Critics",
    "discrete_critics": "policies.critics:DiscreteCritics",
    "deterministic_policy": "policies.deterministic:DeterministicPolicy",
    "unit_actions": "policies.unit_actions:UnitActions",
    "uniform_actions": "explorations.uniform:UniformActions",
    "policy": "policies.policy:Policy",
    "actor_critic": "policies.actor_critic:ActorCritic",
    "shared_value_policy": "policies.actor_critic:SharedValuePolicy",
    "recurrent_actor_critic": "policies.recurrent:RecurrentActorCritic",
    "gaussian_noise": "explorations.noise:GaussianNoise",
    "clipped_noise": "explorations.noise:ClippedNoise",
    "curiosity": "explorations.curiosity:Curiosity",
    "ornstein_uhlenbeck_noise": "explorations.noise:OrnsteinUhlenbeckNoise",
    # schedules
    "constant_schedule": "schedules.constant:ConstantSchedule",
    "linear_schedule": "schedules.ramps:LinearSchedule",
    "polynomial_schedule": "schedules.ramps:PolynomialSchedule",
    "exponential_schedule": "schedules.ramps:ExponentialSchedule",
    "half_life_schedule": "schedules.ramps:HalfLifeSchedule",
    "piecewise_schedule": "schedules.piecewise:PiecewiseSchedule",
    # distributions
    "categorical": "distributions.categorical:Categorical",
    "gumbel_softmax": "distributions.gumbel_softmax:GumbelSoftmax",
    "bernoulli": "distributions.bernoulli:Bernoulli",
    "normal": "distributions.normal:Normal",
    "diag_normal": "distributions.normal:DiagNormal",
    "squashed_normal": "distributions.squashed_normal:SquashedNormal",
    "beta": "distributions.beta:Beta",
    "normal_mixture": "distributions.mixture:NormalMixture",
    "joint": "distributions.joint:Joint",
    # learning
    "replay": "memories.replay:ReplayMemory",
    "prioritized_replay": "memories.prioritized:PrioritizedReplay",
    "demonstration_replay": "memories.demonstrations:DemonstrationReplay",
    "frame_replay": "memories.frames:FrameReplay",
    "priority_tree": "memories.priority_tree:PriorityTree",
    "ring_buffer": "memories.ring:RingBuffer",
    "fifo_queue": "memories.fifo:FIFOQueue",
    "first_priorities": "memories.first_priorities:FirstPriorities",
    "frame_transitions": "memories.frame_transitions:FrameTransitions",
    "n_step": "memories.n_step:NStep",
    "n_step_transitions": "memories.transitions:NStepTransitions",
    "one_and_n_step": "memories.one_and_n_step:OneAndNStep",
    "dqn_loss": "losses.dqn:DQNLoss",
    "categorical_dqn_loss": "losses.distributional:CategoricalDQNLoss",
    "quantile_dqn_loss": "losses.distributional:QuantileDQNLoss",
    "large_margin_loss": "losses.margin:LargeMarginLoss",
    "l2_loss": "losses.l2:L2Loss",
    "a2c_loss": "losses.a2c:A2CLoss",
    "ppo_loss": "losses.ppo:PPOLoss",
    "sac_loss": "losses.sac:SACLoss",
    "discrete_sac_loss": "losses.sac:DiscreteSACLoss",
    "td3_loss": "losses.td3:TD3Loss",
    "temperature": "losses.temperature:Temperature",
    "impala_loss": "losses.impala:IMPALALoss",
    "cross_entropy_loss": "losses.supervised:CrossEntropyLoss",
    "nll_loss": "losses.supervised:NLLLoss",
    "gaussian_nll_loss": "losses.supervised:GaussianNLLLoss",
    "euclidean_loss": "losses.supervised:EuclideanLoss",
    "discounted_sum": "returns.discounted:DiscountedSum",
    "lambda_returns": "returns.lambda_returns:LambdaReturns",
    "n_step_returns": "returns.n_step:NStepReturns",
    "return_scaling": "returns.scaling:ReturnScaling",
    "gae": "returns.gae:GAE",
    "vtrace": "returns.vtrace:VTrace",
    "adam": "optimizers.adam:Adam",
    "sgd": "optimizers.sgd:SGD",
    "rmsprop": "optimizers.rmsprop:RMSProp",
    "adamw": "optimizers.adamw:AdamW",
    "adagrad": "optimizers.adagrad:Adagrad",
    "adadelta": "optimizers.adadelta:Adadelta",
    "nadam": "optimizers.nadam:Nadam",
    "radam": "optimizers.radam:RAdam",
    # connections
    "container_splitter": "common.splitter:ContainerSplitter",
    "container_merger": "common.merger:ContainerMerger",
    "slice": "common.slice:Slice",
    "target_sync": "common.sync:TargetSync",
    "batch_splitter": "common.batch_splitter:BatchSplitter",
    "sampler": "common.sampler:Sampler",
    "minibatches": "common.minibatches:Minibatches",
    "iterative_optimization": "common.iterative_optimization:IterativeOptimization",
    # algorithms
    "dqn": "algorithms.dqn:DQN",
    "recurrent_dqn": "algorithms.recurrent_dqn:RecurrentDQN",
    "apex_dqn": "algorithms.apex:ApexDQN",
    "dqfd": "algorithms.dqfd:DQfD",
    "distributional_dqn": "algorithms.distributional_dqn:DistributionalDQN",
    "distributional_apex_dqn": "algorithms.distributional_dqn:DistributionalApexDQN",
    "ppo": "algorithms.ppo:PPO",
    "recurrent_ppo": "algorithms.ppo:RecurrentPPO",
    "a2c": "algorithms.a2c:A2C",
    "recurrent_a2c": "algorithms.a2c:RecurrentA2C",
    "a3c": "algorithms.a3c:A3C",
    "recurrent_a3c": "algorithms.a3c:RecurrentA3C",
    "impala": "algorithms.impala:IMPALA",
    "recurrent_impala": "algorithms.impala:RecurrentIMPALA",
    "pqn": "algorithms.pqn:PQN",
    "sac": "algorithms.sac:SAC",
    "discrete_sac": "algorithms.sac:DiscreteSAC",
    "td3": "algorithms.td3:TD3",
    "random_policy": "algorithms.random:RandomPolicy",
}

_NO_SPEC = "a component spec is a name, a mapping with `type`, or a file of one; this is {!r}."
_SETTINGS = ("scope", "device", "variable_device", "shared_scope")


def register(name: str, target: str | type[Component]) -> None:
    """Adds a component under a name: a class, or "package.module:Class" to be imported on use."""
    known = _ADDED.get(name) or COMPONENTS.get(name)
    if known is not None and known != target:
        raise SpecError(f"the component name {name!r} is taken by {known}; choose another name.")
    _ADDED[name] = target


_ADDED: dict[str, str | type[Component]] = {}


def names() -> list[str]:
    """All registered names."""
    return sorted({*COMPONENTS, *_ADDED})


def component_class(name: str) -> type[Component]:
    """The class behind a name."""
    target = _ADDED.get(name)
    if isinstance(target, type):
        return target
    if target is None:
        if name not in COMPONENTS:
            raise SpecError(
                f"there is no component {name!r}.{suggestion(name, names())} Known: "
                f"{', '.join(names())}."
            )
        target = f"{_LIBRARY}.{COMPONENTS[name]}"
    return _imported(name, target)


def _imported(name: str, target: str) -> type[Component]:
    module, _, attribute = target.partition(":")
    try:
        found = getattr(import_module(module), attribute, None)
        why = f"the module has no {attribute!r}" if found is None else "it is not a Component class"
    except ImportError as error:
        found, why = None, str(error)
    if not isinstance(found, type) or not issubclass(found, Component):
        raise SpecError(f"component {name!r}: {target} can't be imported: {why}.")
    return found


def make(spec: Any, **defaults: Any) -> Any:
    """A component from a spec (or as it is); `defaults` fill arguments that it leaves open."""
    if isinstance(spec, Component):
        return spec
    if isinstance(spec, (str, Path)) and str(spec).endswith((".yaml", ".yml", ".json")):
        return make(_read(Path(spec)), **defaults)
    if isinstance(spec, str):
        spec = {"type": spec}
    if not isinstance(spec, Mapping) or "type" not in spec:
        raise SpecError(_NO_SPEC.format(spec))
    words = dict(spec)
    name = words.pop("type")
    if not isinstance(name, str):
        raise SpecError(
            f"a component's `type` is a registry name; this is {name!r}. "
            f"Known: {', '.join(names())}."
        )
    cls = component_class(name)
    settings = {key: words.pop(key) for key in _SETTINGS if key in words}
    known = parameters_of(cls)
    fitting = {key: value for key, value in defaults.items() if key in known}
    arguments = {**fitting, **words}
    _check(name, known, arguments)
    component = cls(**arguments)
    return component.configure(**settings) if settings else component


def parameters_of(cls: type) -> dict[str, inspect.Parameter]:
    """The constructor's arguments, with those that `**options` hands to base classes.

    Config key = constructor argument = attribute.
    """
    return dict(_parameters_of(cls))


@cache  # Evaluating annotations is a fifth of what a build costs.
def _parameters_of(cls: type) -> dict[str, inspect.Parameter]:
    found: dict[str, inspect.Parameter] = {}
    for owner in cls.__mro__:
        if "__init__" not in vars(owner):
            continue
        init = vars(owner)["__init__"]
        try:
            signature = inspect.signature(init, eval_str=True)
        except NameError:  # a plugin's annotation that exists for type checkers only
            signature = inspect.signature(init)
        own = list(signature.parameters.values())[1:]
        for p in own:
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                found.setdefault(p.name, p)
        if not any(p.kind == p.VAR_KEYWORD for p in own):
            break
    return found


def _check(name: str, known: Mapping[str, inspect.Parameter], arguments: Mapping[str, Any]) -> None:
    for key in arguments:
        if key not in known:
            raise SpecError(
                f"component {name!r} has no argument {key!r}.{suggestion(key, known)} "
                f"Arguments: {', '.join(known) or 'none'}."
            )
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in arguments:
            raise SpecError(
                f"component {name!r} needs the argument {key!r}: {{type: {name}, {key}: ...}}."
            )
    wrong = first_violation(arguments, {key: p.annotation for key, p in known.items()})
    if wrong is not None:
        raise SpecError(f"component {name!r}: {wrong}.")


def _read(path: Path) -> Any:
    try:
        text = path.read_text()
    except OSError as error:
        raise SpecError(f"{path}: can't be read: {error.strerror}.") from None
    try:
        spec = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (json.JSONDecodeError, yaml.YAMLError) as error:
        raise SpecError(f"{path}: no valid {path.suffix[1:].upper()}: {error}.") from None
    if not isinstance(spec, (str, Mapping)):
        raise SpecError(f"{path}: {_NO_SPEC.format(spec)}")
    return spec
